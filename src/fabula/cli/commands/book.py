"""The output of the commands for the whole book: `fabula text mark`, `note`, `replace`, `split`, `merge` and others."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.base.errors import UsageError
from fabula.cli.bill import say_estimate
from fabula.cli.opening import project_of, project_with_words, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.verbs import command, opened
from fabula.verbs.base import long_verb

if TYPE_CHECKING:
    from fabula.app.contents import BookContents
    from fabula.app.saving import Saved
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project
    from fabula.verbs.read_cards import CardsFound


def say_contents(terminal: Terminal, found: BookContents) -> None:
    """Print the book's volumes, chapters and scenes with their words, targets and states."""
    rows = [("text", "words", "target", "status", "point of view", "synopsis")]
    volume = ""
    for line in found.lines:
        if line.volume != volume:
            volume = line.volume
            rows.append((volume, "", "", "", "", ""))
        title = f"{'  ' * (bool(volume) + line.is_scene)}{line.title}"
        words = f"{line.words:,}" if line.name else "not written"
        target = f"{line.target:,}" if line.target else ""
        rows.append((title, words, target, line.status, line.viewpoint, line.synopsis))
    used = [n for n in range(len(rows[0])) if any(row[n] for row in rows[1:])]
    terminal.say(table([[row[n] for n in used] for row in rows], right=[used.index(n) for n in (1, 2) if n in used]))
    terminal.say(f"\n{found.title or 'The book'}: {sum(line.words for line in found.lines):,} words.")
    if found.problem:
        terminal.message(f"Note: {found.problem}")


@command("mark")
def mark(terminal: Terminal, project: Project, done: BookContents) -> None:
    """Print the contents with the new status."""
    del project
    say_contents(terminal, done)


@command("note")
def note(terminal: Terminal, project: Project, done: Saved) -> None:
    """Print where the notes are."""
    del project
    terminal.say(f"Your notes are in {done.file}. No model sees them." if done.words else f"There is no {done.file}.")


@bundled
def replace(
    common: ProjectOptions,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The words to find.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The words that replace them.")],
    *,
    whole_word: Annotated[bool, typer.Option("--whole-word", help="Find only whole words.")] = False,
    case: Annotated[bool, typer.Option("--case", help="Distinguish capitals.")] = False,
    within: Annotated[str, typer.Option("--in", metavar="ARTEFACT", help="Only in this text.")] = "",
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Also in the plan, characters, codex, style and notes.")
    ] = False,
    skip: Annotated[list[int] | None, typer.Option(metavar="N", help="Leave this place. Repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the places.")] = False,
) -> None:
    """Find words in all texts of the story and replace them."""
    terminal = terminal_of(common)
    project = opened(terminal, project_with_words(common, old))
    done = project.replace(
        old,
        new,
        whole_word=whole_word,
        case=case,
        within=within,
        everywhere=everywhere,
        skip=skip or [],
        dry_run=dry_run,
    )
    within_texts = f"in {counted(done.texts, 'text')}"
    parts = f" {done.inside:,} of {done.count:,} are parts of longer words; to leave them out, add --whole-word."
    parts = parts if done.inside else ""
    if not done.count:
        terminal.say(f"“{old}” was not found. Nothing has changed.")
    elif dry_run:
        more = f" The first {len(done.places)} are shown." if done.count > len(done.places) else ""
        terminal.say(f"{counted(done.count, 'place')} {within_texts}.{parts}{more}")
        for place in done.places:
            terminal.say(f"{place.number}. {place.title}, line {place.line}:")
            terminal.say(terminal.wrapped(f"   {place.before}[{place.found} → {place.wording}]{place.after}"))
    else:
        unchanged = "" if done.replaced else " Nothing has changed."
        terminal.say(f"Replaced {done.replaced:,} of {counted(done.count, 'place')} {within_texts}.{unchanged}{parts}")
        if done.replaced:
            terminal.advise(f"`fabula undo {near(project.folder)}` takes all of it back.")
    terminal.document(done)


