"""`fabula lab digress`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fabula.app.bills import dollars
from fabula.app.digressing import KINDS, DigressionSchedule, Simulation, kinds_of
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.cli import completing
from fabula.cli.digressions import ASKED, Digressing, narratives_of, same_as_before, settings_of
from fabula.cli.evaluation import Evaluating
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Output, Performers, SpendingLimits, bundled
from fabula.cli.progress import counted
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.craft.narratives import parties_of
from fabula.evaluators import find
from fabula.measure.report.page import page
from fabula.project.casting import SERVERS, full_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.terminal import Terminal

_PLAYER = "The simulated player"


@dataclass(frozen=True, slots=True)
class Straying:
    """Who takes part, how the player leaves the story, and how returns are counted."""

    system: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completing.systems,
            metavar="NAME",
            help="System to talk to. Repeatable.",
            show_default="snap, vanilla",
        ),
    ] = None
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="The player's character.")] = ""
    with_: Annotated[list[str] | None, typer.Option("--with", metavar="NAME", help="Who answers. Repeatable.")] = None
    player: Annotated[
        Literal["script", "model"],
        typer.Option(help="What leaves the story: a script or a model.", rich_help_panel=_PLAYER),
    ] = "script"
    kinds: Annotated[
        str, typer.Option(metavar="KIND,KIND", help=f"Kinds of digressions: {', '.join(KINDS)}.", rich_help_panel=MORE)
    ] = ",".join(KINDS)
    sessions: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Conversations on each story.", rich_help_panel=_PLAYER)
    ] = 2
    rounds: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            metavar="N",
            help="Number of rounds. Each round has every kind of digression.",
            rich_help_panel=MORE,
        ),
    ] = 1
    within: Annotated[
        int,
        typer.Option(
            min=1, max=20, metavar="N", help="Number of turns within which a return counts.", rich_help_panel=MORE
        ),
    ] = 3
    judge: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help="Model that decides whether a turn returns to the story; default: shared words decide."
        ),
    ] = ""
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Folder for everything.", show_default="digressions")
    ] = "digressions"


@bundled
def digress(
    common: Output,
    performers: Performers,
    straying: Straying,
    limits: SpendingLimits,
    stories: Annotated[list[str], typer.Argument(metavar="STORY...", help="Story files or projects.")],
) -> None:
    """Have a simulated player leave the story, and measure how soon the characters lead back to it."""
    terminal = terminal_of(common)
    seed = 1 if performers.seed is None else performers.seed
    schedule = DigressionSchedule(kinds_of(straying.kinds), straying.rounds, within=straying.within, seed=seed)
    wanted = _wanted(straying, schedule, stories)
    settings = settings_of(performers, straying.system or ("snap", "vanilla"), terminal.environ)
    folder = Path(straying.out)
    asked = {
        "stories": {one.id: one.narrative for one in wanted},
        "parties": {one.id: one.parties.names for one in wanted},
        "player": straying.player,
        "schedule": asdict(schedule),
        "sessions": straying.sessions,
        "settings": {name: one.model_dump(mode="json", exclude_defaults=True) for name, one in settings.items()},
    }
    same_as_before(folder, asked)
    evaluating = _evaluating(terminal, straying, performers, limits)
    work = Digressing(evaluating, wanted, settings)
    if limits.dry_run:
        _show_estimate(terminal, work, straying)
        return
    make_folder(folder, "Choose another with --out.")
    write_atomically(folder / ASKED, json.dumps(asked, indent=2, ensure_ascii=False) + "\n")
    items = work.run("the same command")
    report = evaluating.run(items)
    file = folder / "linearity.html"
    write_atomically(file, page("Digressions", evaluating.evaluator.sections(report)))
    say_report(terminal, report, items)
    evaluating.show_bill()
    terminal.advise(f"{near(file)} contains every digression and the turns that follow it.")
    terminal.document({"folder": str(folder), **report.as_data(), **evaluating.bill.as_data()})


def _wanted(straying: Straying, schedule: DigressionSchedule, stories: Sequence[str]) -> list[Simulation]:
    player, others = straying.as_.strip(), [name.strip() for name in straying.with_ or () if name.strip()]
    if bool(player) != bool(others):
        raise UsageError("Specify both the player (--as NAME) and the character who answers (--with NAME), or neither.")
    modelled = straying.player == "model"
    return [
        Simulation(name, text, parties_of(text, player, others), schedule, modelled, straying.sessions)
        for name, text in narratives_of(stories).items()
    ]


def _evaluating(terminal: Terminal, straying: Straying, performers: Performers, limits: SpendingLimits) -> Evaluating:
    """The evaluator, with a judge or without roles."""
    evaluator, said = find("linearity"), [f"within={straying.within}"]
    if not straying.judge:
        evaluator, said = evaluator.alone(), [*said, "judge=false"]
    served = bool(straying.judge) and full_name(straying.judge).partition(":")[0] in SERVERS
    judges = Judges(
        preset=performers.preset,
        model=[straying.judge] if straying.judge else None,
        base_url=performers.base_url if served else None,
        set_=said,
        out=straying.out,
    )
    return Evaluating(terminal, evaluator, judges, limits)


def _show_estimate(terminal: Terminal, work: Digressing, straying: Straying) -> None:
    found = work.dry_run()
    rows: list[tuple[str, ...]] = [("system", "story", "calls", "prompt", "reply", "cost")]
    for (story, system), one in found.items():
        prompt, reply = (sum(getattr(call, name) for call in one.planned) for name in ("prompt", "reply"))
        rows.append((system, story, f"{len(one.planned):,}", f"{prompt:,}", f"{reply:,}", dollars(one.cost)))
    terminal.say(table(rows, right=(2, 3, 4, 5)))
    digressions = sum(one.conversations * one.schedule.digressions for one in work.wanted) * len(work.settings)
    if straying.judge:
        config: Any = find("linearity").config("improved")
        most = straying.within * (digressions + 2 * min(config.checks, digressions))
        terminal.say(f"The judge: at most {counted(most, 'call')} with one-word replies.")
    terminal.advise("This is an estimate, because a story may end before all digressions. No model was called.")
    terminal.document(
        {
            "digressions": digressions,
            "runs": [
                {"story": story, "system": system, "calls": len(one.planned), "tokens": one.tokens, "cost": one.cost}
                for (story, system), one in found.items()
            ],
        }
    )
