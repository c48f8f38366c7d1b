"""`fabula text rewrite`: one passage of a text is written anew, and the rest stays, byte for byte."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import typer

from fabula.app.beginning import check
from fabula.app.rewriting import FROM_TO, Passage, characters_of
from fabula.app.writing import dry_run_rewrite_in, rewrite_in, settings_as_last_time
from fabula.base.errors import UsageError
from fabula.cli.asked import performing
from fabula.cli.bill import say_dry_run
from fabula.cli.opening import project_and_artefact, terminal_of
from fabula.cli.options import Artefact, ProjectOptions, SpendingLimits, bundled
from fabula.cli.session import Session, near
from fabula.craft.revising import passage_spans
from fabula.story import plain
from fabula.story.comparing import word_pieces


@bundled
def rewrite(
    common: ProjectOptions,
    limits: SpendingLimits,
    artefact: Artefact,
    *,
    passage: Annotated[
        str, typer.Option(metavar="WORDS", help='First and last words of it: "The lamp ... went out."')
    ] = "",
    lines: Annotated[str, typer.Option(metavar="N-M", help="Lines of the passage in the file.")] = "",
    characters: Annotated[
        str, typer.Option(metavar="N-M", help="First and last character of the passage; for programs.")
    ] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you want changed.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take the new passage without asking.")] = False,
) -> None:
    """Have one passage of a text written anew by who wrote it; the rest stays, byte for byte."""
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    if sum(map(bool, (passage, lines, characters))) != 1:
        raise UsageError("Say which passage: --passage with its first and last words, --lines N-M or --characters N-M.")
    settings = settings_as_last_time(project)
    check(settings, terminal.environ)

    def find(text: str, file: str) -> tuple[int, int]:
        if characters:
            return characters_of(text, characters)
        return _lines_of(text, lines) if lines else _passage(text, passage, file)

    found, wish = Passage.of(project, name, find, looking=limits.dry_run), plain(note).strip()
    session = Session(terminal, project, settings, limits, "rewrite")
    if limits.dry_run:
        dry = dry_run_rewrite_in(project, settings, session.looking, found.path, found.span, wish)
        say_dry_run(terminal, asyncio.run(dry))
        return
    terminal.advise(f"{found.file}: the passage is written anew by {performing(settings)}.")
    done = found.take(project, _accepted(session, found, wish, yes=yes))
    terminal.say(f"{done.file}: {done.words:,} words" if done.changed else f"{done.file} is as it was.")
    if done.changed:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`. `fabula undo` takes the passage back.")
    terminal.document(done)


def _accepted(session: Session, passage: Passage, note: str, *, yes: bool) -> str | None:
    """The text with the new passage, if the person takes it; another draw of it as often as they want one."""
    terminal, take = session.terminal, 0
    path, span = passage.path, passage.span
    place = f"--characters {span[0] + 1}-{span[1]}" + (f" --note {shlex.quote(note)}" if note else "")
    again = f"`fabula text rewrite {near(session.project.folder)} {path} {place}`"
    while True:
        new = session.finish(
            lambda options, take=take: rewrite_in(  # type: ignore[misc] # a default that binds the number
                session.project, session.settings, options, path, span, note, take
            ),
            again,
            None,
        )
        terminal.say(f"{word_diff(passage.words, passage.in_(new))}\n\n{passage.lengths(new)}")
        if yes:
            return new
        if terminal.json or not terminal.interactive:
            terminal.message("Nothing was changed: there is no terminal to confirm at. Say it again with --yes.")
            return None
        said = asyncio.run(terminal.choice("Take it? [y]es, [a]nother, [n]o: ", "yan"))
        if said != "a":
            return new if said == "y" else None
        take += 1


def _passage(text: str, words: str, file: str) -> tuple[int, int]:
    """Where the passage stands that its first and last words name."""
    found = list(passage_spans(text, words))
    if not found:
        raise UsageError(f"{words!r} does not stand in {file}. Copy the first and last words of the passage from it.")
    if len(found) > 1:
        raise UsageError(f"{words!r} names {len(found)} passages in {file}. Give more of its words, or --lines N-M.")
    return found[0]


def _lines_of(text: str, lines: str) -> tuple[int, int]:
    """Where lines of a text stand, without the blank ones and blanks around them."""
    match, all_lines = FROM_TO.fullmatch(lines.strip()), text.splitlines(keepends=True)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= len(all_lines):
        raise UsageError(f"--lines {lines} names no lines; the file has {len(all_lines)}. Write it as --lines 12-18.")
    passage = "".join(all_lines[first - 1 : last])
    if not passage.strip():
        raise UsageError(f"--lines {lines} holds no words. Name the lines of the passage.")
    start = len("".join(all_lines[: first - 1])) + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())


def word_diff(old: str, new: str) -> str:
    """Two texts as one: what goes as [-words-], what comes as {+words+}."""
    frame = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(frame[piece.kind].format(piece.text) for piece in word_pieces(old, new))
