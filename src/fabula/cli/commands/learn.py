"""`fabula learn`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.learned import activate
from fabula.app.learning import LearningProposal, Needs, needs_of, proposed, trainer_for
from fabula.app.learning import learn as learn_from
from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.cli.opening import named_or_here, terminal_of
from fabula.cli.options import ProjectOptions, bundled, refuse
from fabula.cli.progress import counted, duration
from fabula.cli.session import near
from fabula.cli.training import TrainingProgress, given_values, interruptible
from fabula.project.folder import ProjectFolder
from fabula.project.learned import Learned, LearnedFolder, place_of, places, the_author

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


_LARGEST: Final = 1_000_000
_MEGABYTE: Final = 1_000_000
_REASONS: Final = 5  # of what was left out


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How fabula learns."""

    author: Annotated[
        str, typer.Option(metavar="NAME", help="The author to learn from; default: the one in fabula.toml.")
    ] = ""
    base: Annotated[str, typer.Option(metavar="MODEL", help="Model to tune; default: the model of the projects.")] = ""
    quick: Annotated[
        bool | None,
        typer.Option(
            "--quick/--thorough",
            help="Train once and report on a fifth of the pairs, or train six times and report on all pairs.",
            show_default="thorough, below 200 pairs",
        ),
    ] = None
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="A training setting. Repeatable.")
    ] = None
    use_anyway: Annotated[
        bool, typer.Option("--use-anyway", help="Use what was learned even if it is not shown to be better.")
    ] = False


