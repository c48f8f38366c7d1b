"""Numbered scenes of a text in any of the forms that stories come in."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.story import Story, count_words, one_line
from fabula.story.sentences import spans

Form: TypeAlias = Literal["json", "manuscript", "fountain", "markdown", "prose"]
FORMS: Final[tuple[Form, ...]] = ("json", "manuscript", "fountain", "markdown", "prose")
SCENE_WORDS: Final = 2000
_WORDS: Final = re.compile(r"\w+")
_HEADING: Final = re.compile(
    # Capitals are enough; in other letters ("Int. hall - day") it takes a stop and a blank line before it.
    r"^[ \t]*(?:\d{1,4}[.、):]?[ \t]*)?(?:INT|EXT|EST|I/E|INT\.?/EXT|EXT\.?/INT)[. ][^\n]*$"
    r"|(?:(?<=\n\n)|(?<=\n\r\n)|\A)[ \t]*(?:\d{1,4}[.、):]?[ \t]*)?"
    r"(?i:(?:int|ext|est|int\.?/ext|ext\.?/int|i/e)\.|(?:int\.?/ext|ext\.?/int|i/e)[ ])[ \t]*(?=[^\W_])[^\n]*$"
    r"|^[ \t]*(?:\d{1,4}[.、):]?[ \t]+)?\.(?=[^\W_.])[^\n]*$",
    re.MULTILINE,
)
_MARKDOWN: Final = re.compile(
    r"^(?:#{1,6}[ \t]+[^\n]*|[ \t]*(?:\*[ \t]*){3,}|[ \t]*(?:-[ \t]*){3,}|[ \t]*#)[ \t]*$", re.MULTILINE
)
_CHAPTER: Final = re.compile(
    # No sentence: a full stop stands after a number or in an abbreviation ("Chapter 2. Mr. Darcy") only.
    r"^[ \t]*(?:chapter|part|scene|act|prologue|epilogue|interlude)\b"
    r"(?:[ \t]+(?:\d{1,4}|[ivxlc]{1,8}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|"
    r"fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)\.)?"
    r"(?:[^\n.!?]|(?<=\bmr)\.|(?<=\bmrs)\.|(?<=\bms)\.|(?<=\bdr)\.|(?<=\bst)\.|(?<=\bjr)\.|(?<=\bsr)\.){0,60}$",
    re.MULTILINE | re.IGNORECASE,
)
_MARK: Final = "<!-- scene: "
_TITLE_NUMBER: Final = re.compile(r"\A\s*(\d{1,6})\s*[、.):]")
_TEXT_KEYS: Final = ("content", "text", "body")
_TITLE_KEYS: Final = ("title", "label", "heading", "name")
_NUMBER_KEYS: Final = ("number", "scene", "scene_number")


@dataclass(frozen=True, slots=True)
class NumberedScene:
    """A scene in the order of the text.

    Attributes:
        number: from 1; what findings name.
        title: its heading; may be empty.
        text: its words; all passages are counted in characters of it.
        start: where `text` begins in the source, in characters; `None` where the source is not a plain text (JSON).
    """

    number: int
    title: str
    text: str
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a scene, and the words in it that are in question.

    Attributes:
        scene: number of the scene.
        start, end: of the sentence, in characters of the scene's text.
        quote: the sentence as it is there: `scene.text[start:end]`.
        focus: start and end of the words in question, in characters of the scene's text.
    """

    scene: int
    start: int
    end: int
    quote: str
    focus: tuple[int, int]

    @property
    def words(self) -> str:
        """The words in question."""
        return self.quote[self.focus[0] - self.start : self.focus[1] - self.start]


@dataclass(frozen=True, slots=True)
class Scenes:
    """The scenes of a story, and the corrections made when it was read.

    Attributes:
        scenes: at least one, numbered upwards.
        form: the form that the text was read as.
        counts: how often something had to be corrected: `unnumbered`, `reordered`, `duplicate_numbers`, `empty`,
            `not_a_scene`, `cut_by_length`, `without_paragraphs`; only those above 0.
    """

    scenes: tuple[NumberedScene, ...]
    form: Form
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """Number of words of all scenes."""
        return sum(count_words(scene.text) for scene in self.scenes)


