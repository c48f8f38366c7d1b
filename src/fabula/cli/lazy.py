"""All commands, by name and group.

A module is imported only when its command runs, so `fabula --help` imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Any, Final

import typer
from typer.core import TyperCommand

from fabula.base.errors import UsageError, hint
from fabula.base.plugins import Plugin, Plugins, faults_of, plugins
from fabula.cli.help import CONTEXT, Command, CommandGroup, listed

_LONGEST: Final = 1000  # characters of a word that may be a path
STORY, GROUPS, SETTING_UP = "Commands", "Groups of commands", "Set up"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command is defined: its module below `commands`, its panel in the help, and its one-line help.

    `function` is the function's name in the module if the command's name is a Python keyword. A group such as `text`
    has no module.
    """

    module: str
    panel: str
    help: str
    function: str = ""


COMMANDS: Final = {
    "sample": CommandEntry("sample", STORY, "Copy a finished project to try everything without a model."),
    "new": CommandEntry("new", STORY, "Make a project folder for a brief."),
    "import": CommandEntry(
        "import_manuscript", STORY, "Make a project from a manuscript without changing a word.", "import_"
    ),
    "plan": CommandEntry("plan", STORY, "Make a plan from a brief or a story, or check a plan."),
    "write": CommandEntry("write", STORY, "Write a story from a brief or project, or continue it."),
    "update": CommandEntry("update", STORY, "Show which texts your edits made stale, and rewrite them."),
    "show": CommandEntry("show", STORY, "Print the story, or a text, its versions or its prompts."),
    "status": CommandEntry("status", STORY, "Show the state of a project and the next step."),
    "world": CommandEntry("world", STORY, "Show what is true in the story and who knows it."),
    "edit": CommandEntry("edit", STORY, "Edit a text in $EDITOR or from a file, or restore a version."),
    "undo": CommandEntry("decide", STORY, "Undo your last decision."),
    "redo": CommandEntry("decide", STORY, "Redo what `undo` undid."),
    "export": CommandEntry("export", STORY, "Make a Word, EPUB, OpenDocument, Markdown or other file."),
    "check": CommandEntry("check", STORY, "Find contradictions, and show both passages and why they clash."),
    "measure": CommandEntry("measure", STORY, "Measure words, repetition, dialogue and ROUGE-L without a model."),
    "evaluate": CommandEntry("evaluate", STORY, "Compare, rank, rate or review stories with any evaluator."),
    "chat": CommandEntry("chat", STORY, "Talk with the characters of a story."),
    "studio": CommandEntry("studio", STORY, "Open projects in the browser to write, edit and measure."),
    "serve": CommandEntry("serve", SETTING_UP, "Serve characters to programs that use OpenAI's chat API."),
    "mcp": CommandEntry("mcp", SETTING_UP, "Offer projects to programs that use the Model Context Protocol."),
    "lsp": CommandEntry("lsp", SETTING_UP, "Show findings, facts and stale texts in any editor (LSP)."),
    "text": CommandEntry("", GROUPS, "Pin, retake, rewrite, rename, split, merge or move a text."),
    "codex": CommandEntry("", GROUPS, "List people, places, things and rules, and who knows what of them."),
    "lab": CommandEntry("", GROUPS, "Run experiments, recompute tables, plant errors and test judges."),
    "study": CommandEntry("study", GROUPS, "Have people rate stories: `new`, `assign`, `serve`, `report`."),
    "data": CommandEntry("data", GROUPS, "List data sets, choose prompts and make training data."),
    "train": CommandEntry("train", STORY, "Fine-tune a local model on examples, pairs or dialogues."),
    "learn": CommandEntry("learn", SETTING_UP, "Learn your preferences from your edits and choices."),
    "models": CommandEntry("models", SETTING_UP, "List models, download a model, or check that a model answers."),
    "systems": CommandEntry("systems", SETTING_UP, "List the writing systems, or describe a system."),
    "new-system": CommandEntry(
        "new_system", SETTING_UP, "Make a folder for your own system or evaluator.", "new_system"
    ),
    "doctor": CommandEntry("doctor", SETTING_UP, "List what this machine has and what is missing."),
    "trust": CommandEntry(
        "trust", SETTING_UP, "Allow a project or study from someone else to run its programs and contact its servers."
    ),
    "text pin": CommandEntry("decide", "text", "Keep a text as it is, even if earlier texts change."),
    "text unpin": CommandEntry("decide", "text", "Let a pinned text change again."),
    "text retake": CommandEntry("decide", "text", "Get another version of a text, or a revision that follows a note."),
    "text rename": CommandEntry("decide", "text", "Change the title of a part of the story."),
    "text mark": CommandEntry("book", "text", "Note the status of a text and how long it should be."),
    "text note": CommandEntry("book", "text", "Write notes on a text that no model sees."),
    "text replace": CommandEntry("book", "text", "Find words in all texts and replace them."),
    "text split": CommandEntry("book", "text", "Divide a text in two at a place."),
    "text merge": CommandEntry("book", "text", "Add the next text to a text."),
    "text move": CommandEntry("book", "text", "Move a text to another place in the book."),
    "text snapshot": CommandEntry("book", "text", "Name the state of all texts, compare with it and restore it."),
    "text outline": CommandEntry("book", "text", "Fill the cards of the plan by having the texts read."),
    "text rewrite": CommandEntry("rewrite", "text", "Rewrite one passage without changing any other byte."),
    "text suggest": CommandEntry("suggest", "text", "Suggest other wordings of a passage, or what could come next."),
    "text style": CommandEntry("style", "text", "Propose a style sheet from samples of your own prose."),
    "text continue": CommandEntry("decide", "text", "Add a continuation to a text.", "continue_"),
    "text approve": CommandEntry("decide", "text", "Approve a text, or all waiting texts."),
    "text edits": CommandEntry("edits", "text", "List the changes of the final reading, and accept or refuse them."),
    "text card": CommandEntry("card", "text", "Show a character card, or convert between cards and personas."),
    "codex show": CommandEntry("codex", "codex", "Show where the story mentions each entry and what is known of it."),
    "codex set": CommandEntry("codex", "codex", "Add or change an entry, or accept a proposed one.", "set_"),
    "codex remove": CommandEntry("codex", "codex", "Remove an entry, or refuse a proposed one."),
    "codex read": CommandEntry("codex", "codex", "Have a model read the story and propose entries."),
    "lab meta": CommandEntry("meta", "lab", "Show how well a judge agrees with people, compared with baselines."),
    "lab experiment": CommandEntry("experiment", "lab", "Run systems on briefs and models, and evaluate the stories."),
    "lab merge": CommandEntry("experiment", "lab", "Merge the parts of an experiment that was run with --shard."),
    "lab reproduce": CommandEntry("reproduce", "lab", "Recompute tables of the papers from their published data."),
    "lab inject": CommandEntry("inject", "lab", "Write screenplays with known errors, to test checkers."),
    "lab snap": CommandEntry("snap", "lab", "Learn the weights of SNAP's plan filter from scored plans."),
}
"""Every command by its full name. The commands of a listed group begin with the group's name."""
_UNLISTED: Final = {"do": CommandEntry("do", "", "Run a verb with JSON arguments and print a JSON result.")}
"""Commands that only fabula itself runs."""

