"""The commands by name and group. Their modules are imported when they are used, so that `fabula --help` needs none."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.plugins import Plugin, Plugins, faults_of, plugins
from fabula.cli.help import CONTEXT, Command, CommandGroup, listed

STORY, GROUPS, SETTING_UP = "Commands", "Groups of commands", "Set up"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command is: its module below `commands`, the panel it is shown in, and its help in one line.

    `function` is what makes the command in its module, where a keyword of Python has the command's own name. A group
    that is listed here, as `text`, has no module.
    """

    module: str
    panel: str
    help: str
    function: str = ""


COMMANDS: Final = {
    "sample": CommandEntry("sample", STORY, "Copy a finished project, to try everything without a model."),
    "new": CommandEntry("new", STORY, "Make a project folder for a brief."),
    "import": CommandEntry("import_manuscript", STORY, "Make a project of a manuscript, word for word.", "import_"),
    "plan": CommandEntry("plan", STORY, "Make a plan from a brief or a story, or check one."),
    "write": CommandEntry("write", STORY, "Write the story of a brief or project, or continue it."),
    "update": CommandEntry("update", STORY, "Show what your edits make stale, with the cost; then rewrite it."),
    "show": CommandEntry("show", STORY, "Print the story, a text, its versions, or its prompts."),
    "status": CommandEntry("status", STORY, "Show the state of a project, and the next step."),
    "world": CommandEntry("world", STORY, "Show what is true in the story, and who knows it."),
    "edit": CommandEntry("edit", STORY, "Edit a text in $EDITOR or from a file, or restore a version."),
    "undo": CommandEntry("decide", STORY, "Take back what your last command decided."),
    "redo": CommandEntry("decide", STORY, "Repeat what `undo` took back."),
    "export": CommandEntry("export", STORY, "Make an EPUB, DOCX, Markdown, Fountain, text or JSON file."),
    "check": CommandEntry("check", STORY, "Find contradictions: both passages, and why they clash."),
    "measure": CommandEntry("measure", STORY, "Measure without a model: words, repetition, dialogue, ROUGE-L."),
    "evaluate": CommandEntry("evaluate", STORY, "Compare, rank, rate or review stories with any evaluator."),
    "chat": CommandEntry("chat", STORY, "Talk with the characters of a story, who keep to it."),
    "studio": CommandEntry("studio", STORY, "Open projects in the browser: write, edit, plan, talk, measure."),
    "serve": CommandEntry("serve", SETTING_UP, "Serve characters to programs that speak OpenAI's chat dialect."),
    "mcp": CommandEntry("mcp", SETTING_UP, "Offer projects to programs that speak the Model Context Protocol."),
    "text": CommandEntry("", GROUPS, "Pin, retake, rewrite, approve or rename single texts."),
    "lab": CommandEntry("", GROUPS, "Experiments, published tables, planted errors, judges' accuracy."),
    "study": CommandEntry("study", GROUPS, "Have people rate stories: `new`, `assign`, `serve`, `report`."),
    "data": CommandEntry("data", GROUPS, "List data sets, choose prompts, make training data."),
    "train": CommandEntry("train", STORY, "Fine-tune a local model on examples, pairs or dialogues."),
    "learn": CommandEntry("learn", GROUPS, "Learn from your edits and choices what you prefer."),
    "models": CommandEntry("models", SETTING_UP, "List models, download one, or check that one answers."),
    "systems": CommandEntry("systems", SETTING_UP, "List the writing systems, or describe one."),
    "new-system": CommandEntry(
        "new_system", SETTING_UP, "Make the folder of a system or evaluator of your own.", "new_system"
    ),
    "doctor": CommandEntry("doctor", SETTING_UP, "List what this machine has, and what is missing."),
    "trust": CommandEntry(
        "trust", SETTING_UP, "Allow a project or study that you did not make to run its programs and reach its servers."
    ),
    "text pin": CommandEntry("decide", "text", "Keep a text as it is, whatever changes before it."),
    "text unpin": CommandEntry("decide", "text", "Let a pinned text change again."),
    "text retake": CommandEntry("decide", "text", "Ask for another version of a text, or a revision with a note."),
    "text rename": CommandEntry("decide", "text", "Give a part of the story another title."),
    "text rewrite": CommandEntry("rewrite", "text", "Rewrite one passage; the rest stays, byte for byte."),
    "text continue": CommandEntry("decide", "text", "Continue a text after its end.", "continue_"),
    "text approve": CommandEntry("decide", "text", "Approve a text, or all that wait."),
    "text edits": CommandEntry("edits", "text", "List what the final reading changed; refuse or take back a change."),
    "text card": CommandEntry("card", "text", "Show a character card, or turn one into personas and back."),
    "lab meta": CommandEntry("meta", "lab", "Show how well a judge agrees with people, next to baselines."),
    "lab experiment": CommandEntry("experiment", "lab", "Run systems on briefs and models, then evaluators."),
    "lab merge": CommandEntry("experiment", "lab", "Merge the parts of an experiment that --shard wrote."),
    "lab reproduce": CommandEntry("reproduce", "lab", "Recompute the papers' tables from their published data."),
    "lab inject": CommandEntry("inject", "lab", "Plant labelled continuity errors in a story."),
    "lab digress": CommandEntry("digress", "lab", "Have a simulated player leave the story; count who leads back."),
    "lab snap": CommandEntry("snap", "lab", "Learn the weights of SNAP's plan filter from scored plans."),
}
"""Every command by its whole name; a group that is listed here has the commands whose names begin with its own."""
_UNLISTED: Final = {"do": CommandEntry("do", "", "Do a verb, with its arguments and its result as JSON.")}
"""Commands for programs of ours alone."""

