"""`fabula world`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from fabula.app.facts_shown import modality_shown, value_shown, witnesses_shown
from fabula.app.world import WORLD_FILE, moment_of, person_of, world_of
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli.opening import place_named, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import Terminal, table
from fabula.cli.typed import NAMED
from fabula.project.folder import ProjectFolder
from fabula.story import one_line
from fabula.story.world import Entity, Fact, FactConflict, WorldState
from fabula.story.world.file import read_world, write_world
from fabula.story.world.graph import graph_of, graphml, mermaid
from fabula.verbs.base import as_data
from fabula.verbs.world import WorldView

_MOST_ROWS, _MOST_CONFLICTS, _WIDE = 200, 10, 48


@dataclass(frozen=True, slots=True)
class Views:
    """Which part of the world to show."""

    at: Annotated[
        str,
        typer.Option("--at", metavar="SCENE", help="Show the world at the end of this scene (a number or a title)."),
    ] = ""
    who: Annotated[str, typer.Option("--who", metavar="NAME", help="Show what this character knows and believes.")] = ""
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="A B", help="Show what changed between the ends of scenes A and B."),
    ] = None


@dataclass(frozen=True, slots=True)
class Transfer:
    """How to export and import facts."""

    export: Annotated[
        Literal["graphml", "json", "mermaid"] | None,
        typer.Option("--export", help="Print the facts in another format."),
    ] = None
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="With --export: file to write.")] = ""
    import_: Annotated[
        str,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Import facts from a YAML or JSON file. Run it again after you edit the file.",
        ),
    ] = ""


@bundled
def world(common: ProjectOptions, views: Views, transfer: Transfer, where: Where = "") -> None:
    """Show the facts of a story's world, who knows them, how they change, and which conflict."""
    terminal = terminal_of(common)
    _check_combination(views, transfer)
    place = Path(place_named(common, where) or ".")
    NAMED.set(str(place))
    if transfer.import_:
        _import(terminal, place, Path(transfer.import_))
        return
    with _opened(place) as state:
        if transfer.export:
            _export(terminal, state, views, transfer)
        elif views.diff:
            _show_diff(terminal, state, views.diff)
        elif views.who:
            _show_known(terminal, state, views)
        else:
            _show(terminal, state, views)


def _check_combination(views: Views, transfer: Transfer) -> None:
    """Refuse options that cannot be combined."""
    if views.diff and (views.at or views.who):
        raise UsageError("--diff compares two scenes and cannot be combined with --at or --who.")
    if transfer.out and not transfer.export:
        raise UsageError("--out requires --export. Specify a format with --export.")
    if transfer.import_ and (transfer.export or views.at or views.who or views.diff):
        raise UsageError("--import does not show facts. To see them, run a second command.")


@contextmanager
def _opened(place: Path) -> Iterator[WorldState]:
    """The world of a project, or of a file that was exported or written by hand."""
    with ExitStack() as stack:
        if place.is_file():
            if place.suffix.lower() not in (".json", ".yaml", ".yml"):
                raise UsageError(
                    f"{place} is not a world. Specify a project folder, or a .json or .yaml file of facts."
                )
            state = stack.enter_context(WorldState())
            read_world(place).add_to(state)
        else:
            state = stack.enter_context(world_of(ProjectFolder.open(place)))
        yield state


def _import(terminal: Terminal, place: Path, file: Path) -> None:
    """Import the facts of a file into a project's world, and withdraw those that the file no longer holds."""
    project, found = ProjectFolder.open(place), read_world(file)
    with project.lock(), WorldState(project.folder / WORLD_FILE) as state:
        found.add_names_to(state)
        added, gone, kept = state.replace_origin(one_line(file.name), found.facts)
        conflicts = state.conflicts()
    terminal.say(
        f"{near(file)}: {counted(added, 'fact')} added, {gone} withdrawn, {kept} unchanged; "
        f"{counted(len(conflicts), 'conflict')} in the world."
    )
    terminal.advise(
        f"To see the world, run `fabula world {near(project.folder)}`. You can edit the file and import "
        "it again at any time."
    )
    terminal.document({"file": str(file), "added": added, "withdrawn": gone, "kept": kept, "conflicts": len(conflicts)})


