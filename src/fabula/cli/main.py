"""The entry point of the command line: finds and runs the command, and turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.base.doors import at_door
from fabula.base.errors import FabulaError, PausedError, UsageError, hint, kind_of, nearest
from fabula.base.version import __version__
from fabula.cli.completing import VARIABLE, whole_words
from fabula.cli.help import CONTEXT, as_required, usage_of
from fabula.cli.lazy import COMMANDS, LazyGroup, full_name
from fabula.cli.stopping import SENTENCE, StoppedError, claim, done_with, ends_within_a_second
from fabula.cli.terminal import OutputClosedError, Terminal, show_cursor, to_nobody
from fabula.cli.typed import NAMED, as_typed_here
from fabula.project.trust import Trust, TrustError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.event_log import EventLog

INTERRUPTED: Final = 130
_SHOWN: Final = 40  # characters of a name that is too long
_HELP: Final = """AI agents plan, write and check a long story under your direction.

If you edit a text, fabula rewrites only the texts that depend on it.

Start with: fabula write brief.md
"""
# typer's base of all usage errors has no public name of its own.
_EXTRA: Final = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_VALUE: Final = re.compile(r"Option '([^']+)' requires (an argument|\d+ arguments)\.")
_OTHER_OPTIONS: Final = {
    "--model": ("--base",),
    "--output": ("--out",),
    "--dir": ("--out", "--project"),
    "--folder": ("--project", "--out"),
    "--input": ("--file",),
    "--length": ("--words",),
    "--lenght": ("--words",),
    "-f": ("--file", "--format"),
    "-m": ("--model", "--base"),
}
"""Options of other commands and other tools, and what they are called here; the first that a command has."""
_BadUsage: type[Any] = typer.BadParameter.__mro__[1]


def run() -> int:
    """Run the command of this process, and return its exit code. Ctrl-C ends the process within a second."""
    terminal = Terminal(json="--json" in sys.argv)
    try:
        log = _opened_log()
    except FabulaError as error:
        return _failed(terminal, kind_of(error), str(error), error.exit_code)

    def last_words(sentence: str, code: int) -> None:
        show_cursor()
        _failed(terminal, StoppedError.__name__, sentence, code)
        if log is not None:
            log.tell("command_ended", exit_code=code, kind=StoppedError.__name__, message=sentence)

    ends_within_a_second(last_words)
    try:
        code = main()
    except KeyboardInterrupt:  # while an error was said
        code = INTERRUPTED
    if log is not None:
        log.flush()
        log.tell("command_ended", exit_code=code, **log.said)
        log.close()
    done_with(code)
    return code


def _opened_log() -> EventLog | None:
    """The log of this command's events, if the environment asks for one."""
    if not os.environ.get("FABULA_EVENTS"):
        return None
    from fabula.engine.event_log import log_wanted  # noqa: PLC0415 - few commands are watched by a program

    log = log_wanted(os.environ)
    if log is not None:
        log.tell("command_started", pid=os.getpid(), arguments=sys.argv[1:])
    return log


def _note_end(**said: str) -> None:
    """Have the event log record how the command ended, next to its exit code."""
    if os.environ.get("FABULA_EVENTS"):
        from fabula.engine.event_log import EVENT_LOG  # noqa: PLC0415 - few commands are watched by a program

        if (log := EVENT_LOG.get()) is not None:
            log.said = said


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 success, 1 failure, 2 wrong usage, 128 + n ended by signal n."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = given[: given.index("--")] if "--" in given else given
    terminal = Terminal(json="--json" in options)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # a stand-in without an encoding
            stream.reconfigure(errors="replace")  # type: ignore[union-attr] # AttributeError is what we wait for
    stdout = sys.stdout
    NAMED.set("")
    try:
        with at_door("terminal"):
            return _command(given or ["--help"])
    except (OutputClosedError, SystemExit):  # typer ends like this where nobody reads its help
        sys.stdout = stdout
        to_nobody(stdout)
        return OutputClosedError.exit_code
    except (KeyboardInterrupt, StoppedError) as stop:
        return _stopped(terminal, stop)
    except PausedError as error:
        terminal.message(f"fabula: {error}")
        terminal.document({"paused": {"artefact": error.path, "message": str(error)}})
        _note_end(kind="PausedError", message=str(error), artefact=error.path)
        return error.exit_code
    except FabulaError as error:
        again = isinstance(error, TrustError) and _trusted(terminal, error)  # it is found before anything is done
        sentence = as_typed_here(str(error), files=True)
        return main(arguments) if again else _failed(terminal, kind_of(error), sentence, error.exit_code)
    except Exception as error:  # noqa: BLE001 - the one broad except: no user should have to read a traceback
        return _surprised(terminal, error)
    finally:
        NAMED.set("")  # what is said after the command is of no project