def split(text: str, form: Form | None = None, scene_words: int = SCENE_WORDS) -> Scenes:
    """The scenes of `text`, whose form is found out where none is given.

    JSON is the paper's array of `{_id, title, subtitle, content}` (scene number = `_id` + 1); a manuscript has fabula's
    scene marks; Fountain and other screenplays have scene headings; Markdown has headings or rules; prose is cut at
    chapter lines, and where it has none at the paragraph's end nearest to every `scene_words` words.

    Raises:
        UsageError: there are no words in it, or `form` is "json" and it is none.
    """
    if not count_words(text):
        raise UsageError("The story is empty. Give a text with words in it.")
    form = form or _form_of(text)
    if form == "json":
        return _from_json(text)
    counts: Counter[str] = Counter()
    pieces = _pieces(text, form, scene_words, counts)
    kept = [(title, start, end) for title, start, end in pieces if count_words(text[start:end])]
    if len(kept) < len(pieces):
        counts["empty"] += len(pieces) - len(kept)
    scenes = tuple(NumberedScene(n, title, text[a:b], a) for n, (title, a, b) in enumerate(kept, 1))
    return Scenes(scenes, form, dict(counts))


def scenes_of(story: Story, scene_words: int = SCENE_WORDS) -> Scenes:
    """The scenes of a story: its own, or, where it has a single one, as `split` cuts its text.

    Raises:
        UsageError: there are no words in it.
    """
    if len(story.scenes) <= 1:
        return split(story.text, scene_words=scene_words)
    if not story.words:
        raise UsageError("The story is empty. Give a text with words in it.")
    numbered, start = [], 0
    for number, scene in enumerate(story.scenes, 1):
        numbered.append(NumberedScene(number, scene.label, scene.text, start))
        start += len(scene.text) + 2
    return Scenes(tuple(numbered), "manuscript")


def is_headed(text: str, title: str) -> bool:
    """Whether the first line of a text has the words of its title, in whatever letters ("## Chapter One")."""
    first = _WORDS.findall(text.lstrip().partition("\n")[0][: 2 * len(title) + 20].casefold())
    return bool(first) and first == _WORDS.findall(title.casefold())


def _form_of(text: str) -> Form:
    """The form of a text; a single heading makes no screenplay and no Markdown story."""
    head = text.lstrip("\ufeff \t\r\n")
    if head[:1] in ("[", "{") and _data(head) is not None:
        return "json"
    if _MARK in text:
        return "manuscript"
    if len(_headings(text, _HEADING)) > 1:
        return "fountain"
    if len(_headings(text, _MARKDOWN)) > 1:
        return "markdown"
    return "prose"


