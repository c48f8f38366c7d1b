"""The contents of a book: its volumes, chapters and scenes by title, with what the plan and the author say of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.app.cards import cards_of, is_part
from fabula.app.titles import HeadedText
from fabula.base import yamltext
from fabula.craft.chapters import read_chapters
from fabula.project.folder import NOTES, note_on
from fabula.project.telling import ORDER, in_order
from fabula.story import Scene, Story, one_line, slug

if TYPE_CHECKING:
    from fabula.app.plan_cards import PlanCard
    from fabula.app.workspace import Workspace


STATUS: Final = f"{NOTES}/status"
STATUS_FILE: Final = f"{STATUS}.yaml"
_WORDS: Final = re.compile(r"\((\d{1,7}) words\)\Z")


@dataclass(frozen=True, slots=True)
class TextMark:
    """What the author has noted about a text.

    Attributes:
        status: a word such as "draft"; empty if there is none.
        words: the number of words that the text should have; 0 if none was set.
    """

    status: str = ""
    words: int = 0

    def __str__(self) -> str:
        return " ".join(filter(None, (self.status, f"({self.words} words)" if self.words else "")))


@dataclass(frozen=True, slots=True)
class ContentsLine:
    """A text of the book, or a planned chapter that is not written yet.

    Attributes:
        name: the name of the text; empty if it is not written.
        title: its title.
        volume: the title of the volume that it belongs to; empty if there are no volumes.
        is_scene: whether it has no heading and belongs to the chapter before it.
        words: its number of words.
        target: the number of words that it should have; null if none was set.
        status: the author's word for its state, such as "draft"; may be empty.
        synopsis: what happens in it, from its card of the plan; may be empty.
        viewpoint: whose point of view it has, from its card; may be empty.
        note: the name of the author's notes on it; empty if there are none.
    """

    name: str
    title: str
    volume: str = ""
    is_scene: bool = False
    words: int = 0
    target: int | None = None
    status: str = ""
    synopsis: str = ""
    viewpoint: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class BookContents:
    """The contents of a book, in the order of telling.

    Attributes:
        title: the title of the book.
        lines: its texts and planned chapters.
        problem: why the file of statuses cannot be read; empty if it can.
        changed: false if a command was to change the book, and it was like that already.
    """

    title: str
    lines: tuple[ContentsLine, ...]
    problem: str = ""
    changed: bool = True

    def of(self, name: str) -> ContentsLine | None:
        """The line of a text; `None` if it is not a part of the story."""
        return next((line for line in self.lines if name and line.name == name), None)


def contents_of(workspace: Workspace) -> BookContents:
    """The contents of a project's story."""
    return workspace.cached("contents", lambda: _contents(workspace))


def _contents(workspace: Workspace) -> BookContents:
    standing, (cards, _) = workspace.standing(), cards_of(workspace)
    rows = workspace.rows(marks=False)
    marks, problem = read_marks(standing.get(STATUS, ""))
    notes = {row.name for row in rows if row.folder == NOTES}
    own = {card.name: card for card in cards.cards if card.name}
    listed = _planned_words(standing.get(cards.name, "")) if cards.form == "chapters" else {}
    lines: list[ContentsLine] = []
    volume, level, headed = "", 0, False
    parts = {row.name: row for row in rows if is_part(row)}
    for name in _told(workspace, parts):
        row, text, card = parts[name], HeadedText.of(standing.get(name, "")), own.get(name)
        if text.above or (text.level and text.level <= level):
            volume, level = text.volume, text.top
        mark = marks.get(name, TextMark())
        planned = listed.get(name, 0) if row.source in ("made", "revised") else 0
        asked = sum(row.asked) // 2 if row.asked else planned
        listed_in = card.volume.partition("\n")[0].lstrip("# ") if card else ""
        line = ContentsLine(name, row.title, volume or listed_in, headed and not text.level, row.words)
        note = note_on(name) if note_on(name) in notes else ""
        headed = headed or bool(text.level)
        line = replace(line, target=mark.words or asked or None, status=mark.status, note=note)
        lines.append(_of_card(line, card))
    for card in cards.cards if own else ():
        if not card.name:
            before = next((one.name for one in reversed(cards.cards[: card.number - 1]) if one.name), "")
            place = next((n for n, one in enumerate(lines, 1) if one.name == before), 0)
            volume = lines[place - 1].volume if place else ""
            lines.insert(place, _of_card(ContentsLine("", card.title, volume), card))
    return BookContents(workspace.texts().brief.title, tuple(lines), problem)


def _told(workspace: Workspace, parts: Iterable[str]) -> list[str]:
    """The names of the parts, which come in the order of their files, in the order of telling."""
    names = {slug(name): name for name in parts}
    with workspace.texts().journal as journal:
        order = journal.decisions.override(ORDER)
    if order is None:
        return [*names.values()]
    story = in_order(Story("", tuple(Scene(name, "") for name in names)), order[0].split("\n"))
    return [names[scene.label] for scene in story.scenes]


def _of_card(line: ContentsLine, card: PlanCard | None) -> ContentsLine:
    """A line with what its card of the plan says."""
    return replace(line, synopsis=" ".join(card.outline), viewpoint=card.viewpoint) if card else line


def _planned_words(text: str) -> dict[str, int]:
    """The words of each chapter in a list of chapters, by the name of its text."""
    return {one.name or f"chapter-{n}": one.words for n, one in enumerate(read_chapters(text), 1)}


def read_marks(text: str) -> tuple[dict[str, TextMark], str]:
    """The author's marks in `notes/status.yaml`, by name of a text, and what is wrong with the file."""
    try:
        root, _ = yamltext.read(text)
    except yamltext.YamlError as error:
        return {}, f"{STATUS_FILE} cannot be read: line {error.line}: {error}"
    if root is None:
        return {}, ""
    if not isinstance(root, yamltext.MappingPairs):
        return {}, f"{STATUS_FILE} cannot be read: write one line for each text, such as `chapter-1: draft`."
    found: dict[str, TextMark] = {}
    for key, value in root.pairs:
        if isinstance(value, yamltext.ScalarText):
            said = one_line(value.value)
            words = _WORDS.search(said)
            status = said[: words.start()].rstrip() if words else said
            found[key.value] = TextMark(status, int(words[1]) if words else 0)
    return found, ""


def write_marks(marks: Mapping[str, TextMark]) -> str:
    """The author's marks as a file."""
    pairs = ((yamltext.ScalarText(name), yamltext.ScalarText(str(mark))) for name, mark in marks.items() if str(mark))
    return yamltext.write(yamltext.MappingPairs(tuple(pairs)))
