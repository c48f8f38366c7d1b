"""The author's brief and the resulting story: `Brief`, `Scene`, `Story`, and the plain-text manuscript."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from pydantic import computed_field

from fabula.base.characters import binary_place, readable
from fabula.base.errors import BriefError, UsageError
from fabula.base.files import not_utf8, unreadable
from fabula.base.html import Html, joined, paragraph
from fabula.base.html import text as html_text
from fabula.base.plugins import Plugins, plugins
from fabula.story.words import count_words

MAX_BRIEF_BYTES = 200_000
SLUG_LENGTH = 60
_TEXTS = frozenset({"", "md", "markdown", "txt"})  # kinds of files, by their suffix, that hold a brief's own text
_PLANS = frozenset({"yaml", "yml"})
_IS_PLAN = re.compile(r"^(?:scenes|characters):", re.MULTILINE)
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
    """`text` with uniform line ends and without byte-order marks, trailing blanks, or blank lines at either end."""
    lines = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(str.rstrip, lines)).strip("\n")


def one_line(text: str) -> str:
    """`text` on one line: each run of white space becomes one space, and surrounding white space is removed."""
    return " ".join(text.replace("\ufeff", "").split())


def without_marks(text: str) -> str:
    """`text` without lines that are scene marks of manuscripts (`Story.manuscript`)."""
    if not _ANY_MARK.search(text):
        return text
    return plain(_ANY_MARK.sub("", text))


def slug(text: str) -> str:
    """`text` as a file name that works on every system: "Rising Action" becomes "rising-action".

    The name has 1 to 60 characters (a-z, 0-9 and single inner hyphens) and is not reserved by Windows. Blank text gives
    "untitled". Text without any Latin letters or digits becomes "t-" and a hash, so that different titles have
    different names.
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
    """The author's brief in the author's own words."""

    text: str
    title: str = ""

    @property
    def titled(self) -> str:
        """The text under its title, for prompts; only the text if there is no title."""
        return f"Title: {self.title}\n\n{self.text}" if self.title else self.text

    @classmethod
    def read(cls, path: Path) -> Brief:
        """The brief in a text file; the title is the first line if it has the form `# Title`.

        Installed packages read other file formats through entry points of the group `fabula.briefs`. For example, `opml
        = "my_papers:brief_of"` refers to a function that accepts the path of an `.opml` file and returns the brief's
        text.

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
            raise BriefError(unreadable(path, error, "a brief (a text file)")) from error
        if len(data) > MAX_BRIEF_BYTES:
            raise _too_large(str(path))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BriefError(f"The brief {not_utf8(path, data, error)}") from error
        if kind in _PLANS and _IS_PLAN.search(text):
            raise BriefError(f"{path} is a plan, not a brief. Use `fabula write BRIEF --plan {path}`.")
        return cls.parse(text, name=str(path))

    @classmethod
    def parse(cls, text: str, name: str = "brief") -> Brief:
        """The brief in `text`.

        Raises:
            BriefError: the text is empty or too long, or it contains NUL characters like a binary file.
        """
        if len(text.encode("utf-8", "replace")) > MAX_BRIEF_BYTES:
            raise _too_large(name)
        if place := binary_place(text):
            raise BriefError(f"The brief {name} contains binary data ({place}). Use a plain text or Markdown file.")
        text = plain(readable(text))
        title = ""
        if text.startswith("# "):
            head, _, text = text.partition("\n")
            title, text = one_line(head[2:]), plain(text)
        if not count_words(text):
            raise BriefError(f"The brief {name} is empty. Describe what the story should be about.")
        return cls(text, title)

    @classmethod
    def of_text(cls, text: str, name: str) -> Brief:
        """The brief in a text from a data set, which need not be Markdown; a single heading is the text of the brief.

        Raises:
            BriefError: see `parse`.
        """
        alone = text.strip()
        return cls.parse(alone.lstrip("# ") if alone.startswith("# ") and "\n" not in alone else text, name)

    def write(self) -> str:
        """The brief as a text that `parse` can read."""
        return _heading(self.title) + self.text + "\n"


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene of a story: a label, and a text with paragraphs separated by blank lines."""

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
        breaks: whether readers see a break (`* * *`) between two scenes; there are none between parts that flow into
            each other.
    """

    title: str = ""
    scenes: tuple[Scene, ...] = ()
    breaks: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, brief: Brief) -> Story:
        """An empty story for `brief`."""
        return cls(brief.title)

    def add(self, label: str, text: str) -> Story:
        """This story with one more scene at its end; `one_line` is applied to the label and `plain` to the text.

        Lines that mark scenes in manuscripts are removed from the text, because they would end the scene there.
        """
        return replace(self, scenes=(*self.scenes, Scene(one_line(label), without_marks(plain(text)))))

    def with_texts(self, texts: Iterable[str]) -> Story:
        """This story with new texts, one for each of its scenes."""
        revised = zip(self.scenes, texts, strict=True)
        return replace(self, scenes=tuple(replace(scene, text=without_marks(text)) for scene, text in revised))

    @property
    def text(self) -> str:
        """The text for readers: all scenes, separated by blank lines or breaks, without the title and scene marks."""
        return (f"\n\n{_BREAK}\n\n" if self.breaks else "\n\n").join(scene.text for scene in self.scenes)

    @computed_field  # type: ignore[prop-decorator] # as above
    @property
    def words(self) -> int:
        """The number of words in `text`."""
        return sum(scene.words for scene in self.scenes)

    def _repr_html_(self) -> Html:
        rule, blocks = Html("<hr>" if self.breaks else ""), [scene.text.split("\n\n") for scene in self.scenes]
        scenes = [joined(*(paragraph(block) for block in scene if block.strip())) for scene in blocks]
        parts = [part for scene in scenes for part in (rule, scene)][1:]
        return joined(Html(f"<h2>{html_text(self.title)}</h2>" if self.title else ""), *parts)

    def manuscript(self) -> str:
        """The story as Markdown: the title as a heading, and before each scene its break and a comment with its label.

        The comments are not visible when the Markdown is rendered. They let a person edit the whole file, and fabula
        detect the changes. `parse` returns the same story, except that the title is on one line and `plain` is applied
        to every text.

        Raises:
            UsageError: a scene contains a scene mark, or a label cannot be used in a scene mark.
        """
        for scene in self.scenes:
            if one_line(scene.label) != scene.label or "-->" in scene.label:
                raise UsageError(
                    f"The scene label {scene.label!r} must be a single line with single spaces and without "
                    "'-->'. Use another label."
                )
            if _MARK.search(plain(scene.text) + "\n"):
                raise UsageError(f"Scene {scene.label!r} has a line '<!-- scene: ... -->'. Remove it from the text.")
        between = f"\n{_BREAK}\n" if self.breaks else "\n"
        return _heading(self.title) + between.join(f"<!-- scene: {s.label} -->\n{s.text}\n" for s in self.scenes)

    @classmethod
    def parse(cls, manuscript: str) -> Story:
        """The story in a manuscript; text without scene marks becomes one scene named "story"."""
        text = plain(manuscript)
        title = ""
        if text.startswith("# "):
            head, _, text = text.partition("\n")
            title = one_line(head[2:])
        text = plain(text)
        return cls(title, tuple(_scenes(text)), any(mark[0].startswith(_BREAK) for mark in _MARK.finditer(text + "\n")))

    @classmethod
    def of_text(cls, text: str) -> Story:
        """The story in a text from a data set, which need not be Markdown; a heading is a title if text follows it."""
        story = cls.parse(text)
        return story if story.scenes or not story.title else cls(scenes=(Scene("story", plain(text)),))


def loaders() -> Plugins:
    """The functions from installed packages that read briefs in other file formats, by suffix."""
    return plugins("fabula.briefs", _TEXTS, "kind of brief")


def _too_large(name: str) -> BriefError:
    return BriefError(f"The brief {name} is larger than {MAX_BRIEF_BYTES // 1000} kB. Use a shorter brief.")


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
