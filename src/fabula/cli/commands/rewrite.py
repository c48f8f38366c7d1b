"""`fabula text rewrite`: one passage of a text is written anew, and the rest stays, byte for byte."""

from __future__ import annotations

import asyncio
import re
import shlex
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.beginning import check
from fabula.app.writing import dry_run_rewrite_in, rewrite_in, settings_as_last_time
from fabula.base.errors import OtherLengthError, UsageError
from fabula.cli.asked import performing
from fabula.cli.bill import say_dry_run
from fabula.cli.opening import project_and_artefact, terminal_of
from fabula.cli.options import Artefact, Common, Limits, bundled
from fabula.cli.session import Session, near
from fabula.craft.revising import passage_spans
from fabula.story import count_words, plain
from fabula.story.comparing import word_pieces

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.project.folder import Project

_SLACK: Final = 20  # words by which a short passage may grow without a word on it
_MOST_SHOWN: Final = 1_000  # characters of a new passage in an error
_FROM_TO: Final = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?")


@bundled
def rewrite(
    common: Common,
    limits: Limits,
    artefact: Artefact,
    *,
    passage: Annotated[
        str, typer.Option(metavar="WORDS", help='First and last words of it: "The lamp ... went out."')
    ] = "",
    lines: Annotated[str, typer.Option(metavar="N-M", help="Its lines in the file, instead.")] = "",
    characters: Annotated[
        str, typer.Option(metavar="N-M", help="Its first and last character in the text, instead; for programs.")
    ] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you wish of it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take the new passage without asking.")] = False,
    if_alike: Annotated[
        bool, typer.Option("--if-alike", help="Take it without asking if it is about as long as before; for programs.")
    ] = False,
) -> None:
    """Have one passage of a text written anew by who wrote it; the rest stays, byte for byte."""
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    if sum(map(bool, (passage, lines, characters))) != 1:
        raise UsageError("Say which passage: --passage with its first and last words, --lines N-M or --characters N-M.")
    settings = settings_as_last_time(project)
    check(settings, terminal.environ)
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        text, file = journal.artefacts.newest(path) or "", journal.artefacts.places()[path]
        if (override := journal.decisions.override(path)) is not None and override[1] == "pinned":
            raise UsageError(f"{path} is pinned. Say `fabula text unpin {path}` first.")
    if not file.endswith(".md"):
        raise UsageError(f"{file} is no prose. Edit it by hand, or say `fabula text retake {path} --note ...`.")
    if characters:
        span = _characters_of(text, characters)
    else:
        span = _lines_of(text, lines) if lines else _passage(text, passage, file)
    session = Session(terminal, project, settings, limits, "rewrite")
    if limits.dry_run:
        say_dry_run(
            terminal,
            asyncio.run(dry_run_rewrite_in(project, settings, session.looking, path, span, plain(note).strip())),
        )
        return
    terminal.advise(f"{file}: the passage is written anew by {performing(settings)}.")
    new = _accepted(session, path, text, span, plain(note).strip(), yes=yes, if_alike=if_alike)
    if new is not None and new != text:
        with project.recorded() as journal:
            if journal.artefacts.newest(path) != text:
                raise UsageError(f"{file} was changed meanwhile, and stays as it is. Say the same again.")
            project.edit(journal, path, new, "rewrite")
    _report(terminal, project, path, file, (text, new), span)


def _report(
    terminal: Terminal, project: Project, path: str, file: str, texts: tuple[str, str | None], span: tuple[int, int]
) -> None:
    text, new = texts
    changed = new is not None and new != text
    words = count_words(new if changed and new else text)
    terminal.say(f"{file}: {words:,} words" if changed else f"{file} is as it was.")
    if changed:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`. `fabula undo` takes the passage back.")
    before, after = (count_words(one) for one in _passages(text, text if new is None else new, span))
    terminal.document(
        {
            "artefact": path,
            "file": file,
            "changed": changed,
            "words": words,
            "passage": {"before": before, "after": after},
            "proposed": new,
        }
    )


def _passages(text: str, new: str, span: tuple[int, int]) -> tuple[str, str]:
    """A passage as it was, and as it is in the new text."""
    return text[slice(*span)], new[span[0] : len(new) - (len(text) - span[1])]


def _accepted(
    session: Session, path: str, text: str, span: tuple[int, int], note: str, *, yes: bool, if_alike: bool
) -> str | None:
    """The text with the new passage, if the person takes it; another draw of it as often as they want one.

    Raises:
        OtherLengthError: it was to be taken only where it is about as long as before, and is not.
    """
    terminal, take = session.terminal, 0
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
        old_passage, new_passage = _passages(text, new, span)
        alike, lengths = _lengths(old_passage, new_passage)
        terminal.say(f"{word_diff(old_passage, new_passage)}\n\n{lengths}")
        if if_alike and not alike:
            raise OtherLengthError(f"{lengths} It was not taken. The new one: {shorten(new_passage, _MOST_SHOWN)}")
        if yes or if_alike:
            return new
        if terminal.json or not terminal.interactive:
            terminal.message("Nothing was changed: there is no terminal to confirm at. Say it again with --yes.")
            return None
        said = asyncio.run(terminal.choice("Take it? [y]es, [a]nother, [n]o: ", "yan"))
        if said != "a":
            return new if said == "y" else None
        take += 1


def _lengths(old: str, new: str) -> tuple[bool, str]:
    """Whether a passage is about as long as it was, which is asked for where a note wishes no other, and how long."""
    before, after = count_words(old), count_words(new)
    said = f"The passage: {before:,} words before, {after:,} now"
    if max(before // 2, 1) <= after <= max(2 * before, before + _SLACK):
        return True, f"{said}."
    return False, f"{said}; about as many as before are asked for, unless a note says otherwise."


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
    match, all_lines = _FROM_TO.fullmatch(lines.strip()), text.splitlines(keepends=True)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= len(all_lines):
        raise UsageError(f"--lines {lines} names no lines; the file has {len(all_lines)}. Write it as --lines 12-18.")
    passage = "".join(all_lines[first - 1 : last])
    if not passage.strip():
        raise UsageError(f"--lines {lines} holds no words. Name the lines of the passage.")
    start = len("".join(all_lines[: first - 1])) + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())


def _characters_of(text: str, characters: str) -> tuple[int, int]:
    """Where characters of a text stand, without the blanks at their ends; the first one has number 1."""
    match = _FROM_TO.fullmatch(characters.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    passage = text[first - 1 : last] if 1 <= first <= last <= len(text) else ""
    if not passage.strip():
        raise UsageError(
            f"--characters {characters} names no words; the text has {len(text):,} characters. Write it as "
            "--characters 120-480."
        )
    start = first - 1 + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())


def word_diff(old: str, new: str) -> str:
    """Two texts as one: what goes as [-words-], what comes as {+words+}."""
    frame = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(frame[piece.kind].format(piece.text) for piece in word_pieces(old, new))