def _export(terminal: Terminal, state: WorldState, views: Views, transfer: Transfer) -> None:
    at, entities = moment_of(state, views.at), tuple[Entity, ...]()
    if views.diff:
        found = state.diff(*(moment_of(state, scene) for scene in views.diff))
        facts: Sequence[Fact] = [*found.opened, *(new for _, new in found.changed)]
    elif views.who:
        facts = [known.fact for known in state.known_to(person_of(state, views.who), at)]
    elif transfer.export == "json":
        facts = [fact for fact in state.facts() if fact.told <= at]
    else:
        facts = state.snapshot(at)
        entities = tuple(one for one in state.entities() if one.kind and one.scene <= at.scene)
    if transfer.export == "json":
        text = write_world(state, facts)
    else:
        text = (graphml if transfer.export == "graphml" else mermaid)(graph_of(state, facts, entities))
    if transfer.out:
        write_atomically(Path(transfer.out), text)
        terminal.message(f"{counted(len(facts), 'fact')} written to {near(Path(transfer.out))}.")
    elif not terminal.json:
        terminal.say(text.rstrip("\n"))
    terminal.document(
        {
            "format": transfer.export,
            "facts": len(facts),
            "file": transfer.out or None,
            "text": None if transfer.out else text,
        }
    )


def _show(terminal: Terminal, state: WorldState, views: Views) -> None:
    found = WorldView.of_state(state, views.at)
    facts, conflicts = found.facts, found.conflicts
    head = ("about", "what", "value", "scene", "known to")
    terminal.say(_rows(head, [(*_words(fact), _short(witnesses_shown(fact))) for fact in facts]) or "No known facts.")
    terminal.say(
        f"\n{counted(len(facts), 'fact')} hold{'s' * (len(facts) == 1)}{f' at scene {views.at}' * bool(views.at)}."
    )
    if conflicts:
        terminal.say(f"\n{counted(len(conflicts), 'conflict')}:")
        terminal.say("\n".join(f"  {_conflict(one)}" for one in conflicts[:_MOST_CONFLICTS]))
        if len(conflicts) > _MOST_CONFLICTS:
            terminal.say(f"  and {len(conflicts) - _MOST_CONFLICTS} more; --json lists all")
    terminal.advise(
        "For details, use `--at SCENE`, `--who NAME` or `--diff A B`. For a diagram, use `--export mermaid`."
    )
    terminal.document(found)


def _show_known(terminal: Terminal, state: WorldState, views: Views) -> None:
    found = WorldView.of_state(state, views.at, views.who)
    who, known = found.of, found.known
    head = ("about", "what", "value", "told in", "learned in", "")
    rows = [(*_words(one.fact), str(one.since.scene), "outdated" if one.outdated else "") for one in known]
    terminal.say(_rows(head, rows) or f"{who} knows nothing yet.")
    outdated = sum(one.outdated for one in known)
    terminal.say(
        f"\n{who} believes {counted(len(known), 'fact')}, of which {outdated} changed without their knowledge."
    )
    terminal.document(found)


def _show_diff(terminal: Terminal, state: WorldState, scenes: tuple[str, str]) -> None:
    found = state.diff(*(moment_of(state, scene) for scene in scenes))
    rows = [("+", *_words(fact), "") for fact in found.opened]
    rows += [("-", *_words(fact), _reason(fact)) for fact in found.closed]
    rows += [("~", *_words(new), f"was {_value(old)} ({_reason(old)})") for old, new in found.changed]
    rows.sort(key=lambda row: (row[1], row[2]))
    terminal.say(_rows(("", "about", "what", "value", "scene", ""), rows) or "Nothing changed.")
    terminal.say(
        f"\nFrom scene {scenes[0]} to {scenes[1]}: {len(found.opened)} new, {len(found.changed)} changed, "
        f"{len(found.closed)} ended."
    )
    terminal.document({"from": scenes[0], "to": scenes[1], **as_data(found)})


def _rows(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """The rows as a table, shortened if there are many; empty if there are none."""
    if not rows:
        return ""
    more = f"\n... and {len(rows) - _MOST_ROWS:,} more; --json lists all" if len(rows) > _MOST_ROWS else ""
    return table([head, *rows[:_MOST_ROWS]]) + more


def _words(fact: Fact) -> tuple[str, str, str, str]:
    said = modality_shown(fact)
    return _short(fact.subject), _short(fact.slot), _value(fact) + f" ({said})" * bool(said), str(fact.told.scene)


def _value(fact: Fact) -> str:
    return _short(value_shown(fact))


def _reason(fact: Fact) -> str:
    return "" if fact.closed is None else fact.closed.reason


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _WIDE else line[: _WIDE - 1] + "…"


def _conflict(one: FactConflict) -> str:
    kind = "was set down" if one.canon else "was established"
    return (
        f"{one.later.subject}, {one.later.slot}: in scene {one.earlier.told.scene} {_value(one.earlier)!r} {kind}, "
        f"in scene {one.later.told.scene} it is {_value(one.later)!r}"
    )