def _say_arranged(terminal: Terminal, project: Project, done: BookContents) -> None:
    say_contents(terminal, done)
    if done.changed:
        terminal.advise(f"`fabula undo {near(project.folder)}` takes it back.")
    else:
        terminal.say("Nothing has changed: the text is already there.")


split, merge, move = (command(name)(_say_arranged) for name in ("split", "merge", "move"))


@bundled
def snapshot(
    common: ProjectOptions,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A name for the present state.")] = "",
    *,
    compare: Annotated[
        int | None, typer.Option(metavar="N", help="List the texts that differ from snapshot N.")
    ] = None,
    restore: Annotated[int | None, typer.Option(metavar="N", help="Restore the texts of snapshot N.")] = None,
    within: Annotated[str, typer.Option("--in", metavar="ARTEFACT", help="With --restore: only this text.")] = "",
) -> None:
    """Name the present state of all texts, or list, compare and restore such states."""
    if sum((bool(name), compare is not None, restore is not None)) > 1 or (within and restore is None):
        raise UsageError("Use only one of NAME, --compare N and --restore N; --in belongs to --restore.")
    terminal = terminal_of(common)
    project = opened(terminal, project_with_words(common, name))
    if compare is None and restore is None:
        listed = project.snapshot(name) if name else project.snapshots()
        rows = [(str(one.number), one.name, one.at) for one in listed.snapshots]
        head = ("snapshot", "name", "at")
        terminal.say(table([head, *rows], right=(0,)) if rows else "There is no snapshot yet.")
        terminal.document(listed)
        return
    found = project.since_snapshot(compare or 0) if restore is None else project.restore_snapshot(restore, within)
    texts = [(one.title, one.change, f"{one.before:,}", f"{one.now:,}") for one in found.changes]
    columns = ("text", "since then", "words then", "words now")
    terminal.say(table([columns, *texts], right=(2, 3)) if texts else f"No text differs from “{found.snapshot.name}”.")
    if found.restored:
        terminal.say("\nThese texts are restored.")
        terminal.advise(f"`fabula undo {near(project.folder)}` takes all of it back.")
    terminal.document(found)


@bundled
def outline(
    common: ProjectOptions,
    where: Where = "",
    *,
    only: Annotated[list[str] | None, typer.Option(metavar="ARTEFACT", help="Read only this text. Repeatable.")] = None,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="ARTEFACT", help="Put its card into the plan. Repeatable.")
    ] = None,
    accept_all: Annotated[bool, typer.Option("--accept-all", help="Put all cards into the plan.")] = False,
    model: Annotated[str, typer.Option(help="Model that reads; default: the project's.")] = "",
    budget_tokens: Annotated[int | None, typer.Option(min=0, help="Maximum prompt and reply tokens.")] = None,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="Maximum US dollars.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate the calls and their cost.")] = False,
) -> None:
    """Fill the cards of the plan by having the texts read."""
    terminal = terminal_of(common)
    project, verb = opened(terminal, project_of(common, where)), long_verb("read_cards")
    given = {"only": only or [], "accepted": accept or [], "accept_all": accept_all, "model": model}
    arguments = verb.bound((), given | {"budget_tokens": budget_tokens, "budget_usd": budget_usd})
    if dry_run:
        say_estimate(terminal, project.estimated(verb, arguments))
        return
    done: CardsFound = project.do(verb, arguments)
    titles = project.titles()
    refused = [card for card in done.cards if card.refused and not (card.accepted or only)]
    for card in (card for card in done.cards if card not in refused):
        terminal.say(
            f"{titles(card.name)} ({card.name}){': accepted' if card.accepted else ''}\n"
            f"{terminal.wrapped(indent(card.text, '  '))}\n"
        )
    if not done.cards:
        terminal.say("Every card is filled. To read a text again, use `--only ARTEFACT`.")
    elif refused:
        terminal.say(f"Refused before, so not proposed again: {', '.join(card.name for card in refused)}.")
    if any(not (card.accepted or card in refused) for card in done.cards):
        terminal.advise(
            "Nothing is saved yet. `--accept ARTEFACT` or `--accept-all` puts cards into the plan for free."
        )
    terminal.document(done)