def _headings(text: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    return list(pattern.finditer(text))


def _data(text: str) -> list[Any] | None:
    """The array of scenes in a JSON text; `None` where it holds none."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        data = data.get("scenes")
    return data if isinstance(data, list) else None


def _from_json(text: str) -> Scenes:
    data = _data(text.lstrip("\ufeff"))
    if data is None:
        raise UsageError(
            "The story is not a JSON array of scenes. Give [{'_id': 0, 'title': ..., 'content': ...}, ...]."
        )
    counts: Counter[str] = Counter()
    rows: list[tuple[int | None, str, str]] = []
    for entry in data:
        row = _row(entry)
        if row is None:
            counts["not_a_scene"] += 1
        elif not count_words(row[2]):
            counts["empty"] += 1
        else:
            rows.append(row)
    if not rows:
        raise UsageError("No entry of the JSON array has a text in 'content'. Give scenes with words in them.")
    scenes = tuple(NumberedScene(number, title, body) for number, title, body in _numbered(rows, counts))
    return Scenes(scenes, "json", {name: n for name, n in counts.items() if n})


def _row(entry: Any) -> tuple[int | None, str, str] | None:  # noqa: ANN401 - JSON of any kind
    """Number, title and text of an entry; `None` for what is not a scene."""
    if isinstance(entry, str):
        return None, "", entry
    if not isinstance(entry, dict):
        return None
    body = next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str)), None)
    if body is None:
        return None
    title = one_line(next((entry[key] for key in _TITLE_KEYS if isinstance(entry.get(key), str)), ""))
    return _number(entry, title), title, body


def _number(entry: Mapping[str, Any], title: str) -> int | None:
    """The number that an entry gives itself, or its title does."""
    given = entry.get("_id")
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given + 1
    for key in _NUMBER_KEYS:
        value = entry.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
    found = _TITLE_NUMBER.match(title)
    return int(found[1]) if found and int(found[1]) >= 1 else None


def _numbered(rows: Sequence[tuple[int | None, str, str]], counts: Counter[str]) -> Iterator[tuple[int, str, str]]:
    """Rows in the order of their numbers; by place where a number is missing or stands twice."""
    numbers = [number for number, _, _ in rows]
    given = [number for number in numbers if number is not None]
    counts["unnumbered"] = len(numbers) - len(given)
    counts["duplicate_numbers"] = len(given) - len(set(given))
    if counts["unnumbered"] or counts["duplicate_numbers"]:
        yield from ((place, title, body) for place, (_, title, body) in enumerate(rows, 1))
        return
    counts["reordered"] = sum(a > b for a, b in pairwise(given))
    yield from sorted(((number, title, body) for number, (_, title, body) in zip(given, rows, strict=True)))


def _pieces(text: str, form: Form, scene_words: int, counts: Counter[str]) -> list[tuple[str, int, int]]:
    """Title, start and end of each piece of a plain text."""
    if form == "manuscript":
        return _manuscript(text)
    pattern = {"fountain": _HEADING, "markdown": _MARKDOWN}.get(form, _CHAPTER)
    found = _headings(text, pattern)
    whole = _between(text, found, keep=form == "fountain") if found else [("", 0, len(text))]
    if form == "fountain":  # what stands before the first heading (a title page, FADE IN) is no scene of its own
        return whole if whole[0][0] or len(whole) == 1 else [(whole[1][0], 0, whole[1][2]), *whole[2:]]
    return [piece for one in whole for piece in cut_by_length(text, one, scene_words, counts)]


def _manuscript(text: str) -> list[tuple[str, int, int]]:
    found = list(re.finditer(r"^(?:\* \* \*\n)?<!-- scene: ((?:(?!-->)[^\n])*) -->\n", text, re.MULTILINE))
    return _between(text, found, keep=False, group=1)


def _between(text: str, found: Sequence[re.Match[str]], *, keep: bool, group: int = 0) -> list[tuple[str, int, int]]:
    """What lies before the first heading, and after each; the headings belong to the text if `keep`."""
    ends = [match.start() for match in found[1:]] + [len(text)]
    first = [("", 0, found[0].start())] if found and count_words(text[: found[0].start()]) else []
    rest = [
        (one_line(match[group]).strip("#*-. "), match.start() if keep else match.end(), end)
        for match, end in zip(found, ends, strict=True)
    ]
    return [*first, *rest]


def cut_by_length(
    text: str, piece: tuple[str, int, int], scene_words: int, counts: Counter[str]
) -> Iterable[tuple[str, int, int]]:
    """A long piece cut near every `scene_words` words: at a paragraph's end, else a sentence's, else a blank."""
    title, start, end = piece
    words = [match.start() for match in re.finditer(r"\S+", text[start:end])]
    if len(words) <= scene_words * 1.5:
        return [piece]
    ends = _ends(text[start:end], scene_words, counts)
    cuts = [0]
    for at in range(scene_words, len(words) - scene_words // 2, scene_words):
        near = bisect_left(ends, words[at])
        best = min(ends[max(0, near - 1) : near + 1], key=lambda e: abs(e - words[at]), default=words[at])
        if not cuts[-1] < best < end - start or abs(bisect_left(words, best) - at) > scene_words // 2:
            best = words[at]
        cuts.append(best)
    counts["cut_by_length"] += len(cuts) - 1
    cuts.append(end - start)
    return [(title, start + a, start + b) for a, b in pairwise(cuts)]


def _ends(text: str, scene_words: int, counts: Counter[str]) -> list[int]:
    """Where paragraphs end; where sentences do, if paragraphs are too long to cut at."""
    lines = [match.end() for match in re.finditer(r"\n\s*", text)]
    if len(lines) * scene_words >= count_words(text):
        return lines
    counts["without_paragraphs"] += 1
    return [end for _, end in spans(text)]
