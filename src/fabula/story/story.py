"""What the author asked and what came of it: `Brief`, `Scene`, `Story`, and the plain-text manuscript."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from pydantic import computed_field

from fabula.base.characters import binary_place, readable
from fabula.base.errors import BriefError, UsageError
from fabula.base.html import Html, joined, paragraph
from fabula.base.html import text as html_text
from fabula.base.plugins import plugins
from fabula.story.words import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fabula.base.plugins import Plugins

MAX_BRIEF_BYTES = 200_000
SLUG_LENGTH = 60
_TEXTS = frozenset({"", "md", "markdown", "txt"})  # kinds of files, by their suffix, that hold a brief's own text
_BREAK = "* * *"
# A scene's mark; directly on the line before it stands the break that a reader sees, where the story has breaks.
_MARK = re.compile(r"^(?:\* \* \*\n)?<!-- scene: ((?:(?!-->)[^\n])*) -->\n", re.MULTILINE)
_ANY_MARK = re.compile(r"(?:^\* \* \*\n)?<!-- ?scene:[^\n<]{0,300}-->\n?", re.MULTILINE)
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_RESERVED = frozenset({"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})
# Letters that Unicode does not decompose into an ASCII letter and a mark.
_LETTERS = str.maketrans(
    {
        "ø": "o",
        "æ": "ae",
        "œ": "oe",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\u0131": "i",  # dotless i
        "ħ": "h",
        "'": "",
        "\u2019": "",  # the apostrophe of typeset text
    }
)


def plain(text: str) -> str:
    """`text` with one kind of line end, no byte-order marks, no trailing blanks and no blank lines at either end."""
    lines = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(str.rstrip, lines)).strip("\n")


def one_line(text: str) -> str:
    """`text` on one line: every run of blanks and line ends is one blank, none stands at either end."""
    return " ".join(text.replace("\ufeff", "").split())


def without_marks(text: str) -> str:
    """`text` without what marks a scene in manuscripts (`Story.manuscript`), wherever a line holds it."""
    if not _ANY_MARK.search(text):
        return text
    return plain(_ANY_MARK.sub("", text))


def slug(text: str) -> str:
    """`text` as a file name that every system takes: "Rising Action" gives "rising-action".

    What comes out holds a-z, 0-9 and single inner hyphens, 1 to 60 characters, and is no name that Windows reserves.
    Blank text gives "untitled"; text without any Latin letter or digit gives "t-" and a hash of it, so that two such
    titles stay apart.
    """
    letters = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS)).encode("ascii", "ignore").decode()
    name = _NOT_IN_SLUG.sub("-", letters.casefold()).strip("-")[:SLUG_LENGTH].strip("-")
    if name in _RESERVED:
        return f"x-{name}"
    if name:
        return name
    if not text.strip():
        return "untitled"
    return "t-" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Brief:
    """What the author asked for, in the author's words."""

    text: str
    title: str = ""

    @property
    def titled(self) -> str:
        """The text under its title, for prompts; the text alone where there is none."""
        return f"Title: {self.title}\n\n{self.text}" if self.title else self.text

    @classmethod
    def read(cls, path: Path) -> Brief:
        """The brief in a text file; a first line `# Title` becomes its title.

        Files of other kinds are read by what installed packages bring: entry points of the group `fabula.briefs`, such
        as `opml = "my_papers:brief_of"`, a function of the path of a file `.opml` that gives the brief's text.

        Raises:
            BriefError: the file is missing, empty, not UTF-8 text, or larger than 200 kB.
        """
        kind = path.suffix.casefold().removeprefix(".")
        if kind not in _TEXTS and kind in (known := loaders().found):
            return cls.parse(known[kind](path), name=str(path))
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BRIEF_BYTES + 1)
        except OSError as error:
            raise BriefError(f"Cannot read the brief {path}: {error.strerror}. Give a text file.") from error
        if len(data) > MAX_BRIEF_BYTES:
            raise _too_large(str(path))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BriefError(f"The brief {path} is not UTF-8 text. Give a plain text or Markdown file.") from error
        return cls.parse(text, name=str(path))

    @classmethod
    def parse(cls, text: str, name: str = "brief") -> Brief:
        """The brief in `text`.

        Raises:
            BriefError: nothing is asked, or too much, or the text holds NULs as a binary file does.
        """
        if len(text.encode("utf-8", "replace")) > MAX_BRIEF_BYTES:
            raise _too_large(name)
        if place := binary_place(text):
            raise BriefError(f"The brief {name} holds binary data ({place}). Give a plain text or Markdown file.")
        text = plain(readable(text))
        title = ""
        if text.startswith("# "):
            head, _, text = text.partition("\n")
            title, text = one_line(head[2:]), plain(text)
        if not count_words(text):
            raise BriefError(f"The brief {name} is empty. Write in it what the story should be about.")
        return cls(text, title)

    @classmethod
    def of_text(cls, text: str, name: str) -> Brief:
        """The brief in a text of a data set, which need not be Markdown: a heading alone is what is asked.

        Raises:
            BriefError: as `parse`.
        """
        alone = text.strip()
        return cls.parse(alone.lstrip("# ") if alone.startswith("# ") and "\n" not in alone else text, name)

    def write(self) -> str:
        """The brief as `parse` reads it."""
        return _heading(self.title) + self.text + "\n"


