"""Fitting what a prompt should hold into the tokens it may have. Tokens are estimates (`models.budget`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from fabula.base.remembering import remembered
from fabula.engine.room import USUAL_WINDOW
from fabula.models.budget import estimate_tokens
from fabula.story import plain
from fabula.story.sentences import each_span, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fabula.engine.run import Run

T = TypeVar("T")

ELLIPSIS = "[...]"
_FAR = 2  # times the tokens that are shown: what lies further back cannot be among them
_PARAGRAPHS = re.compile(r"\n\s*\n")
_LISTED = re.compile(r"[ \t]|[-*+\u2022][ \t]|\d{1,3}[.)][ \t]")
_HEADING = re.compile(r"(#{1,6})[ \t]")
_LABEL_TOKENS = 8  # of a label above what was chosen
_WORD = re.compile(r"\w+")


def nearest(texts: Iterable[str], tokens: int) -> list[str]:
    """The first of these texts, up to the last of which `tokens` tokens can show something."""
    found, seen = list[str](), 0
    for text in texts:
        found.append(text)
        seen += estimate_tokens(text) - 1  # which was rounded up
        if seen > _FAR * tokens:
            break
    return found


def last_of(text: str, tokens: int) -> str:
    """The end of `text` that has about `tokens` tokens at most: whole paragraphs, else whole sentences of the last one.

    What is left out is marked at the front. Texts that fit come back as they are.
    """
    if estimate_tokens(text) <= tokens:
        return text
    kept = _last(_PARAGRAPHS.split(text), tokens, "\n\n")
    if not kept:
        kept = _last(sentences(_PARAGRAPHS.split(text)[-1]), tokens, " ")
    return f"{ELLIPSIS}\n\n{kept}" if kept else ""


def end_of(texts: Sequence[str], tokens: int) -> str:
    """`last_of` these texts, a blank line between them; those that lie too far back to be shown are not looked at."""
    near = nearest(reversed(texts), tokens)[::-1]
    parted = all(text and text == text.strip() for text in near)  # else where two of them meet is no end of a paragraph
    parts = [part for text in near for part in _parts(text)] if parted and len(near) < len(texts) else []
    kept = "\n\n".join(latest(parts, tokens))
    return f"{ELLIPSIS}\n\n{kept}" if kept else last_of("\n\n".join(near), tokens)


def whole_at_end(texts: Sequence[str], tokens: int) -> int:
    """How many of the last of these texts `end_of` shows whole."""
    for count, text in enumerate(reversed(texts)):
        tokens -= estimate_tokens(text) + 1
        if tokens < 0:
            return count
    return len(texts)


@remembered(16, 200_000)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(_PARAGRAPHS.split(text))


def first_of(text: str, tokens: int) -> str:
    """The beginning of `text` that has about `tokens` tokens at most, in whole sentences; marked where it was cut."""
    if estimate_tokens(text) <= tokens:
        return text
    kept = 0
    for start, end in each_span(text):
        tokens -= estimate_tokens(text[start:end]) + 1
        if tokens < 0:
            break
        kept = end
    return f"{text[:kept]} {ELLIPSIS}".lstrip()


def chosen(notes: Sequence[tuple[str, str]], tokens: int, about: str = "") -> str:
    """Notes, each below its label: all of them where they fit, else as many whole blocks as fit, in their order.

    Nothing is cut inside a block, so that a person, a place or a part of the plot is there whole or not at all.

    Args:
        notes: label and text of each; a label may be empty.
        tokens: of the whole.
        about: what the reader of the notes writes: the blocks that are most like it are taken first. Without it those
            of the last note are, which rests on the others.
    """
    whole = _below_labels([(label, [text]) for label, text in notes])
    if estimate_tokens(whole) <= tokens:
        return whole
    parts = [(n, block) for n, (_, text) in enumerate(notes) for block in blocks(text)]
    kept: set[int] = set()
    for at in _by_use(parts, about):
        takes = estimate_tokens(parts[at][1]) + _LABEL_TOKENS
        if takes <= tokens:
            tokens -= takes
            kept.add(at)
    return _below_labels(
        [(label, [parts[at][1] for at in sorted(kept) if parts[at][0] == n]) for n, (label, _) in enumerate(notes)]
    )


def _by_use(parts: Sequence[tuple[int, str]], about: str) -> list[int]:
    """The places of the blocks, each with the number of its note, from the one that is needed most."""
    if not about:
        return sorted(range(len(parts)), key=lambda at: -parts[at][0])
    from fabula.craft.memory import hashed  # noqa: PLC0415 - takes numpy, and most notes fit

    asked, *found = hashed([about, *(block for _, block in parts)])
    like = [round(float(one @ asked), 6) for one in found]
    return sorted(range(len(parts)), key=lambda at: -like[at])


def _below_labels(notes: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Texts below their labels in square brackets; a label without a text is not there."""
    found = ((f"[{label}] " if label else "", "\n\n".join(texts)) for label, texts in notes)
    return "\n\n".join(f"{label}{text}" for label, text in found if text)


