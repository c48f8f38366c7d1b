"""Code blocks of Markdown pages, and a way to run them as a reader would, with scripted models."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from markdown_it import MarkdownIt

from fabula.cli.main import main
from fabula.models.base import Capabilities, Request
from fabula.models.scripted import ScriptedModel
from fabula.testing.__main__ import main as try_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.models.base import Model
    from fabula.project.casting import Environment
    from fabula.project.settings import ModelTable

SHELL: Final = ("bash", "console", "sh")
RUN: Final = (*SHELL, "python")
_NOT_RUN: Final = "<!-- not run: "
_SAFE: Final = frozenset({"cat", "cp", "echo", "ls", "mkdir", "mv", "printf", "rm", "sed"})
_NAMES: Final = ("Mara", "Tobias", "Henrik", "Sigrid", "Jonas", "Elin")
_NUMBERS: Final = ("nine", "twelve", "thirty", "forty", "sixty", "eighty")
_VERSE: Final = "The lamp was lit and the wind went round. Mara counted to {n} and did not look at the reef"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins at, and why it is not run (empty if it is)."""

    language: str
    text: str
    line: int
    not_run: str = ""


def blocks(markdown: str) -> Iterator[Block]:
    """The fenced blocks of a page that hold code to run, in order."""
    reason = ""
    for token in MarkdownIt().parse(markdown):
        if token.type == "html_block" and token.content.startswith(_NOT_RUN):
            reason = token.content.removeprefix(_NOT_RUN).partition("-->")[0].strip()
        elif token.type == "fence":
            if token.info.strip() in RUN:
                yield Block(token.info.strip(), token.content, token.map[0] + 1 if token.map else 0, reason)
            reason = ""
        elif not token.type.endswith("_close"):
            reason = ""


def commands(block: Block) -> list[str]:
    """The commands of a shell block, one a line; in `console` blocks those after `$ `, the rest being output."""
    text = block.text.replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line and not line.startswith("#")]


def stand_in(
    spec: str,
    table: ModelTable,
    world: Environment,
    adapters: Mapping[str, Path] = MappingProxyType({}),
    *,
    small: bool = False,
) -> Model:
    """What every model of the pages is played by that they only name: enough different sentences for any length."""
    del table, adapters
    if spec in world.models:
        return world.models[spec]

    def answer(request: Request) -> str:
        if request.choices:
            return request.choices[0]
        if request.schema is not None:
            return json.dumps(_form(request.schema))
        most = request.sampling.max_tokens or 300
        seed = (request.sampling.seed or 0) % 1000
        return " ".join(f"{_VERSE.format(n=seed + n)} at {request.path} number {n}." for n in range(most // 40 + 1))

    return ScriptedModel(answer, name=spec, capabilities=Capabilities(schema=True, choices=True, small=small))


def _form(schema: dict[str, Any], nth: int = 0) -> Any:  # noqa: ANN401 - JSON data
    """A form filled in as its schema wants: numbers at their least, the `nth` option, sentences that differ."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][nth % len(schema["enum"])]
    schema = schema.get("anyOf", [schema])[0]
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: _form(part, nth) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_form(schema.get("items", {}), n) for n in range(max(schema.get("minItems", 1), 1))]
    if kind != "string":
        return {"integer": schema.get("minimum", 1), "boolean": False}.get(kind, 0)
    return f"{_NAMES[nth % len(_NAMES)]} lights the lamp and counts to {_NUMBERS[nth % len(_NUMBERS)]}."[
        : schema.get("maxLength", 100)
    ]


@dataclass
class Reader:
    """Somebody who follows a page: a folder, whether with a small model, and the names that Python blocks have made."""

    folder: Path
    small: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__docs__"})

    def follow(self, block: Block) -> str:
        """Do what a block says, and give what was printed.

        Raises:
            AssertionError: a command failed, or is none that can be run here.
        """
        with self._here():
            if block.language == "python":
                heard = io.StringIO()
                with contextlib.redirect_stdout(heard):
                    exec(compile(block.text, f"line {block.line}", "exec", dont_inherit=True), self.names)  # noqa: S102 - our own pages
                return heard.getvalue()
            return "".join(self._command(command) for command in commands(block))

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with mock.patch("fabula.project.casting.open_model", partial(stand_in, small=self.small)):
                yield
        finally:
            os.chdir(before)

    def _command(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
            os.chdir(self.folder)
            return ""
        if words[0] == "fabula":
            return self._fabula(words[1:])
        if words[:3] == ["python", "-m", "fabula.testing"]:
            return self._rules(words[3:])
        assert words[0] in _SAFE, f"{command!r} cannot be run here; mark its block {_NOT_RUN}reason -->"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)  # noqa: S607 - bash of the path
        assert not done.returncode, f"{command!r} failed: {done.stderr}"
        return done.stdout

    @staticmethod
    def _rules(words: list[str]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = try_rules(words)
        assert code == 0, f"python -m fabula.testing {shlex.join(words)} ended with {code}: {out.getvalue()}"
        return out.getvalue()

    @staticmethod
    def _fabula(words: list[str]) -> str:
        out, err = io.StringIO(), io.StringIO()
        if words[0] == "write" and "--yes" not in words:
            words = [
                *words,
                "--yes",
            ]  # stand-ins keep to no length, so more is asked than announced
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch("sys.stdin", io.StringIO()),
        ):
            code = main(words)
        assert code == 0, f"fabula {shlex.join(words)} ended with {code}: {err.getvalue() or out.getvalue()}"
        return out.getvalue()