_OTHER_WORDS: Final = {
    "judge": "evaluate pairwise",
    "compare": "evaluate pairwise",
    "rank": "evaluate pairwise",
    "review": "evaluate editorial",
    "rate": "evaluate rubric",
    "ttcw": "evaluate ttcw",
    "versions": "show --versions",
    "history": "show --versions",
    "run": "write",
    "style": "text style",
    "voice": "text style",
    "generate": "write",
    "init": "new",
    "create": "new",
    "list": "status",
    "open": "studio",
}
"""Other names that people may try for a command."""

_ENDS: Final = (typer.Exit, typer.Abort, typer.BadParameter.__mro__[1])  # by which commands end, of typer's own


def brought() -> Plugins:
    """Return the commands of other installed packages.

    A package adds commands as entry points in the group `fabula.commands`: `report = "my_papers:report"` refers to a
    function whose annotations typer reads, or to a `typer.Typer` with several commands.
    """
    return plugins("fabula.commands", COMMANDS, "command")


def full_name(words: list[str]) -> str:
    """Return the command at the start of a command line; empty if it is unknown."""
    first = words[0] if words else ""
    if first in COMMANDS and not COMMANDS[first].module and len(words) > 1:
        first = f"{first} {words[1]}"
    return first if first in COMMANDS else ""


