"""`fabula doctor`."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fabula import evaluators, systems
from fabula.app.health import Check, Health
from fabula.base.errors import FabulaError
from fabula.base.extras import installing
from fabula.base.plugins import plugins
from fabula.base.version import __version__
from fabula.cli.asked import performing
from fabula.cli.opening import place_named, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.terminal import table
from fabula.models.finding import look
from fabula.models.known import KNOWN, installed, models_home
from fabula.models.providers import keys_set
from fabula.project.brought import GROUP
from fabula.project.casting import KINDS
from fabula.project.folder import ProjectFolder
from fabula.story.export import brought as formats
from fabula.story.story import loaders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.cli.terminal import Terminal

_OLDEST, _NEWEST = (3, 11), (3, 13)
_LOW_DISK = 500_000_000


@bundled
def doctor(common: ProjectOptions, where: Where = "") -> None:
    """List what this machine has and what is missing."""
    terminal = terminal_of(common)
    named = place_named(common, where)
    folder = Path(named or ".")
    checks = [
        _python(),
        _engine(),
        *_weights(terminal.environ),
        *_servers(terminal.environ),
        _keys(terminal.environ),
        _terminal(terminal),
        _editor(terminal.environ),
        _disk(folder),
        *_packages(),
        *_project(folder, asked=bool(named)),
    ]
    terminal.say(f"fabula {__version__}")
    terminal.say(table([(check.state, check.name, check.about) for check in checks]))
    healthy = all(check.state != "bad" for check in checks)
    if not _can_write(checks):
        terminal.advise(_how())
    terminal.document(Health(__version__, healthy, checks, keys_set(terminal.environ)))
    if not healthy:
        raise typer.Exit(1)


def _how() -> str:
    """How to get a model."""
    ways = [
        (f"{installing('engine')} && fabula models pull smollm2", "a small model on this machine"),
        (installing("providers"), "your own server, or a provider whose key is set"),
        ("fabula write brief.md --model paste", "your chat window, by copy and paste"),
    ]
    shown = table([(f"  {way}", brings) for way, brings in ways])
    return (
        f"\nNo model is available yet. Each of these adds one:\n{shown}\n"
        "To try everything else, run `fabula sample demo`, which copies a finished story."
    )


def _can_write(checks: Sequence[Check]) -> bool:
    """Whether any model could play a role."""
    good = [check.name for check in checks if check.state == "good"]
    own = "engine" in good and any(name.startswith("model ") for name in good)
    return own or "keys" in good or any(name.startswith("server ") for name in good)


def _python() -> Check:
    fits = _OLDEST <= sys.version_info[:2] <= _NEWEST
    shown = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("Python", "good" if fits else "bad", shown if fits else f"{shown}; fabula needs 3.11 to 3.13")


def _engine() -> Check:
    if find_spec("xllamacpp") is None:
        return Check(
            "engine", "missing", f"xllamacpp is not installed: embedded models cannot run ({installing('engine')})"
        )
    try:
        import xllamacpp  # noqa: F401, PLC0415 - whether it loads is the question
    except (ImportError, OSError) as error:
        return Check("engine", "bad", f"xllamacpp does not load: {error}. Install it again")
    return Check("engine", "good", "xllamacpp (llama.cpp, in its own process)")


def _weights(environ: Mapping[str, str]) -> Iterator[Check]:
    home = models_home(environ)
    for name in KNOWN:
        if installed(name, home):
            yield Check(f"model {name}", "good", str(home / KNOWN[name].file))
        else:
            yield Check(f"model {name}", "missing", f"not here; `fabula models pull {name}` downloads it")


def _servers(environ: Mapping[str, str]) -> Iterator[Check]:
    """Each server that people run on their own machine: the models it serves, or why it serves none."""
    if find_spec("httpx2") is None:
        yield Check("servers", "missing", f"asking which ones run here needs httpx2 ({installing('providers')})")
        return
    for server in asyncio.run(look(environ)):
        about = f"{server.title} at {server.address}, {counted(len(server.models), 'model')}"
        yield Check(f"server {server.kind}", "missing" if server.problem else "good", server.problem or about)


def _keys(environ: Mapping[str, str]) -> Check:
    keys = keys_set(environ)
    there = ", ".join(name for name, set_ in keys.items() if set_)
    shown = f"set: {there}" if there else "none set; `fabula models` names the variable of each provider"
    return Check("keys", "good" if any(keys.values()) else "missing", shown)


def _terminal(terminal: Terminal) -> Check:
    if not terminal.interactive:
        return Check("terminal", "missing", "none: --play me reads stdin, --approve stops at the first text")
    return Check("terminal", "good", f"{terminal.environ.get('TERM') or 'unknown kind'}, {sys.stderr.encoding}")


def _packages() -> Iterator[Check]:
    """What the installed packages add."""
    for methods in (systems.CATALOGUE, evaluators.CATALOGUE):
        for name, method in methods.all().items():
            if method.source:
                yield Check(f"{methods.noun} {name}", "good", f"from {method.source}")
        for name, problem in methods.problems().items():
            yield Check(f"{methods.noun} {name}", "missing", problem)
    kinds = {"kind of model": plugins(GROUP, KINDS, "kind of model"), "format": formats(), "kind of brief": loaders()}
    kinds |= {kind: plugins(f"fabula.{kind}s") for kind in ("command", "panel")}
    for kind, brought in kinds.items():
        for name, plugin in brought.found.items():
            yield Check(f"{kind} {name}", "good", f"from {plugin.source}")
        for name, problem in brought.problems.items():
            yield Check(f"{kind} {name}", "missing", problem)


def _editor(environ: Mapping[str, str]) -> Check:
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    return Check("editor", "good", editor) if editor else Check("editor", "missing", "set EDITOR for `fabula edit`")


def _disk(folder: Path) -> Check:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("disk", "bad", f"{folder}: {error.strerror}")
    return Check("disk", "good" if free > _LOW_DISK else "missing", f"{free / 1e9:,.1f} GB free in {folder.resolve()}")


def _project(folder: Path, *, asked: bool) -> Iterator[Check]:
    """The project's settings and journal, if there is a project or one was named."""
    if not asked and not (folder / ".fabula").exists():
        return
    try:
        project = ProjectFolder.open(folder)
        shown = f"{project.settings.system}, {performing(project.settings)}"
        with project.journal as journal:
            yield Check("project", "good", f"{shown}; {len(journal.calls):,} calls in the journal")
    except FabulaError as error:
        yield Check("project", "bad", str(error))