_OTHER_WORDS: Final = {
    "judge": "evaluate pairwise",
    "compare": "evaluate pairwise",
    "rank": "evaluate pairwise",
    "review": "evaluate editorial",
    "rate": "evaluate rubric",
    "ttcw": "evaluate ttcw",
}
"""What people call a command that has another name."""

_ENDS: Final = (typer.Exit, typer.Abort, typer.BadParameter.__mro__[1])  # by which commands end, of typer's own


def brought() -> Plugins:
    """The commands that installed packages bring.

    A package names its own as entry points of the group `fabula.commands`: `report = "my_papers:report"` is a function
    whose annotations typer reads, or a `typer.Typer` with several.
    """
    return plugins("fabula.commands", COMMANDS, "command")


def full_name(words: list[str]) -> str:
    """The command that the first words of a command line name; empty for an unknown one."""
    first = words[0] if words else ""
    if first in COMMANDS and not COMMANDS[first].module and len(words) > 1:
        first = f"{first} {words[1]}"
    return first if first in COMMANDS else ""


class LazyGroup(CommandGroup):
    """The group `fabula`, or one that is listed in `COMMANDS`: each command is loaded when it is called."""

    def __init__(self, *, inside: str = "", **attributes: Any) -> None:  # noqa: ANN401 - handed to typer
        super().__init__(**{**attributes, "rich_markup_mode": None})
        self.inside = inside

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's own context type is private
        """All names, in the order of the help."""
        return list(self._within)

    @property
    def _within(self) -> dict[str, str]:
        """The whole names of this group's commands, by the name they have in it."""
        start = f"{self.inside} " if self.inside else ""
        named = ((name.removeprefix(start), name) for name in COMMANDS if name.startswith(start))
        return {short: name for short, name in named if " " not in short}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer's own context type is private
        """A stand-in with the command's help; `None` for an unknown name."""
        name = self._within.get(cmd_name)
        return None if name is None else TyperCommand(name=cmd_name, help=COMMANDS[name].help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own context type is private
        """The command that is called, with its module loaded; the rest of the arguments stay as they are.

        Raises:
            UnknownNameError: there is no such command; the nearest is named.
            UsageError: it is another word for a command, which is named.
        """
        known = self._within if self.inside else {**self._within, **{name: name for name in _UNLISTED}}
        if name := known.get(args[0], ""):
            return name.removeprefix(f"{self.inside} "), load(name), args[1:]
        if args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if not self.inside and (plugin := brought().found.get(args[0])) is not None:
            return plugin.name, _of_package(plugin), args[1:]
        if not self.inside and (meant := _OTHER_WORDS.get(args[0])):
            raise UsageError(f"There is no command {args[0]!r}. `fabula {meant}` does that.")
        raise UnknownNameError(f"command of `fabula {self.inside}`" if self.inside else "command", args[0], known)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """The commands first; options are few."""
        self.format_commands(ctx, formatter)
        formatter.write_paragraph()
        names = ", ".join(min(option.opts, key=len) for option in self.get_params(ctx))
        formatter.write_text(f"Options: {names}.")
        formatter.write_text("Exit codes: 0 done, 1 failed, 2 wrong use, 128 + n stopped by signal n.")

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own types are private
        """The commands; those that set things up are only named."""
        if self.inside:
            super().format_commands(ctx, formatter)
            return
        for panel in (STORY, GROUPS):
            rows = [(name, one.help) for name, one in COMMANDS.items() if one.panel == panel]
            listed(formatter, panel, rows)
        names = ", ".join(name for name, one in COMMANDS.items() if one.panel == SETTING_UP)
        formatter.write_paragraph()
        formatter.write_text(f"{SETTING_UP}: {names}. Each has -h.")
        others = brought()
        if theirs := ", ".join(f"{name} ({plugin.source})" for name, plugin in others.found.items()):
            formatter.write_text(f"Of packages: {theirs}.")
        for problem in others.problems.values():
            formatter.write_text(problem)


def load(name: str) -> Any:  # noqa: ANN401 - typer's command type is private
    """The command of that whole name, with its module imported."""
    entry = _UNLISTED.get(name) or COMMANDS[name]
    own = name.rpartition(" ")[2]
    if not entry.module:
        return LazyGroup(inside=name, name=own, help=entry.help, no_args_is_help=True, context_settings=dict(CONTEXT))
    module = import_module(f"fabula.cli.commands.{entry.module}")
    return _made(own, getattr(module, entry.function or own))


def _made(name: str, function: Any) -> Any:  # noqa: ANN401 - a function or a typer.Typer; typer's command type is private
    """The command that a function is, or the group that a `typer.Typer` is."""
    if isinstance(function, typer.Typer):
        group = CommandGroup.of(typer.main.get_group(function))
        group.name = name
        return group
    app = typer.Typer(add_completion=False)
    app.command(name)(function)
    return Command.of(typer.main.get_command(app))


def _of_package(plugin: Plugin) -> Any:  # noqa: ANN401 - typer's command type is private
    """A package's command, whose errors are told as its own."""
    made = _made(plugin.name, plugin.load())
    invoke = made.invoke

    def told_as_theirs(ctx: Any) -> Any:  # noqa: ANN401 - as above
        with faults_of(f"{plugin.name} (from {plugin.source})", but=_ENDS):
            return invoke(ctx)

    made.invoke = told_as_theirs
    return made
