"""A group of commands whose modules are imported when they are used, so that `fabula --help` needs none of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from fabula.base.errors import UnknownNameError

WRITING, CHANGING, LOOKING = "Write", "Change", "Look"
MEASURING, TRAINING, SETTING_UP = "Measure", "Train", "Set up"


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is: its module below `commands`, the panel it is shown in, and its help in one line.

    `function` is what makes the command in its module, where a keyword of Python has the command's own name.
    """

    module: str
    panel: str
    help: str
    function: str = ""


COMMANDS: Final = {
    "sample": Entry("sample", WRITING, "Copy a finished project, to try everything without a model."),
    "new": Entry("new", WRITING, "Make a project folder for a brief."),
    "plan": Entry("plan", WRITING, "Make a plan from a brief or a story, or check one."),
    "write": Entry("write", WRITING, "Write the story of a project or brief; go on where it stopped."),
    "chat": Entry("chat", WRITING, "Talk with the characters of a story, who keep to it."),
    "serve": Entry("serve", WRITING, "Serve characters to any program that talks to OpenAI's chat completions."),
    "update": Entry("update", WRITING, "Take your edits over: say what will be asked again and its cost, then do it."),
    "estimate": Entry("estimate", WRITING, "Say what writing would ask and cost, without asking anybody."),
    "export": Entry("export", WRITING, "Make a Markdown, EPUB, DOCX, Fountain, text or JSON file of the story."),
    "edit": Entry("edit", CHANGING, "Give an artefact a new text, an earlier one, or open it in $EDITOR."),
    "edits": Entry("edits", CHANGING, "List what the final reading changed; refuse a change, or take it after all."),
    "pin": Entry("decide", CHANGING, "Keep an artefact's text whatever changes above it."),
    "unpin": Entry("decide", CHANGING, "Let a pinned artefact change again."),
    "retake": Entry(
        "decide", CHANGING, "Have an artefact written anew, with another draw; or revised, as a note wishes."
    ),
    "rewrite": Entry("rewrite", CHANGING, "Have one passage of a text written anew; the rest stays, byte for byte."),
    "continue": Entry("decide", CHANGING, "Have more written after an artefact's text.", "continue_"),
    "approve": Entry("decide", CHANGING, "Approve an artefact, or all that wait."),
    "undo": Entry(
        "decide",
        CHANGING,
        "Take back what your last command decided; said again, what the one before it did.",
    ),
    "redo": Entry("decide", CHANGING, "Decide again what `undo` took back."),
    "status": Entry("status", LOOKING, "Show where a project stands: texts, changes, what is spent, what comes next."),
    "show": Entry("show", LOOKING, "Print the story, an artefact, or what was asked to make it."),
    "history": Entry("show", LOOKING, "List the versions of an artefact, or their differences."),
    "world": Entry("world", LOOKING, "Show what is true in the story: at a scene, for a character, or between two."),
    "measure": Entry(
        "measure", MEASURING, "Count what can be counted in stories: words, repetition, dialogue, ROUGE-L."
    ),
    "judge": Entry("judge", MEASURING, "Have a judge compare two stories, side by side, in both orders."),
    "rank": Entry("rank", MEASURING, "Rank systems or stories by side-by-side verdicts, with intervals."),
    "ttcw": Entry("ttcw", MEASURING, "Put a story to the 14 tests of creative writing, alone or beside a reference."),
    "review": Entry("review", MEASURING, "Have an editor comment on stories, and a judge score them side by side."),
    "rate": Entry("rate", MEASURING, "Have a judge rate dialogues or stories by themselves, from 1 to 5."),
    "check": Entry("check", MEASURING, "Find continuity errors: both passages, and why they cannot both be true."),
    "digress": Entry(
        "digress", MEASURING, "Have a simulated player leave the story; count who leads back, and how soon."
    ),
    "meta": Entry("meta", MEASURING, "Say how far a judge agrees with people, beside trivial baselines."),
    "experiment": Entry(
        "experiment", MEASURING, "Run briefs x systems x models, then evaluators; go on where it stopped."
    ),
    "reproduce": Entry("reproduce", MEASURING, "Compute the papers' published tables again from their data."),
    "inject": Entry("inject", MEASURING, "Put labelled continuity errors into a story, to test who finds them."),
    "learn": Entry("learn", TRAINING, "Learn from your edits and choices what you prefer, on this machine."),
    "data": Entry("data", TRAINING, "Training data from stories (`backtranslate`) and from choices (`preferences`)."),
    "train": Entry(
        "train",
        TRAINING,
        "Fine-tune local models: on examples (`sft`), on preferences (`dpo`), on dialogues (`summariser`).",
    ),
    "snap": Entry("snap", SETTING_UP, "SNAP's filter and survey: `fabula snap fit`, `form`, `answers`."),
    "card": Entry("card", SETTING_UP, "Show a character card, or turn one into personas and back."),
    "systems": Entry("systems", SETTING_UP, "List the writing systems, or describe one."),
    "models": Entry("models", SETTING_UP, "List models; fetch one, or check that one answers."),
    "trust": Entry("trust", SETTING_UP, "Allow a project of somebody else to run its programs and reach its servers."),
    "doctor": Entry("doctor", SETTING_UP, "Say what this machine has and what is missing."),
}


class LazyGroup(TyperGroup):
    """The group `fabula`: `COMMANDS` by name, each loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's own context type is private
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer's own context type is private
        """A stand-in with the command's help; `None` for an unknown name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        return TyperCommand(name=cmd_name, help=entry.help, rich_help_panel=entry.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own context type is private
        """The command that is called, with its module loaded; the rest of the arguments stay as they are.

        Raises:
            UnknownNameError: there is no such command; the nearest is named.
        """
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], COMMANDS)
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, (stand_in if name is None else _load(name)), rest


def _load(name: str) -> Any:  # noqa: ANN401 - typer's command type is private
    entry = COMMANDS[name]
    module = import_module(f"fabula.cli.commands.{entry.module}")
    function = getattr(module, entry.function or name)
    if isinstance(function, typer.Typer):
        command = typer.main.get_group(function)
        command.name = name
        return command
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name)(function)
    return typer.main.get_command(app)