def blocks(text: str) -> list[str]:
    """The pieces of a note that are read by themselves: paragraphs with the lists below them, or what a heading is for.

    Where there are headings, a block goes from one to the next of the level at which there are several.
    """
    parts = paragraphs(text)
    levels = [len(found[1]) for part in parts if (found := _HEADING.match(part))]
    level = next((one for one in sorted(set(levels)) if levels.count(one) > 1), max(levels, default=0))
    made: list[str] = []
    headed = False
    for part in parts:
        found = _HEADING.match(part)
        begins = found is not None and len(found[1]) <= level
        headed = headed or begins
        if made and not begins and (headed or _LISTED.match(part)):
            made[-1] += f"\n\n{part}"
        else:
            made.append(part)
    return made


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, which blank lines part."""
    return [part for part in _PARAGRAPHS.split(plain(text)) if part.strip()]


def words(text: str) -> set[str]:
    """The different words of a text, without case."""
    return set(_WORD.findall(text.casefold()))


def overlap(a: set[str], b: set[str]) -> float:
    """The share of what two sets have in common in what they have together (Jaccard); 0 for two empty ones."""
    return len(a & b) / len(a | b) if a or b else 0.0


def _last(pieces: Sequence[str], tokens: int, between: str) -> str:
    return between.join(latest(pieces, tokens))


def grouped(pieces: Iterable[T], tokens: int, size: Callable[[T], int]) -> list[list[T]]:
    """Neighbouring `pieces` in as few groups of at most `tokens` tokens as can be; one that is larger stands alone."""
    groups: list[list[T]] = []
    left = 0
    for piece in pieces:
        if not groups or size(piece) > left:
            groups.append([])
            left = tokens
        groups[-1].append(piece)
        left -= size(piece)
    return groups


def in_pieces(text: str, tokens: int) -> list[str]:
    """A text in as few pieces of whole paragraphs as prompts of so many tokens can show."""
    if estimate_tokens(text) <= tokens:
        return [text]
    groups = grouped(paragraphs(text), tokens, lambda paragraph: estimate_tokens(paragraph) + 1)
    return ["\n\n".join(group) for group in groups]


def latest(pieces: Sequence[str], tokens: int) -> tuple[str, ...]:
    """The last of `pieces` that fit together into `tokens`."""
    at = len(pieces)
    while at and (tokens := tokens - estimate_tokens(pieces[at - 1]) - 1) >= 0:
        at -= 1
    return tuple(pieces[at:])


def around(full: Sequence[str], short: Sequence[str], at: int, tokens: int) -> tuple[str, ...]:
    """A list with full entries near `at`, short ones further off, and none beyond what fits.

    Args:
        full: each entry in full.
        short: each entry in few words.
        at: index of the entry that matters most; it is always shown in full.
        tokens: the whole list's.

    Returns:
        The entries that fit, in their order; an ellipsis stands for those left out.
    """
    near = sorted(range(len(full)), key=lambda i: (abs(i - at), -i))
    shown: dict[int, str] = {}
    left = tokens
    for form in (short, full):
        for index in near:
            more = estimate_tokens(form[index]) + 2 - (estimate_tokens(shown[index]) + 2 if index in shown else 0)
            if index not in shown and form is full:
                continue
            if more > left and index != at:
                break
            left -= more
            shown[index] = form[index]
    return tuple(_with_gaps(shown, len(full)))


def _with_gaps(shown: dict[int, str], length: int) -> Iterable[str]:
    places = sorted(shown)
    if places and places[0] > 0:
        yield ELLIPSIS
    for index in places:
        yield shown[index]
    if places and places[-1] < length - 1:
        yield ELLIPSIS


def note_assumed_window(run: Run, role: str) -> None:
    """Say once what is taken for the window of a role whose model does not say how much it can read."""
    room = run.room(role)
    if room.window is None and not room.is_person:
        name = room.model.name
        run.note(
            f"The context window of {name} is not known, so {USUAL_WINDOW:,} tokens are assumed. If it has another "
            f'number, write `context = NUMBER` below [models."{name}"] in fabula.toml.',
            "notice",
        )
