"""`fabula data backtranslate`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.back_translating import (
    METHOD,
    UNKNOWN,
    BackTranslationTask,
    back_translate_in,
    back_translate_part,
    dry_run_back_translation,
)
from fabula.app.item_files import read_all
from fabula.app.parts import folder_of_part, merge_calls, read_part
from fabula.cli.asked import changes_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Choices, Output, Performers, SpendingLimits, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.stories import Selecting, say_licences
from fabula.cli.terminal import table
from fabula.models.base import Capabilities
from fabula.models.known import is_small
from fabula.models.servers import Part
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.story import Brief
from fabula.training.examples import LEFT_OUT

if TYPE_CHECKING:
    from fabula.app.back_translating import BackTranslation
    from fabula.app.bills import Bill
    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item

_SHOWN: Final = 5  # reasons for which stories are left out; unknown names


@dataclass(frozen=True, slots=True)
class BackTranslationOptions:
    """What data is made, for whom, and from how many stories."""

    system: Annotated[
        str, typer.Option(metavar="NAME", help="agents-room (its variant by --set variant=...), or end-to-end.")
    ] = "agents-room"
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="MODEL|DIR",
            help="The model that will be trained: small models get simpler prompts.",
            show_default="the model that writes where none is named",
            rich_help_panel=MORE,
        ),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief that all the stories answer.")] = ""
    ask_tasks: Annotated[
        bool,
        typer.Option("--ask-tasks", help="Ask the teacher for the tasks of stories without one.", rich_help_panel=MORE),
    ] = False
    development: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            metavar="SHARE",
            help="Share of stories kept aside to choose by.",
            rich_help_panel=MORE,
        ),
    ] = 0.2
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Only ask about part I of N of the stories; `fabula data merge` puts the calls together.",
            rich_help_panel=MORE,
        ),
    ] = ""


@bundled
def backtranslate(
    common: Output,
    performers: Performers,
    limits: SpendingLimits,
    wanted: BackTranslationOptions,
    selecting: Selecting,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the training data and all calls.")],
    stories: Annotated[
        list[str],
        typer.Argument(metavar="STORY...", help="Story files (.md, .txt, .jsonl, .csv), projects, folders, data sets."),
    ],
) -> None:
    """Make training data for Agents' Room from finished stories: a teacher model reconstructs each agent's text.

    The prompts in the data are those that `fabula write` sends with the same --system, --preset, --set and --aids.
    """
    terminal = terminal_of(common)
    teacher, learner = _settings(performers, wanted)
    learns = wanted.for_ or Settings().model
    part = read_part(wanted.shard) if wanted.shard else Part()
    items, empty = _items(stories, wanted, selecting.selection(performers.seed))
    say_licences(terminal, items)
    task = BackTranslationTask(
        items=items,
        folder=folder_of_part(Path(out), part) if wanted.shard else Path(out),
        settings=learner,
        able=_able(learns, terminal),
        learner=learns,
        development=wanted.development,
        ask_tasks=wanted.ask_tasks,
        empty=empty,
        part=part,
    )
    if wanted.shard:
        limits = replace(
            limits,
            budget_tokens=None if limits.budget_tokens is None else limits.budget_tokens // part.of,
            budget_usd=None if limits.budget_usd is None else limits.budget_usd / part.of,
        )
    asking = Asking(terminal, METHOD, performers, teacher, limits, task.folder)
    if wanted.shard:
        count = asking.run(
            f"Part {wanted.shard} of {counted(len(items), 'story', 'stories')}",
            lambda options: dry_run_back_translation(task, teacher, options),
            lambda options: back_translate_part(task, teacher, options),
        )
        say_bill(terminal, asking.bill)
        terminal.advise(
            f"{counted(count, 'story', 'stories')} done. When all {part.of} parts are: "
            f"`fabula data merge {near(Path(out))}`, then the same command without --shard makes the data."
        )
        terminal.document({"part": wanted.shard, "stories": count, "folder": str(task.folder), **asking.bill.as_data()})
        return
    made = asking.run(
        counted(len(items), "story", "stories"),
        lambda options: dry_run_back_translation(task, teacher, options),
        lambda options: back_translate_in(task, teacher, options),
    )
    _say(terminal, task, made, asking.bill)


@bundled
def merge_data(
    common: Output,
    out: Annotated[str, typer.Argument(metavar="DIR", help="Folder for the training data.", show_default=False)],
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]...", help="Folders of parts; default: those beside it (DIR-1-of-8, ...)."),
    ] = None,
) -> None:
    """Put the calls of parts together, which --shard has made; a part that goes on can be merged again."""
    terminal = terminal_of(common)
    taken = merge_calls(Path(out), [Path(part) for part in parts or ()])
    for part, count in taken.items():
        terminal.say(f"{part}: {counted(count, 'call')} taken over")
    terminal.advise("Next: `fabula data backtranslate` as for the parts, without --shard.")
    terminal.document({"folder": out, "parts": taken})


def _settings(performers: Performers, wanted: BackTranslationOptions) -> tuple[Settings, Settings]:
    """The settings of who answers, and those of the system that is trained."""
    given = {field.name: getattr(performers, field.name) for field in fields(performers)}
    trained = {"preset": given["preset"], "aids": given["aids"], "set_": given["set_"], "system": wanted.system}
    learner = Settings().with_(changes_of(Choices(**trained, prompts=given["prompts"]), Settings()))
    teacher = Settings().with_(changes_of(Choices(**(given | {"set_": None})), Settings()))
    return teacher, learner


def _able(spec: str, terminal: Terminal) -> Capabilities:
    """What the model that is trained can do; it is not started. A folder of weights is small if its name says so."""
    path = Path(spec).expanduser()
    if path.is_dir():
        return Capabilities(continues=True, small=is_small(path.resolve().name))
    name = f"embedded:{spec}" if path.suffix == ".gguf" and path.is_file() else spec
    return open_model(name, ModelTable(), Environment(terminal.environ)).capabilities


def _items(
    stories: list[str], wanted: BackTranslationOptions, selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories, and why some have no text."""
    items, empty = read_all([Path(story) for story in stories], selection)
    if wanted.brief:
        brief = Brief.read(Path(wanted.brief))
        items = tuple(replace(item, brief=brief) for item in items)
    return items, empty