def _stopped(terminal: Terminal, stop: BaseException) -> int:
    """Say how to continue, if that was not said yet."""
    sentence, code = (str(stop), stop.exit_code) if isinstance(stop, StoppedError) else (SENTENCE, INTERRUPTED)
    return _failed(terminal, StoppedError.__name__, sentence, code) if claim() else code


def _trusted(terminal: Terminal, error: TrustError) -> bool:
    """Whether the person at the terminal now allows what a settings file would do; the answer is remembered."""
    import asyncio  # noqa: PLC0415 - 0.05 s that `fabula --help` does not need

    if terminal.json or not terminal.interactive:
        return False
    terminal.message(f"{error.file} would\n" + "\n".join(f"  {act}" for act in error.acts))
    allowed = asyncio.run(terminal.choice("Do you trust who wrote it? [y/N] ", "yn")) == "y"
    if allowed:
        Trust().give(error.file, error.acts)
    return allowed


def _command(given: list[str]) -> int:
    """Parse and run the command; typer's own errors become ours."""
    try:
        with whole_words():
            result = typer.main.get_command(_app()).main(given, prog_name="fabula", standalone_mode=False)
    except _BadUsage as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":  # a group by itself
            Terminal().say(problem.ctx.get_help())
            return 0
        raise _named(problem, given) from None
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    if result == INTERRUPTED:  # what typer makes of Ctrl-C
        raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def _app() -> typer.Typer:
    app = typer.Typer(cls=LazyGroup, rich_markup_mode=None, context_settings=dict(CONTEXT))

    @app.callback(help=_HELP)
    def fabula(
        version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Show it.")] = False,  # noqa: FBT002 - typer's form of a flag
    ) -> None:
        """The root command; the subcommands do the work."""

    return app


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer gives a flag like this
    if wanted:
        Terminal().say(f"fabula {__version__}")
        raise typer.Exit


def _named(problem: Any, given: list[str]) -> FabulaError:  # noqa: ANN401 - typer's error types are private
    """A usage error of typer as one of ours, with the nearest known option."""
    from fabula.base.errors import UsageError  # noqa: PLC0415 - not to be mixed up with typer's class of that name

    option = getattr(problem, "option_name", None)
    context, parameter = getattr(problem, "ctx", None), getattr(problem, "param", None)
    if type(problem).__name__ == "NoSuchOption" and option and context is not None:
        if context.parent is None and (command := next((word for word in given if word in COMMANDS), "")):
            at = given.index(command)
            moved = shlex.join([command, *given[at + 1 :], *given[:at]])
            return UsageError(f"{option} belongs after the command: `fabula {moved}`.")
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
        begun = [name for name in known if option != "-" and name.startswith(f"{option}-")]
        other = _OTHER_OPTIONS.get(option) or _OTHER_OPTIONS.get(nearest(str(option), _OTHER_OPTIONS), ())
        meant = " or ".join(map(repr, begun)) or next((repr(name) for name in other if name in known), "")
        found = f"Did you mean {meant}?" if meant else hint(str(option), [*known, "--help"])
        more = found if found.endswith("?") else f"`{context.command_path} --help` lists its options."
        return UsageError(f"`{context.command_path}` has no option {option!r}. {more}")
    if type(problem).__name__ == "MissingParameter" and context is not None and parameter is not None:
        name = usage_of(parameter)
        about = f" {name}: {parameter.help}" if getattr(parameter, "help", "") else ""
        return UsageError(
            f"`{context.command_path}` requires {name.rstrip('.')}. Write `{as_required(context)}`.{about}"
        )
    if lacking := _VALUE.fullmatch(str(getattr(problem, "message", ""))):
        command = " ".join(("fabula", full_name(given))).strip()
        value = "a value" if lacking[2] == "an argument" else lacking[2].replace("arguments", "values")
        return UsageError(f"{lacking[1]} requires {value} after it. `{command} --help` shows its form.")
    asked = f" See `{context.command_path} --help`." if context is not None else ""
    said = str(problem.format_message()).rstrip(".")
    if context is not None and (extra := _EXTRA.fullmatch(said)):
        form = " ".join((context.command_path, *context.command.collect_usage_pieces(context)))
        first = len(context.command_path.split())
        advice = _behind_c(given, context) or _in_one(given, extra[1], first) or f"Its form is `{form}`."
        return UsageError(f"`{context.command_path}` takes no argument {extra[1]!r}. {advice}")
    cause = problem.__cause__
    if parameter is not None and hasattr(cause, "errors"):  # typer reads values by pydantic
        from fabula.base.invalid import fault  # noqa: PLC0415 - keeps `fabula --help` fast

        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.human_readable_name
        said = fault(cause.errors()[0], loc=(name,))
    return UsageError(f"{said}.{asked}")


