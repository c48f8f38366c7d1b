"""`fabula data backtranslate`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.back_translating import METHOD, Task, back_translate_in, dry_run_back_translation
from fabula.app.bills import Bill, Estimate, amount
from fabula.app.item_files import read_all
from fabula.app.writing import Options, check_prices
from fabula.base.errors import ConfigError
from fabula.cli.asked import changes_of, say_default
from fabula.cli.bill import calls_table, say_bill
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Caps, Choices, Output, Performers, bundled
from fabula.cli.people import People
from fabula.cli.progress import Progress, counted
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.cli.stories import Selecting, say_licences
from fabula.cli.terminal import table
from fabula.models.base import Capabilities
from fabula.models.known import is_small
from fabula.project.casting import Environment, open_cast, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.story import Brief
from fabula.training.examples import LEFT_OUT

if TYPE_CHECKING:
    from fabula.app.back_translating import Made
    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.measure.items import Item
    from fabula.models.base import Request

_SHOWN: Final = 5  # reasons for which stories are left out


@dataclass(frozen=True, slots=True)
class Wanted:
    """What data is made, for whom, and from how many stories."""

    system: Annotated[
        str, typer.Option(metavar="NAME", help="agents-room (its variant by --set variant=...), or end-to-end.")
    ] = "agents-room"
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="MODEL|DIR",
            help="Who will be trained: small models are asked in other words.",
            show_default="the model that writes where none is named",
            rich_help_panel=MORE,
        ),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief that all the stories answer.")] = ""
    ask_tasks: Annotated[
        bool,
        typer.Option("--ask-tasks", help="Ask for the task of stories that come without one.", rich_help_panel=MORE),
    ] = False
    development: Annotated[
        float,
        typer.Option(
            min=0, max=0.9, metavar="SHARE", help="Stories kept aside to choose a checkpoint by.", rich_help_panel=MORE
        ),
    ] = 0.2
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; ask nobody.")
    ] = False


@bundled
def backtranslate(
    common: Output,
    performers: Performers,
    caps: Caps,
    wanted: Wanted,
    selecting: Selecting,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the training data and all calls.")],
    stories: Annotated[
        list[str],
        typer.Argument(metavar="STORY...", help="Story files (.md, .txt, .jsonl, .csv), projects, folders, data sets."),
    ],
) -> None:
    """Make training data for Agents' Room from finished stories: a teacher says what each agent would have written.

    The prompts in the data are those that `fabula write` sends with the same --system, --preset, --set and --aids.
    """
    terminal = terminal_of(common)
    teacher, learner = _settings(performers, wanted)
    learns = wanted.for_ or Settings().model
    _check(teacher, terminal)
    items, empty = _items(stories, wanted, selecting.selection(performers.seed))
    say_licences(terminal, items)
    task = Task(
        items=items,
        folder=Path(out),
        settings=learner,
        able=_able(learns, terminal),
        learner=learns,
        development=wanted.development,
        ask_tasks=wanted.ask_tasks,
        empty=empty,
    )
    expected = asyncio.run(dry_run_back_translation(task, teacher, _options(terminal, task, caps)))
    if wanted.dry_run:
        _say_plan(terminal, expected)
        return
    check_prices(expected, teacher, caps.budget_usd)
    kept = f", {counted(expected.replayed, 'call')} in the journal" if expected.replayed else ""
    say_default(terminal, performers)
    terminal.advise(f"{counted(len(items), 'story', 'stories')}, {teacher.model}: {amount(expected)}{kept}")
    bill = Bill()
    progress = Progress(terminal, time.monotonic, expected.planned)
    terminal.aside = progress.aside
    work = back_translate_in(task, teacher, _options(terminal, task, caps, progress, bill))
    made = asyncio.run(stoppable(work, "the same command"))
    _say(terminal, task, made, bill)


def _settings(performers: Performers, wanted: Wanted) -> tuple[Settings, Settings]:
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


def _check(teacher: Settings, terminal: Terminal) -> None:
    if teacher.prompts and not Path(teacher.prompts).is_dir():
        raise ConfigError(f"--prompts {teacher.prompts} is not a folder. Give a folder of .jinja files.")
    open_cast(teacher, METHOD.roles, Environment(terminal.environ, person=_nobody))


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at


def _items(stories: list[str], wanted: Wanted, selection: Selection) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories, and why some have no text."""
    items, empty = read_all([Path(story) for story in stories], selection)
    if wanted.brief:
        brief = Brief.read(Path(wanted.brief))
        items = tuple(replace(item, brief=brief) for item in items)
    return items, empty


def _options(terminal: Terminal, task: Task, caps: Caps, *listeners: Any) -> Options:  # noqa: ANN401 - listeners
    return Options(
        whole=caps.budget,
        listeners=listeners,
        person=People(terminal, task.folder).answer,
        environ=terminal.environ,
    )


def _say_plan(terminal: Terminal, expected: DryRun) -> None:
    terminal.say(calls_table(expected) if expected.planned else "Nothing to ask.")
    if expected.replayed:
        terminal.say(f"In the journal, at no cost: {counted(expected.replayed, 'call')}.")
    terminal.document(asdict(Estimate.of(expected)))


def _say(terminal: Terminal, task: Task, made: Made, bill: Bill) -> None:
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
    say_bill(terminal, bill)
    if sides["train"]:
        terminal.advise(f"Next: `fabula train sft {near(task.folder)} --base MODEL --out ROOM`.")
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