def _say(terminal: Terminal, task: BackTranslationTask, made: BackTranslation, bill: Bill) -> None:
    sides = made.examples
    agents = list(dict.fromkeys(one.agent for some in sides.values() for one in some))
    rows = [("agent", *sides)]
    rows += [(agent, *(str(sum(one.agent == agent for one in some)) for some in sides.values())) for agent in agents]
    rows.append(("stories", *(str(len({one.group for one in some})) for some in sides.values())))
    terminal.say(table(rows, right=(1, 2)))
    for one in made.left_out[:_SHOWN]:
        name = f"{one['group']}. " if one["group"] else ""
        terminal.message(f"Left out: {name}{one['reason']}")
    if len(made.left_out) > _SHOWN:
        terminal.message(f"... and {len(made.left_out) - _SHOWN} more; left-out.jsonl has all.")
    if unknown := made.card.counts[UNKNOWN]:
        names = ", ".join(f"{name} {count}" for name, count in list(unknown.items())[:_SHOWN])
        terminal.message(
            "Capitalised words in the notes that neither story nor task has, with the number of examples that hold "
            f"them: {names}{', ...' if len(unknown) > _SHOWN else ''}. If people were invented, take another teacher."
        )
    say_bill(terminal, bill)
    if sides["train"]:
        terminal.advise(f"Next: `fabula train {near(task.folder)} --base MODEL --out ROOM`.")
    else:
        terminal.message(f"No story gave an example; {near(task.folder / LEFT_OUT)} says why.")
    terminal.document(
        {
            "data": str(task.folder),
            "card": asdict(made.card),
            "left_out": list(made.left_out),
            **bill.as_data(),
        }
    )