def _behind_c(given: Sequence[str], context: Any) -> str:  # noqa: ANN401 - typer's own type is private
    """What to type if a project is given as an argument to a command that takes it only after `-C`; else empty."""
    from fabula.project.folder import was_project  # noqa: PLC0415 - keeps `fabula --help` fast

    names = {parameter.name for parameter in context.command.params}
    place = next((word for word in given if not word.startswith("-") and was_project(Path(word))), "")
    if "folder" not in names or "where" in names or not place or context.params.get("folder"):
        return ""
    rest = [word for word in given if word != place]
    return f"This command takes the project after -C: `fabula {shlex.join([*rest, '-C', place])}`."


def _in_one(given: Sequence[str], extra: str, first: int) -> str:
    """What to do if the words `extra` belong to the argument before them; empty if that is complete by itself.

    The arguments begin at `first`.
    """
    words = extra.split(" ")
    for at in range(first, len(given) - len(words) + 1):
        if given[at : at + len(words)] == words:
            before, option = given[at - 1], given[at - 2]
            if not Path(f"{before} {extra}").exists() and Path(before).exists():
                return ""
            whole = f'"{before} {extra}"'
            if option.startswith("-"):
                return f"A value with spaces needs quotation marks: {option} {whole}."
            command = shlex.join(given[: at - 1])
            return f"A name or text with spaces needs quotation marks: `fabula {command} {whole}`."
    return ""


def _failed(terminal: Terminal, kind: str, message: str, code: int) -> int:
    if VARIABLE in os.environ:  # a shell asks what could be typed
        return code
    terminal.message(f"fabula: {message}")
    _note_end(kind=kind, message=message)
    with suppress(OutputClosedError):
        terminal.document({"error": {"kind": kind, "message": message, "exit_code": code}})
    return code


def _surprised(terminal: Terminal, error: Exception) -> int:
    """Apologise; show the traceback only on request."""
    if os.environ.get("FABULA_DEBUG"):
        terminal.message("".join(traceback.format_exception(error)))
    if isinstance(error, PermissionError) and error.filename:
        message = f"You do not have permission to use {error.filename}. Correct its permissions or those of its folder."
        return _failed(terminal, "ProjectError", message, 1)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = max(Path(os.fsdecode(error.filename or "")).parts, key=len, default="")
        shown = f"{name[:_SHOWN]}…" if len(name) > _SHOWN else name
        message = f"The name {shown} is too long for a file or folder. Choose a shorter name."
        return _failed(terminal, UsageError.__name__, message, UsageError.exit_code)
    message = (
        f"Sorry, an unexpected error occurred ({type(error).__name__}: {error}). All finished "
        "work is kept. To get a traceback for a bug report, put FABULA_DEBUG=1 before the same command."
    )
    return _failed(terminal, type(error).__name__, message, 1)
