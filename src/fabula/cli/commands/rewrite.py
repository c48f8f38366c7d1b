"""`fabula text rewrite`: rewrite one passage of a text and leave every other byte unchanged."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import typer

from fabula.app.beginning import check
from fabula.app.rewriting import FROM_TO, Passage, characters_of, passage_of
from fabula.app.writing import at_cursor_in, dry_run_at_cursor_in, rewritten, settings_as_last_time
from fabula.base.errors import UsageError
from fabula.cli.asked import performing
from fabula.cli.bill import say_dry_run
from fabula.cli.opening import project_and_artefact, terminal_of
from fabula.cli.options import Artefact, ProjectOptions, SpendingLimits, bundled
from fabula.cli.session import Session, near
from fabula.story import plain
from fabula.story.comparing import word_pieces


@bundled
def rewrite(
    common: ProjectOptions,
    limits: SpendingLimits,
    artefact: Artefact,
    *,
    passage: Annotated[
        str, typer.Option(metavar="WORDS", help='Its first and last words: "The lamp ... went out."')
    ] = "",
    lines: Annotated[str, typer.Option(metavar="N-M", help="Line numbers of the passage in the file.")] = "",
    characters: Annotated[
        str, typer.Option(metavar="N-M", help="Positions of the first and last character of the passage, for programs.")
    ] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you want changed.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept the new passage without asking.")] = False,
) -> None:
    """Have the model rewrite one passage of a text; every other byte stays unchanged."""
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    if sum(map(bool, (passage, lines, characters))) != 1:
        raise UsageError(
            "Specify the passage with --passage (its first and last words), --lines N-M or --characters N-M."
        )
    settings = settings_as_last_time(project)
    check(settings, terminal.environ)

    def find(text: str, file: str) -> tuple[int, int]:
        if characters:
            return characters_of(text, characters)
        return _lines_of(text, lines) if lines else passage_of(text, passage, file)

    found, wish = Passage.of(project, name, find, looking=limits.dry_run), plain(note).strip()
    session = Session(terminal, project, settings, limits, "rewrite")
    if limits.dry_run:
        dry = dry_run_at_cursor_in(project, settings, session.looking, found, rewritten(wish))
        say_dry_run(terminal, asyncio.run(dry))
        return
    terminal.advise(f"{found.file}: {performing(settings)} rewrites the passage.")
    done = found.take(project, _accepted(session, found, wish, yes=yes))
    terminal.say(f"{done.file}: {done.words:,} words" if done.changed else f"{done.file} is unchanged.")
    if done.changed:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`. To restore the old passage, run `fabula undo`.")
    terminal.document(done)


def _accepted(session: Session, passage: Passage, note: str, *, yes: bool) -> str | None:
    """The text with the new passage, if the person accepts it; they can ask for another one as often as they like."""
    terminal, take = session.terminal, 0
    path, span = passage.path, passage.span
    place = f"--characters {span[0] + 1}-{span[1]}" + (f" --note {shlex.quote(note)}" if note else "")
    again = f"`fabula text rewrite {near(session.project.folder)} {path} {place}`"
    while True:
        new = session.finish(
            lambda options, take=take: at_cursor_in(  # type: ignore[misc] # a default that binds the number
                session.project, session.settings, options, passage, rewritten(note), take
            ),
            again,
            None,
        )
        terminal.say(f"{word_diff(passage.words, passage.in_(new))}\n\n{passage.lengths(new)}")
        if yes:
            return new
        if terminal.json or not terminal.interactive:
            terminal.message(
                "Nothing was changed, because fabula cannot ask for confirmation without a terminal. Run "
                "the command again with --yes."
            )
            return None
        said = asyncio.run(terminal.choice("Accept it? [y]es, [a]nother, [n]o: ", "yan"))
        if said != "a":
            return new if said == "y" else None
        take += 1


def _lines_of(text: str, lines: str) -> tuple[int, int]:
    """The start and end of lines of a text, without blanks and blank lines around them."""
    match, all_lines = FROM_TO.fullmatch(lines.strip()), text.splitlines(keepends=True)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= len(all_lines):
        raise UsageError(
            f"--lines {lines} does not match any lines; the file has {len(all_lines)}. Use the form --lines 12-18."
        )
    passage = "".join(all_lines[first - 1 : last])
    if not passage.strip():
        raise UsageError(f"--lines {lines} contains no words. Specify the lines of the passage.")
    start = len("".join(all_lines[: first - 1])) + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())


def word_diff(old: str, new: str) -> str:
    """Return both texts merged, with deletions as [-words-] and insertions as {+words+}."""
    frame = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(frame[piece.kind].format(piece.text) for piece in word_pieces(old, new))
