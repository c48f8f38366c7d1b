"""`fabula data backtranslate`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.back_translating import (
    UNKNOWN,
    BackTranslating,
    BackTranslationTask,
    StoriesOf,
    Usable,
    back_translate_in,
    dry_run_back_translation,
    write_stories,
)
from fabula.app.corpora.rows import StoryRows
from fabula.app.corpora.stories import Corpus
from fabula.app.corpora.working import CorpusTask, work_through
from fabula.app.evaluating import journal_in
from fabula.app.item_files import read_all
from fabula.app.parts import merge_parts
from fabula.app.workers.spread import Spread
from fabula.cli.asked import changes_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Choices, Output, Performers, SpendingLimits, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.spreading import Spreading, say_part
from fabula.cli.stories import Selecting, say_licences
from fabula.cli.terminal import table
from fabula.models.base import Capabilities
from fabula.models.known import is_small
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.story import Brief
from fabula.systems.agents_room.back_translation import METHOD
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
    """Which data to make, for which model, and from how many stories."""

    system: Annotated[
        str, typer.Option(metavar="NAME", help="agents-room (its variant by --set variant=...), or end-to-end.")
    ] = "agents-room"
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="MODEL|DIR",
            help="The model to train. Small models get simpler prompts.",
            show_default="the default writing model",
            rich_help_panel=MORE,
        ),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief from which all the stories were written.")] = ""
    ask_tasks: Annotated[
        bool,
        typer.Option(
            "--ask-tasks", help="Ask the teacher to write a task for each story that has none.", rich_help_panel=MORE
        ),
    ] = False
    development: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            metavar="SHARE",
            help="Share of stories to reserve for evaluation.",
            rich_help_panel=MORE,
        ),
    ] = 0.2


@bundled
def backtranslate(
    common: Output,
    performers: Performers,
    limits: SpendingLimits,
    wanted: BackTranslationOptions,
    selecting: Selecting,
    spreading: Spreading,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the training data and the record of all calls."),
    ],
    stories: Annotated[
        list[str],
        typer.Argument(metavar="STORY...", help="Story files (.md, .txt, .jsonl, .csv), projects, folders, data sets."),
    ],
) -> None:
    """Make training data for Agents' Room: a teacher model reconstructs each agent's text from finished stories.

    The prompts are the same as those of `fabula write` with the same --system, --preset, --set and --aids.
    """
    terminal = terminal_of(common)
    teacher, learner = _settings(performers, wanted)
    learns = wanted.for_ or Settings().model
    selection, able = selecting.selection(performers.seed), _able(learns, terminal)
    task = BackTranslationTask((), Path(out), learner, able, learns, wanted.development, wanted.ask_tasks)
    if spreading.is_asked:
        _spread(terminal, spreading, _corpus(stories, wanted, selection), task, performers, teacher, limits)
        return
    items, empty = _items(stories, wanted, selection)
    say_licences(terminal, items)
    task = replace(task, items=items, empty=empty)
    asking = Asking(terminal, METHOD, performers, teacher, limits, task.folder)
    made = asking.run(
        counted(len(items), "story", "stories"),
        lambda options: dry_run_back_translation(task, teacher, options),
        lambda options: back_translate_in(task, teacher, options),
    )
    _say(terminal, task.folder, made, asking.bill)


def _spread(
    terminal: Terminal,
    spreading: Spreading,
    corpus: Corpus,
    stated: BackTranslationTask,
    performers: Performers,
    teacher: Settings,
    limits: SpendingLimits,
) -> None:
    """Have workers question a teacher about any number of stories, and make data from the answers."""
    out, stated = stated.folder, replace(stated, folder=spreading.folder(stated.folder))
    say_licences(terminal, corpus)
    usable = Usable(stated, corpus)
    task = CorpusTask(corpus, BackTranslating(stated, usable), teacher, stated.folder, spreading.part)
    sample = replace(stated, items=task.sample())
    asking = Asking(terminal, METHOD, performers, teacher, spreading.limits(limits), stated.folder)
    count = asking.run(
        f"For the first {counted(len(sample.items), 'story', 'stories')}",
        lambda options: dry_run_back_translation(sample, teacher, options),
        lambda options: work_through(task, options, spreading.spread or Spread(1)),
    )
    if spreading.shard:
        say_bill(terminal, asking.bill)
        say_part(terminal, spreading, count, str(out), asking.bill)
        return
    with journal_in(stated.folder) as journal, StoryRows(stated.folder) as rows:
        stories = StoriesOf(rows)
        stated = replace(stated, empty=tuple(corpus.left_out))
        made = write_stories(stated, stories, usable.left_out, teacher.seed, journal.calls.performers())
    _say(terminal, stated.folder, made, asking.bill)


def _corpus(stories: list[str], wanted: BackTranslationOptions, selection: Selection) -> Corpus:
    brief = Brief.read(Path(wanted.brief)) if wanted.brief else None
    return Corpus([Path(one) for one in stories], selection, lambda item: replace(item, brief=brief or item.brief))


@bundled
def merge_data(
    common: Output,
    out: Annotated[str, typer.Argument(metavar="DIR", help="Folder for the training data.", show_default=False)],
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]...", help="Folders of parts; default: the ones next to it (DIR-1-of-8, ...)."),
    ] = None,
) -> None:
    """Merge parts, finished or not, that `backtranslate`, `measure` or `check` made with --shard."""
    terminal = terminal_of(common)
    taken = merge_parts(Path(out), [Path(part) for part in parts or ()])
    for part, one in taken.items():
        terminal.say(f"{part}: {counted(one.calls, 'call')}, {counted(one.stories, 'story', 'stories')} merged")
    terminal.advise("Next: run the command that made the parts again, without --shard.")
    calls, stories = ({part: getattr(one, name) for part, one in taken.items()} for name in ("calls", "stories"))
    terminal.document({"folder": out, "parts": calls, "stories": stories})


def _settings(performers: Performers, wanted: BackTranslationOptions) -> tuple[Settings, Settings]:
    """The settings of the teacher, and those of the system that is trained."""
    given = {field.name: getattr(performers, field.name) for field in fields(performers)}
    trained = {"preset": given["preset"], "aids": given["aids"], "set_": given["set_"], "system": wanted.system}
    learner = Settings().with_(changes_of(Choices(**trained, prompts=given["prompts"]), Settings()))
    teacher = Settings().with_(changes_of(Choices(**(given | {"set_": None})), Settings()))
    return teacher, learner


def _able(spec: str, terminal: Terminal) -> Capabilities:
    """What the model to train can do; it is not started. A folder of weights is small if its name says so."""
    path = Path(spec).expanduser()
    if path.is_dir():
        return Capabilities(continues=True, small=is_small(path.resolve().name))
    name = f"embedded:{spec}" if path.suffix == ".gguf" and path.is_file() else spec
    return open_model(name, ModelTable(), Environment(terminal.environ)).capabilities


def _items(
    stories: list[str], wanted: BackTranslationOptions, selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories, and why some of them have no text."""
    items, empty = read_all([Path(story) for story in stories], selection)
    if wanted.brief:
        brief = Brief.read(Path(wanted.brief))
        items = tuple(replace(item, brief=brief) for item in items)
    return items, empty