class LazyGroup(CommandGroup):
    """The group `fabula`, or a group in `COMMANDS`, which imports each command only when it is called."""

    def __init__(self, *, inside: str = "", **attributes: Any) -> None:  # noqa: ANN401 - handed to typer
        super().__init__(**{**attributes, "rich_markup_mode": None})
        self.inside = inside

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's own context type is private
        """Return all names, in the order of the help."""
        return list(self._within)

    @property
    def _within(self) -> dict[str, str]:
        """The whole names of this group's commands, by their names in the group."""
        start = f"{self.inside} " if self.inside else ""
        named = ((name.removeprefix(start), name) for name in COMMANDS if name.startswith(start))
        return {short: name for short, name in named if " " not in short}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer's own context type is private
        """Return a placeholder with the command's help, or `None` if the name is unknown."""
        name = self._within.get(cmd_name)
        return None if name is None else TyperCommand(name=cmd_name, help=COMMANDS[name].help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own context type is private
        """Import the module of the called command and return it with the other arguments unchanged.

        Raises:
            UsageError: the command does not exist; the message suggests one.
        """
        known = self._within if self.inside else {**self._within, **{name: name for name in _UNLISTED}}
        if name := known.get(args[0], ""):
            return name.removeprefix(f"{self.inside} "), load(name), args[1:]
        if args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if not self.inside and (plugin := brought().found.get(args[0])) is not None:
            return plugin.name, _of_package(plugin), args[1:]
        raise _unknown(self.inside, args[0], known)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """Write the commands, then the few options."""
        self.format_commands(ctx, formatter)
        formatter.write_paragraph()
        names = ", ".join(min(option.opts, key=len) for option in self.get_params(ctx))
        formatter.write_text(f"Options: {names}.")
        formatter.write_text("Exit codes: 0 success, 1 failure, 2 usage error, 128 + n stopped by signal n.")

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """Write the commands; list setup commands only by name."""
        if self.inside:
            super().format_commands(ctx, formatter)
            return
        for panel in (STORY, GROUPS):
            rows = [(name, one.help) for name, one in COMMANDS.items() if one.panel == panel]
            listed(formatter, panel, rows)
        names = ", ".join(name for name, one in COMMANDS.items() if one.panel == SETTING_UP)
        formatter.write_paragraph()
        formatter.write_text(f"{SETTING_UP}: {names}.")
        others = brought()
        if theirs := ", ".join(f"{name} ({plugin.source})" for name, plugin in others.found.items()):
            formatter.write_text(f"From packages: {theirs}.")
        for problem in others.problems.values():
            formatter.write_text(problem)


def _unknown(inside: str, name: str, known: Iterable[str]) -> UsageError:
    """An error for an unknown command, with a suggestion from any group."""
    near, others = hint(name, known), {one.rpartition(" ")[2]: one for one in COMMANDS}
    meant = "lab experiment" if (inside, name) == ("lab", "run") else _OTHER_WORDS.get(name, others.get(name, ""))
    if meant:
        near = f"Use `fabula {meant}`."
    elif not inside and (place := Path(name[:_LONGEST])).exists():
        what = "a project, use `fabula status" if place.is_dir() else "a brief, use `fabula write"
        near = f"The first word is a command. If {name!r} is {what} {quote(name)}`."
    elif not inside and not near.endswith("?"):
        near = "`fabula --help` lists the commands."
    return UsageError(f"There is no command `{' '.join(filter(None, ('fabula', inside, name)))}`. {near}")


def load(name: str) -> Any:  # noqa: ANN401 - typer's command type is private
    """Import the module of a command and return the command."""
    entry = _UNLISTED.get(name) or COMMANDS[name]
    own = name.rpartition(" ")[2]
    if not entry.module:
        return LazyGroup(inside=name, name=own, help=entry.help, no_args_is_help=True, context_settings=dict(CONTEXT))
    module = import_module(f"fabula.cli.commands.{entry.module}")
    return _made(own, getattr(module, entry.function or own))


def _made(name: str, function: Any) -> Any:  # noqa: ANN401 - a function or a typer.Typer; typer's command type is private
    """The command made from a function, or the group made from a `typer.Typer`."""
    if isinstance(function, typer.Typer):
        group = CommandGroup.of(typer.main.get_group(function))
        group.name = name
        return group
    app = typer.Typer(add_completion=False)
    app.command(name)(function)
    return Command.of(typer.main.get_command(app))


def _of_package(plugin: Plugin) -> Any:  # noqa: ANN401 - typer's command type is private
    """A package's command; its errors name the package."""
    made = _made(plugin.name, plugin.load())
    invoke = made.invoke

    def told_as_theirs(ctx: Any) -> Any:  # noqa: ANN401 - as above
        with faults_of(f"{plugin.name} (from {plugin.source})", but=_ENDS):
            return invoke(ctx)

    made.invoke = told_as_theirs
    return made
