"""`fabula lab inject`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.injecting import KINDS, METHOD, EditedStory, InjectionTask, dry_run_injection, inject_in
from fabula.app.item_files import MAX_STORY_BYTES
from fabula.base.errors import UnknownNameError, UsageError
from fabula.cli.asked import evaluator_config, performers_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.help import MORE
from fabula.cli.opening import STDIN, read_given, terminal_of
from fabula.cli.options import Output, Performers, SpendingLimits, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.continuity import split
from fabula.project.settings import Settings
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from fabula.app.bills import Bill
    from fabula.app.injecting import Injection
    from fabula.app.injecting.editing import Edited
    from fabula.cli.terminal import Terminal

_WIDE: Final = 48
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class InjectOptions:
    """Which errors to plant, and how."""

    kinds: Annotated[
        str, typer.Option(metavar="KIND,KIND", help=f"Kinds of errors: {', '.join(KINDS)}.", show_default="all")
    ] = ",".join(KINDS)
    n: Annotated[int | None, typer.Option("--n", min=1, max=1000, metavar="N", help="Errors.", show_default="9")] = None
    decoys: Annotated[
        int | None,
        typer.Option(
            min=0, max=1000, metavar="N", help="Pairs that look like errors.", show_default="6", rich_help_panel=MORE
        ),
    ] = None
    distance: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="WORDS",
            help="Minimum number of words between an error and the passage it contradicts.",
            rich_help_panel=MORE,
        ),
    ] = None
    screenplays: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=50,
            metavar="N",
            help="Without a story: number of screenplays with errors to write.",
            rich_help_panel=MORE,
        ),
    ] = None


@bundled
def inject(
    common: Output,
    performers: Performers,
    limits: SpendingLimits,
    wanted: InjectOptions,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the texts, the errors and the record of all calls."
        ),
    ],
    story: Annotated[
        str,
        typer.Argument(
            metavar="[STORY]",
            help="A story: text, Markdown, Fountain, JSON of scenes; - reads stdin.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Have a model plant errors in a story, in its own words, to test checkers.

    With --screenplays and without a story, a model writes screenplays that contain errors (MAGNET, appendix A.3.3).
    """
    terminal = terminal_of(common)
    _check_combination(story, wanted)
    settings = Settings().with_(performers_of(performers, Settings()))
    source = Path(story)
    task = InjectionTask(
        _config(performers, settings, wanted),
        Path(out),
        _source(source, _kinds(wanted.kinds)) if story else None,
        _suffix(source),
    )
    asking = Asking(terminal, METHOD, performers, settings, limits, task.folder)
    made = asking.run(
        "inject",
        lambda options: dry_run_injection(task, settings, options),
        lambda options: inject_in(task, settings, options),
    )
    if made.story is not None:
        _show(terminal, made.story, made)
    _show_screenplays(terminal, made, task)
    say_bill(terminal, asking.bill)
    terminal.document(_document(made, asking.bill))
    if any(not one.script for one in made.screenplays):
        raise typer.Exit(1)


def _check_combination(story: str, wanted: InjectOptions) -> None:
    """Refuse options that cannot be combined."""
    if bool(story) == (wanted.screenplays is not None):
        raise UsageError("Specify either a story or --screenplays N.")
    if not story:
        refuse("screenplays get errors of every kind", wanted, but=("n", "decoys", "distance", "screenplays"))


def _config(performers: Performers, settings: Settings, wanted: InjectOptions) -> Any:  # noqa: ANN401 - as of any method
    """The settings of `inject`, including its own options."""
    said = {"errors": wanted.n, "decoys": wanted.decoys, "distance": wanted.distance, "stories": wanted.screenplays}
    if wanted.n is not None and wanted.screenplays is not None:
        said |= {"least_errors": wanted.n, "most_errors": wanted.n}
    more = [f"{name}={value}" for name, value in said.items() if value is not None]
    config = evaluator_config(replace(performers, set_=[*(performers.set_ or ()), *more]), settings, METHOD)
    config.validate()
    return config


def _kinds(said: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(kind.strip() for kind in said.split(",") if kind.strip()))
    if not chosen:
        raise UsageError(f"--kinds is empty. Choose from {', '.join(KINDS)}.")
    for kind in chosen:
        if kind not in KINDS:
            raise UnknownNameError("kind of error", kind, KINDS)
    return chosen


def _source(path: Path, kinds: tuple[str, ...]) -> EditedStory:
    """The story as plain text; the scenes of a JSON file are joined."""
    text = read_given(str(path / "story.md" if path.is_dir() else path), MAX_STORY_BYTES)
    found = split(text)
    if found.form == "json":
        text = "\n\n".join(scene.text for scene in found.scenes) + "\n"
    title = "story" if str(path) == STDIN else path.resolve().stem
    return EditedStory(slug(title), title, "fountain" if found.form == "fountain" else "prose", text, kinds)


def _suffix(path: Path) -> str:
    return path.suffix if path.suffix in (".md", ".txt", ".fountain") else ".md" if path.is_dir() else ".txt"


def _show(terminal: Terminal, work: Edited, made: Injection) -> None:
    rows = [("id", "kind", "contradicted", "put in")]
    rows += [(one.id, one.kind, one.contradicts[:_WIDE], one.replace[:_WIDE]) for one in work.planted.errors]
    terminal.say(table([tuple(one_line(cell) for cell in row) for row in rows]))
    terminal.say(f"\n{counted(len(work.errors), 'error')}, {counted(len(work.decoys), 'decoy')}.")
    _show_missing(terminal, work)
    story, clean, planted = (near(file) for file in made.files[:3])
    terminal.advise(
        f"{story} contains the errors, and {clean} does not. Next: `fabula check {story} --gold {planted}`."
    )


def _show_screenplays(terminal: Terminal, made: Injection, task: InjectionTask) -> None:
    for one in made.screenplays:
        terminal.say(f"{one.id}: {counted(len(one.script), 'scene')}, {counted(len(one.annotations), 'error')}")
        for sentence in one.wrong:
            terminal.message(f"  {sentence}")
        if one.edited is not None:
            _show_missing(terminal, one.edited)
    if made.screenplays and not task.config.ours.one_by_one:
        terminal.advise("Have a person check each annotation, because some are wrong, as in the paper (A.3.4).")


def _show_missing(terminal: Terminal, work: Edited) -> None:
    if work.missing:
        terminal.message(f"{counted(work.missing, 'error')} that you requested could not be planted.")
    for reason in work.refused[:_SHOWN] if work.missing else ():
        terminal.message(f"  {reason}")


def _document(made: Injection, bill: Bill) -> dict[str, Any]:
    return {
        "files": [str(file) for file in made.files],
        "story": made.story.planted.data() if made.story else None,
        "missing": made.story.missing if made.story else None,
        "screenplays": [
            {"id": one.id, "script": list(one.script), "annotations": list(one.annotations), "wrong": list(one.wrong)}
            for one in made.screenplays
        ],
        **bill.as_data(),
    }