@dataclass(frozen=True, slots=True)
class Scene:
    """The smallest planned unit of a story: a label, and its text in paragraphs separated by blank lines."""

    label: str
    text: str

    @computed_field  # type: ignore[prop-decorator] # pydantic's own way: as JSON it has its length, too
    @property
    def words(self) -> int:
        """Number of words."""
        return count_words(self.text)


@dataclass(frozen=True, slots=True)
class Story:
    """A titled sequence of scenes in the order of telling.

    Attributes:
        breaks: whether a reader sees a break (`* * *`) between two scenes; parts that flow into each other have none.
    """

    title: str = ""
    scenes: tuple[Scene, ...] = ()
    breaks: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, brief: Brief) -> Story:
        """An empty story for `brief`."""
        return cls(brief.title)

    def add(self, label: str, text: str) -> Story:
        """This story with one more scene at its end; label and text as `one_line` and `plain` leave them.

        A line that marks a scene in manuscripts is taken out of the text: it would end the scene there.
        """
        return replace(self, scenes=(*self.scenes, Scene(one_line(label), without_marks(plain(text)))))

    def with_texts(self, texts: Iterable[str]) -> Story:
        """This story with other texts, one for each of its scenes."""
        revised = zip(self.scenes, texts, strict=True)
        return replace(self, scenes=tuple(replace(scene, text=without_marks(text)) for scene, text in revised))

    @property
    def text(self) -> str:
        """All scenes, separated by blank lines, or by breaks, without title or marks: what a reader reads."""
        return (f"\n\n{_BREAK}\n\n" if self.breaks else "\n\n").join(scene.text for scene in self.scenes)

    @computed_field  # type: ignore[prop-decorator] # as above
    @property
    def words(self) -> int:
        """Number of words of `text`."""
        return sum(scene.words for scene in self.scenes)

    def _repr_html_(self) -> Html:
        rule, blocks = Html("<hr>" if self.breaks else ""), [scene.text.split("\n\n") for scene in self.scenes]
        scenes = [joined(*(paragraph(block) for block in scene if block.strip())) for scene in blocks]
        parts = [part for scene in scenes for part in (rule, scene)][1:]
        return joined(Html(f"<h2>{html_text(self.title)}</h2>" if self.title else ""), *parts)

    def manuscript(self) -> str:
        """The story as Markdown: the title as heading; before each scene a comment line that names it, and its break.

        The comments do not show when rendered; they let a person edit the whole file and fabula find what changed.
        `parse` gives the same story back, with the title on one line and every text as `plain` leaves it.

        Raises:
            UsageError: a scene holds a scene mark of its own, or a label cannot stand in one.
        """
        for scene in self.scenes:
            if one_line(scene.label) != scene.label or "-->" in scene.label:
                raise UsageError(
                    f"The scene label {scene.label!r} must be one line, single-spaced, without '-->'; give another."
                )
            if _MARK.search(plain(scene.text) + "\n"):
                raise UsageError(f"Scene {scene.label!r} holds a line '<!-- scene: ... -->'; take it out of the text.")
        between = f"\n{_BREAK}\n" if self.breaks else "\n"
        return _heading(self.title) + between.join(f"<!-- scene: {s.label} -->\n{s.text}\n" for s in self.scenes)

    @classmethod
    def parse(cls, manuscript: str) -> Story:
        """The story in a manuscript; text without scene marks is one scene named "story"."""
        text = plain(manuscript)
        title = ""
        if text.startswith("# "):
            head, _, text = text.partition("\n")
            title = one_line(head[2:])
        text = plain(text)
        return cls(title, tuple(_scenes(text)), any(mark[0].startswith(_BREAK) for mark in _MARK.finditer(text + "\n")))

    @classmethod
    def of_text(cls, text: str) -> Story:
        """The story in a text of a data set, which need not be Markdown: a heading is a title if a text follows it."""
        story = cls.parse(text)
        return story if story.scenes or not story.title else cls(scenes=(Scene("story", plain(text)),))


def loaders() -> Plugins:
    """What installed packages bring to read briefs in files of other kinds, by their suffix."""
    return plugins("fabula.briefs", _TEXTS, "kind of brief")


def _too_large(name: str) -> BriefError:
    return BriefError(f"The brief {name} is larger than {MAX_BRIEF_BYTES // 1000} kB. Give a shorter one.")


def _heading(title: str) -> str:
    """The title as the first lines of a Markdown file; nothing for a title without text."""
    line = one_line(title)
    return f"# {line}\n\n" if line else ""


def _scenes(text: str) -> Iterator[Scene]:
    """The scenes of a manuscript's body; text before the first mark belongs to a scene "story"."""
    pieces = _MARK.split(text + "\n")
    if before := plain(pieces[0]):
        yield Scene("story", before)
    for label, body in zip(pieces[1::2], pieces[2::2], strict=True):
        yield Scene(one_line(label), plain(body))