def _say(terminal: Terminal, folder: Path, made: BackTranslation, bill: Bill) -> None:
    sides = {name: made.card.counts[name] for name in ("train", "development")}
    agents = list(dict.fromkeys(agent for side in sides.values() for agent in side["agents"]))
    rows = [("agent", *sides)]
    rows += [(agent, *(str(side["agents"].get(agent, 0)) for side in sides.values())) for agent in agents]
    rows.append(("stories", *(str(side["stories"]) for side in sides.values())))
    terminal.say(table(rows, right=(1, 2)))
    for one in made.left_out[:_SHOWN]:
        name = f"{one['group']}. " if one["group"] else ""
        terminal.message(f"Left out: {name}{one['reason']}")
    if len(made.left_out) > _SHOWN:
        terminal.message(f"... and {len(made.left_out) - _SHOWN} more; left-out.jsonl lists them all.")
    if unknown := made.card.counts[UNKNOWN]:
        names = ", ".join(f"{name} {count}" for name, count in list(unknown.items())[:_SHOWN])
        terminal.message(
            "Capitalised words in the notes that occur in neither the story nor the task, with the number of "
            f"examples that contain them: {names}{', ...' if len(unknown) > _SHOWN else ''}. If the teacher invented "
            "people, use another teacher."
        )
    say_bill(terminal, bill)
    if sides["train"]["stories"]:
        terminal.advise(f"Next: `fabula train {near(folder)} --base MODEL --out ROOM`.")
    else:
        terminal.message(f"No story produced an example. {near(folder / LEFT_OUT)} lists the reasons.")
    terminal.document(
        {
            "data": str(folder),
            "card": asdict(made.card),
            "left_out": list(made.left_out),
            **bill.as_data(),
        }
    )
