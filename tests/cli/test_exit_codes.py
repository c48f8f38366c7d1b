"""Every error ends a command with a code of the one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base import errors
from fabula.base.errors import FabulaError, PausedError, UsageError
from fabula.cli import main as entry
from fabula.cli.help import EXIT_CODES
from fabula.cli.stopping import StoppedError
from fabula.cli.terminal import OutputClosedError
from fabula.project.trust import TrustError
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commandline import Cli

MADE: dict[str, dict[str, Any]] = {
    "UnknownNameError": {"kind": "role", "name": "x", "known": ["y"]},
    "PlanError": {"problems": ["a: b"]},
    "ReplyError": {"message": "It cannot be read.", "reply": "?"},
    "ConflictError": {"message": "It was changed.", "theirs": "x", "base": "y"},
    "ServerError": {"message": "It refuses.", "status": 500, "code": "server_error"},
    "PausedError": {"message": "It waits.", "path": "plot"},
}


def every(kind: type[FabulaError]) -> Iterator[type[FabulaError]]:
    """A class of errors, and those below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from every(below)


def of_the_tree() -> list[FabulaError]:
    """One error of each class that the package's tree has."""
    kinds = [kind for kind in every(FabulaError) if kind.__module__ == errors.__name__]
    return [kind(**MADE[name]) if (name := kind.__name__) in MADE else kind("It went wrong.") for kind in kinds]


@pytest.mark.parametrize("error", of_the_tree(), ids=lambda error: type(error).__name__)
def test_each_error_ends_with_its_code_and_says_so(
    error: FabulaError, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(given: list[str]) -> int:
        raise error

    monkeypatch.setattr(entry, "_command", fail)
    wanted = 0 if isinstance(error, PausedError) else 2 if isinstance(error, UsageError) else 1
    ran = cli("status", "--json")
    assert ran.code == wanted
    assert ran.err == f"fabula: {error}\n"
    if isinstance(error, PausedError):
        assert ran.json == {"paused": {"artefact": "plot", "message": "It waits."}}
    else:
        assert ran.json["error"] == {"kind": type(error).__name__, "message": str(error), "exit_code": wanted}


def test_every_error_class_has_a_code_of_the_table() -> None:
    fixed = {int(code) for code in EXIT_CODES if code.isdigit()}
    assert {kind.exit_code for kind in every(FabulaError)} <= fixed
    assert OutputClosedError.exit_code == 0
    assert StoppedError("Stopped.", 2).exit_code == entry.INTERRUPTED == 128 + 2
    assert issubclass(TrustError, UsageError)


@pytest.mark.parametrize("surprise", [RuntimeError("x"), PermissionError(13, "no", "there"), OSError(28, "full")])
def test_what_nobody_expected_is_a_failure(surprise: Exception, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(given: list[str]) -> int:
        raise surprise

    monkeypatch.setattr(entry, "_command", fail)
    ran = cli("status", "--json")
    assert (ran.code, ran.json["error"]["exit_code"]) == (1, 1)


@pytest.mark.parametrize(
    "command",
    [("import", "book.md", "--out"), ("write", "book.md", "--out"), ("new", "--text", "A girl."), ("status",)],
    ids=lambda command: command[0],
)
def test_a_name_that_is_too_long_for_a_folder_is_wrong_usage(cli: Cli, command: tuple[str, ...]) -> None:
    (cli.folder / "book.md").write_text("# One\n\nShe went home.\n")
    before = {*cli.folder.iterdir()}
    ran = cli(*command, "n" * 300)
    assert ran.code == 2
    assert ran.err.endswith(f"The name {'n' * 40}… is too long for a file or folder. Choose a shorter name.\n")
    assert {*cli.folder.iterdir()} == before


def test_the_codes_stand_in_the_help_and_in_the_reference(cli: Cli) -> None:
    shown = cli("-h").out
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in page
        assert f" {code} " in shown