@dataclass(frozen=True, slots=True)
class Instead:
    """Alternatives to learning."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the pairs, time and memory without training.")] = (
        False
    )
    no_use: Annotated[
        bool, typer.Option("--no-use", help="Stop using what was learned in new projects, but keep it.")
    ] = False
    status: Annotated[bool, typer.Option("--status", help="Show what was learned, and whether it is used.")] = False
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove everything that was learned: the adapters, pairs and report.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget without asking.")] = False


@bundled
def learn(
    common: ProjectOptions,
    learning: LearnOptions,
    instead: Instead,
    projects: Annotated[
        list[str] | None, typer.Argument(metavar="[PROJECT]...", help="Your projects.", show_default="this folder")
    ] = None,
) -> None:
    """Learn your preferences from your edits, retakes and choices; all data stays on this machine."""
    terminal = terminal_of(common)
    if sum((instead.dry_run, instead.no_use, instead.status, instead.forget)) > 1:
        raise UsageError("--dry-run, --no-use, --status and --forget cannot be combined. Use only one of them.")
    if instead.no_use or instead.status or instead.forget:
        refuse("nothing is learned", learning, but=("author",))
        if projects or common.folder:
            raise UsageError(
                "--no-use, --status and --forget apply to an author, not a project. Specify one with --author."
            )
    if instead.yes and not instead.forget:
        raise UsageError("--yes requires --forget, the only option that asks for confirmation.")
    if instead.status:
        _status(terminal, learning.author)
        return
    if instead.forget:
        _forget(terminal, learning.author, yes=instead.yes)
        return
    if instead.no_use:
        _use(terminal, _learned(learning.author, terminal), on=False)
        return
    named = projects or common.folder or instead.dry_run
    if learning.use_anyway and not named and (known := _learned(learning.author, terminal)):
        _use(terminal, known, on=True)
        return
    folders = [Path(folder) for folder in dict.fromkeys(named_or_here(common, projects))]
    opened = [ProjectFolder.open(folder) for folder in folders]
    author = learning.author or the_author(project.settings.author.name for project in opened)
    place = place_of(author, terminal.environ)
    said = given_values(learning.set_ or ())
    proposal = proposed(opened, author, place, terminal.environ, base=learning.base, quick=learning.quick, said=said)
    if instead.dry_run:
        _dry_run(terminal, proposal)
        return
    _learn(terminal, proposal, place, anyway=learning.use_anyway)


def _learn(terminal: Terminal, proposal: LearningProposal, place: LearnedFolder, *, anyway: bool) -> None:
    proposal.check()
    terminal.advise("\n".join(_sources(proposal)))
    progress = TrainingProgress(terminal)
    trainer = trainer_for(proposal, terminal.environ, progress.listener)
    with interruptible(progress):
        learned = learn_from(proposal, place, trainer, time.strftime("%Y-%m-%d"), terminal.advise, anyway=anyway)
    terminal.say(read_text(place.report, _LARGEST).rstrip())
    terminal.say("\n" + _used(learned))
    terminal.advise(
        f"{near(place.page)} contains the report, with pictures. To remove everything, run `fabula learn --forget`."
    )
    terminal.document(_data(place, learned))


def _used(learned: Learned) -> str:
    """Whether what was learned is used, and how to change that."""
    author = f" --author {quote(learned.author)}" if learned.author else ""
    if learned.off:
        return f"It is kept but not used. To use it in new projects again, run `fabula learn{author} --use-anyway`."
    if learned.better:
        return "New projects use it if their model is the tuned one. To turn it off, use `--no-learned`."
    if learned.anyway:
        return "New projects use it because of --use-anyway. To turn it off, use `--no-learned`."
    return f"It is not used. To use it in new projects anyway, run `fabula learn{author} --use-anyway`."


def _learned(author: str, terminal: Terminal) -> list[LearnedFolder]:
    """The folders in which something was learned."""
    return [place for place in _chosen(author, terminal) if (learned := place.read()) and place.has(learned)]


def _use(terminal: Terminal, known: Sequence[LearnedFolder], *, on: bool) -> None:
    """Start or stop using what was learned.

    Raises:
        UsageError: nothing was learned, or it is unclear from whom.
    """
    if not known:
        raise UsageError("Nothing has been learned yet, so there is nothing to turn off.")
    if len(known) > 1:
        names = ", ".join(place.folder.name for place in known)
        raise UsageError(f"fabula has learned from several authors: {names}. Choose one with --author NAME.")
    learned = activate(known[0], on=on)
    terminal.say(_used(learned))
    terminal.document(_data(known[0], learned))


# before ---------------------------------------------------------------------------------------------------------------


def _dry_run(terminal: Terminal, proposal: LearningProposal) -> None:
    terminal.say("\n".join(_sources(proposal)))
    proposal.check()
    needs = needs_of(proposal, terminal.environ, TrainingProgress(terminal).listener)
    terminal.say("\n".join(_takes(proposal, needs)))
    terminal.say(proposal.could_show)
    terminal.document(
        {
            "author": proposal.author,
            "base": proposal.base,
            "pairs": len(proposal.pairs),
            "kinds": dict(_kinds(proposal)),
            "roles": list(proposal.agents),
            "left_out": [dict(one) for one in proposal.left_out],
            "places": len(set(proposal.units)),
            "held_out": proposal.held_out,
            "parts": [len(part) for part in proposal.parts],
            "trainings": proposal.trainings,
            "steps": needs.steps,
            "seconds": needs.seconds,
            "memory": needs.memory,
            "least_mended": proposal.least,
            "settings": dict(proposal.settings),
        }
    )


def _kinds(proposal: LearningProposal) -> Sequence[tuple[str, int]]:
    return Counter(pair.kind for pair in proposal.pairs).most_common()


def _sources(proposal: LearningProposal) -> list[str]:
    """Lines on what is learned from, and what is left out."""
    kinds = ", ".join(f"{count} by {kind}" for kind, count in _kinds(proposal))
    scenes, projects = len(set(proposal.units)), len({pair.source.get("project") for pair in proposal.pairs})
    of = f" ({kinds}), from {counted(scenes, 'place')} in {counted(projects, 'project')}" if proposal.pairs else ""
    lines = [f"{counted(len(proposal.pairs), 'pair')} of texts{of}; roles: {', '.join(proposal.agents) or 'none'}."]
    if proposal.left_out:
        reasons = Counter(str(one.get("reason", "")) for one in proposal.left_out).most_common(_REASONS)
        lines.append(
            f"Left out: {len(proposal.left_out)} ("
            + "; ".join(f"{count}: {reason}" for reason, count in reasons)
            + ")."
        )
    return lines


def _takes(proposal: LearningProposal, needs: Needs) -> list[str]:
    """Lines on the time and memory that learning needs."""
    each = f"of at most {counted(needs.steps, 'step')}" + (" each" if proposal.trainings > 1 else "")
    lines = [f"{counted(proposal.trainings, 'training')} {each}, of {proposal.base}."]
    if needs.seconds is not None:
        lines[0] = f"{lines[0][:-1]}: about {duration(needs.seconds * proposal.trainings)} on this machine."
    if needs.memory is not None:
        lines.append(f"Memory: about {needs.memory / 1e9:.1f} GB.")
    return lines


# afterwards -----------------------------------------------------------------------------------------------------------


def _chosen(author: str, terminal: Terminal) -> list[LearnedFolder]:
    """The folders of one author, or of all."""
    known = places(terminal.environ)
    if not author:
        return known
    wanted = place_of(author, terminal.environ)
    return [place for place in known if place == wanted]


def _status(terminal: Terminal, author: str) -> None:
    found = _chosen(author, terminal)
    for place in found:
        learned = place.read()
        terminal.say(_stands(place, learned))
        if learned is not None and place.report.is_file():
            terminal.say(f"\n{read_text(place.report, _LARGEST)}")
    if not found:
        terminal.say("Nothing has been learned yet. `fabula learn PROJECT...` learns from your choices and changes.")
    terminal.document({"learned": [_data(place, place.read()) for place in found]})


def _stands(place: LearnedFolder, learned: Learned | None) -> str:
    """One line: what was learned, from how many pairs, and whether it is used."""
    who = (learned.author if learned else "") or place.folder.name
    going = "; learning again, `fabula learn` continues" if place.next.exists() else ""
    if learned is None:
        return f"{who}: nothing has been learned yet{going} ({near(place.folder)})"
    used = "in use" if learned.in_use else "not in use"
    used = used if place.has(learned) else "its adapter is missing, so learn again"
    return (
        f"{who}: {counted(learned.pairs, 'pair')}, {learned.made}, for {learned.base}; {used}{going} "
        f"({near(place.folder)}, {max(place.size / _MEGABYTE, 0.1):.1f} MB)"
    )


def _data(place: LearnedFolder, learned: Learned | None) -> dict[str, Any]:
    found = {"folder": str(place.folder), "unfinished": place.next.exists()}
    if learned is None:
        return found
    return found | {
        "author": learned.author,
        "made": learned.made,
        "pairs": learned.pairs,
        "roles": list(learned.agents),
        "base": learned.base,
        "base_digest": learned.base_digest,
        "adapter": str(place.adapter(learned.adapter)),
        "in_use": learned.in_use and place.has(learned),
        "report": str(place.page),
        **learned.found,
    }


def _forget(terminal: Terminal, author: str, *, yes: bool) -> None:
    found = _chosen(author, terminal)
    if not found:
        terminal.say("Nothing has been learned, so there is nothing to forget.")
        terminal.document({"forgotten": []})
        return
    lines = [f"{place.folder}: {_contents(place)}" for place in found]
    if not yes:
        _agreed(terminal, lines)
    for place in found:
        place.forget()
    terminal.say("Removed:\n" + "\n".join(f"  {line}" for line in lines))
    terminal.advise(
        "Projects that were written with it keep their texts and records. Their next calls need another model, and "
        "`fabula write` will explain this."
    )
    terminal.document({"forgotten": [str(place.folder) for place in found]})


def _contents(place: LearnedFolder) -> str:
    """The contents of a folder, in words."""
    adapters = place.folder / "adapters"
    many = sum(folder.is_dir() for folder in adapters.iterdir()) if adapters.is_dir() else 0
    parts = [
        counted(many, "adapter"),
        "the pairs" if place.data.exists() else "",
        "what was being learned" if place.next.exists() else "",
    ]
    return f"{', '.join(part for part in parts if part)}, the report ({max(place.size / _MEGABYTE, 0.1):.1f} MB)"


def _agreed(terminal: Terminal, lines: Sequence[str]) -> None:
    """Ask whether to remove all of this.

    Raises:
        UsageError: the person declines, or there is no terminal to ask at.
    """
    terminal.message("To be removed permanently:\n" + "\n".join(f"  {line}" for line in lines))
    if terminal.json or not terminal.interactive:
        raise UsageError("fabula cannot ask for confirmation without a terminal. To remove it, use --yes.")
    if asyncio.run(terminal.choice("Remove it? [y]es or [n]o: ", "yn")) != "y":
        raise UsageError("Nothing was removed.")
