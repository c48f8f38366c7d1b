"""Keeps every test off the network and out of the user's folders; a pytest plugin (`-p guard` in pyproject.toml).

No test can reach a model by accident: keys are gone from the environment, and a connection to anything but this
machine is refused and fails the test, also when the code under test swallows the refusal. Processes that a test
starts are guarded too, through `sitecustomize.py` in `subprocess_guard/`.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hypothesis
import pytest

from fabula.base.doors import at_door
from fabula.engine.journal import Journal
from fabula.models.known import models_home

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFUSED: Final[list[str]] = []
_TERMINAL: Final = at_door("terminal")
_IN_PROCESSES: Final = Path(__file__).with_name("subprocess_guard")
# The same examples on every machine, and no time that a slow one has to keep to.
hypothesis.settings.register_profile(
    "fabula", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("fabula")
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder in memory, where a test's files are written and synced at once
_ROOM: Final = 4 << 30  # bytes that have to be free there
_SECRET_ENDINGS: Final = ("_API_KEY", "_TOKEN", "_KEY")
_DATA: Final = "FABULA_DATA"  # where the ground truth of the papers' tables lies; see `ground_truth.py`
_FOLDERS: Final = {
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
}
_SESSION: Final = tempfile.TemporaryDirectory(prefix="fabula-tests-", ignore_cleanup_errors=True)


class NetworkRefusedError(RuntimeError):
    """A test tried to leave this machine."""


def is_local(host: object) -> bool:
    """Whether a host name or address means this machine."""
    name = (host.decode() if isinstance(host, bytes) else str(host or "")).partition("%")[0]
    if name in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _watch(event: str, args: tuple[object, ...]) -> None:
    """An audit hook: sees every connection of this process, whatever library makes it."""
    host: object
    if event in {"socket.connect", "socket.sendto"}:
        address = args[1]
        host = address[0] if isinstance(address, tuple) else ""  # a path names a socket file, which is local
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if not is_local(host):
        text = f"A test tried to reach {host!r}. Tests stay on this machine: use the fake provider or a scripted model."
        _REFUSED.append(text)
        raise NetworkRefusedError(text)


def _home_in(folder: Path, environ: dict[str, str]) -> None:
    environ["HOME"] = environ["USERPROFILE"] = str(folder)
    for variable, name in _FOLDERS.items():
        environ[variable] = str(folder / name)


def _clean(environ: dict[str, str]) -> dict[str, str]:
    """The environment without keys and settings of the person who runs the tests."""
    kept = {
        k: v for k, v in environ.items() if k == _DATA or not (k.endswith(_SECRET_ENDINGS) or k.startswith("FABULA_"))
    }
    paths = [str(_IN_PROCESSES), *filter(None, [environ.get("PYTHONPATH")])]
    kept["PYTHONPATH"] = os.pathsep.join(paths)
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # what tests start again and again is compiled once
    kept["NO_COLOR"] = "1"  # so that expectations about output hold on any terminal
    return kept


def pytest_configure(config: pytest.Config) -> None:
    """Guard the session, before test modules are imported."""
    weights = models_home(os.environ)
    environ = _clean(dict(os.environ))
    _home_in(Path(_SESSION.name), environ)
    environ["FABULA_MODELS"] = str(weights)  # modules ask at import whether the weights are there
    os.environ.clear()
    os.environ.update(environ)
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what is to run behind it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(_watch)
    _TERMINAL.__enter__()  # messages are read as they are written; `house/test_doors.py` has the other places


def pytest_collection_finish() -> None:
    """Have each look for garbage pass over the modules of all tests, which stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the session's home."""
    _SESSION.cleanup()


@pytest.fixture(autouse=True)
def _own_home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: object) -> None:
    """A home of its own for each test; only those marked `embedded` see the real models."""
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    home = tmp_path_factory.mktemp("home")
    environ: dict[str, str] = {}
    _home_in(home, environ)
    if request.node.get_closest_marker("embedded") is None:
        environ["FABULA_MODELS"] = str(home / "models")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model server of this machine is offered to what a test begins."""

    async def nothing_listens(_environ: object) -> list[object]:
        return []

    monkeypatch.setattr("fabula.project.default_model.look", nothing_listens)


@pytest.fixture(autouse=True)
def _stays_here() -> Iterator[None]:
    """Fail a test that tried to leave this machine."""
    _REFUSED.clear()
    yield
    if _REFUSED:
        pytest.fail(_REFUSED[0])


@pytest.fixture(autouse=True)
def _no_open_journals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close journals in memory that a test leaves open; Python 3.13 warns of each. Those on disk are to be closed."""
    opened: list[Journal] = []
    whole = Journal.open

    def noted(journal: Journal) -> None:
        whole(journal)
        if journal._store.path is None:
            opened.append(journal)

    monkeypatch.setattr(Journal, "open", noted)
    yield
    for journal in opened:
        Journal.close(journal)  # also where a test's own kind of journal stays open
