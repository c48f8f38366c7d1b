"""Help at the terminal: each command fits on one screen with its common options; `--help-all` explains all options."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from fabula.base.errors import UsageError, hint

if TYPE_CHECKING:
    from collections.abc import Iterable

MORE: Final = "Used less often"
"""The panel of options of which the short help shows only the names."""
EVERYWHERE: Final = "In every command"
_ALL: Final = "fabula.help_all"
_UNNAMED: Final = ("help_all", "json_schema")
_WIDEST: Final = 26  # column of names and options
EXIT_CODES: Final = {
    "0": "done, or waiting for your approval; also if a reader of the output closed the pipe",
    "1": "failed, or something was found: a difference, a finding with `--strict`, a broken machine",
    "2": "asked for something impossible: an option, a name, a file",
    "128 + n": "stopped by signal n; 130 is Ctrl-C",
}
"""The exit codes of commands. All finished work is kept in each case."""
CONTEXT: Final = {"help_option_names": ["-h", "--help"]}


class Command(TyperCommand):
    """A command whose help fits on one screen."""

    @classmethod
    def of(cls, made: Any) -> Command:  # noqa: ANN401 - typer's command type is private
        """Return the command that typer `made`, with this help."""
        return cls(
            made.name,
            context_settings={**made.context_settings, **CONTEXT},
            callback=made.callback,
            params=_with_eager(made.params, "json_schema", "help_all"),
            help=made.help,
            hidden=made.hidden,
            rich_markup_mode=None,
        )

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's own type is private
        """Return the usage after the command's name: its arguments, and whether it has options."""
        return [*(_shape(one) for one in self.params if one.param_type_name == "argument"), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """Write the arguments, the common options and the names of the others; with `--help-all`, describe all."""
        _format_parameters(ctx, formatter, self.get_params(ctx))


class CommandGroup(TyperGroup):
    """A group of commands with help in the same layout."""

    @classmethod
    def of(cls, made: Any) -> CommandGroup:  # noqa: ANN401 - typer's command type is private
        """Return the group that typer `made`, with this help for the group and its commands."""
        return cls(
            name=made.name,
            commands={name: Command.of(command) for name, command in made.commands.items()},
            context_settings={**made.context_settings, **CONTEXT},
            callback=made.callback,
            params=_with_eager(made.params, "json_schema"),
            help=made.help,
            invoke_without_command=made.invoke_without_command,
            no_args_is_help=not made.invoke_without_command,
            rich_markup_mode=None,
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own types are private
        """Return the command to run.

        Raises:
            UsageError: the command does not exist; the message suggests the closest name.
        """
        if not args[0].startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = hint(args[0], self.list_commands(ctx))
            raise UsageError(f"There is no command `{ctx.command_path} {args[0]}`. {near}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """Write the options of the group, then its commands."""
        _format_parameters(ctx, formatter, self.get_params(ctx))
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """Write each command with its full description."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        listed(formatter, "Commands", [(name, _first(command.help or "")) for name, command in found if command])


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]


def listed(formatter: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:  # noqa: ANN401 - typer's type is private
    """Write a section of the help with names and their descriptions."""
    if found := list(rows):
        with formatter.section(title):
            formatter.write_dl(found, col_max=_WIDEST)


def _format_parameters(ctx: Any, formatter: Any, parameters: Iterable[Any]) -> None:  # noqa: ANN401 - private types
    shown = [(one, one.get_help_record(ctx)) for one in parameters]
    whole = ctx.meta.get(_ALL, False)
    arguments = [(_shape(one), record[1]) for one, record in shown if record and one.param_type_name == "argument"]
    options = [(one, record) for one, record in shown if record and one.param_type_name == "option"]
    options.sort(key=lambda found: _panel(found[0]) == EVERYWHERE)
    rare = [(one, record) for one, record in options if _panel(one) == MORE and not whole]
    listed(formatter, "Arguments", arguments)
    if whole:
        for panel in dict.fromkeys(_panel(one) for one, _ in options):
            listed(formatter, panel, [record for one, record in options if _panel(one) == panel])
        return
    listed(
        formatter, "Options", [record for one, record in options if _panel(one) != MORE and one.name not in _UNNAMED]
    )
    names = ", ".join(one.opts[-1] for one, _ in [*rare, *((o, r) for o, r in options if o.name == "json_schema")])
    if names:
        with formatter.section(f"{MORE} (--help-all explains them)"):
            margin = " " * formatter.current_indent
            formatter.write(
                fill(
                    names,
                    formatter.width,
                    initial_indent=margin,
                    subsequent_indent=margin,
                    break_on_hyphens=False,
                    break_long_words=False,
                )
                + "\n"
            )


def _shape(argument: Any) -> str:  # noqa: ANN401 - typer's argument type is private
    """An argument as typed, in brackets if it is optional."""
    name = str(argument.metavar or argument.name.rstrip("_").upper())
    return name if argument.required or name.startswith("[") else f"[{name}]"


def usage_of(parameter: Any) -> str:  # noqa: ANN401 - typer's own types are private
    """An argument or option as typed: `FILE`, `--out DIR`."""
    if parameter.param_type_name == "argument":
        return _shape(parameter)
    value = "" if parameter.is_flag else f" {parameter.metavar or str(parameter.type.name).upper()}"
    return f"{next(name for name in parameter.opts if name.startswith('--'))}{value}"


def as_required(context: Any) -> str:  # noqa: ANN401 - typer's own type is private
    """A command line with what a command requires: as it was given, or else by name.

    Words behind the project and its text are taken for what is missing, and so is a word that is no project's folder.
    """
    words, where = [context.command_path], context.params.get("where") or []
    named = [where] if isinstance(where, str) else list(map(str, where))
    there = bool(named) and Path(named[0]).exists()
    rest = named[there if isinstance(where, str) else 1 + there :]
    for one in sorted(context.command.params, key=lambda one: one.param_type_name != "argument"):
        given = context.params.get(one.name) or (" ".join(rest) if one.required else "")
        if one.name == "where" and named:
            given = named[: len(named) - len(rest)]
        if one.param_type_name == "argument" and given:
            words += map(quote, map(str, given if isinstance(given, list | tuple) else [given]))
        elif one.required:
            words.append(f"{usage_of(one).partition(' ')[0]} {quote(str(given))}" if given else usage_of(one))
    names = {one.name for one in context.command.params}
    if "folder" in names and "where" not in names and not (context.params.get("folder") or Path("brief.md").exists()):
        words.append("-C PROJECT")
    return " ".join(words)


def _panel(option: Any) -> str:  # noqa: ANN401 - typer's option type is private
    if option.name in ("help", "help_all", "json_schema"):
        return EVERYWHERE
    return getattr(option, "rich_help_panel", None) or "Options"


@cache
def _eager() -> dict[str, Any]:
    """The options `--help-all` and `--json-schema`, which print and end the command."""

    def command(
        *,
        help_all: Annotated[
            bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Explain every option.")
        ] = False,
        json_schema: Annotated[
            bool,
            typer.Option(
                "--json-schema", is_eager=True, callback=_show_schema, help="Print the JSON schema of --json."
            ),
        ] = False,
    ) -> None:
        del help_all, json_schema

    app = typer.Typer(add_completion=False)
    app.command()(command)
    options: list[Any] = list(typer.main.get_command(app).params)
    for option in options:
        option.expose_value = False
    return {option.name: option for option in options}


def _with_eager(parameters: list[Any], *names: str) -> list[Any]:
    """A command's parameters with these options; the schema only if there is `--json`."""
    has_json = any("--json" in one.opts for one in parameters)
    return [*parameters, *(_eager()[name] for name in names if name != "json_schema" or has_json)]


def _show_all(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - typer gives a flag like this
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _show_schema(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - typer gives a flag like this
    if wanted and not ctx.resilient_parsing:
        from fabula.cli.documents import schema_of  # noqa: PLC0415 - only where it is asked for

        typer.echo(json.dumps(schema_of(ctx.command_path.removeprefix("fabula ")), indent=2))
        raise typer.Exit
