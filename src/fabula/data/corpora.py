"""The texts of the data sets by name, one at a time: every set through one door, as stories with their prompts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.extras import require
from fabula.data import dialogsum, hanna, ttcw
from fabula.data.archives import content, lines
from fabula.data.reading import Record, find, parse_lines, read_bounded, unique
from fabula.data.sets import SETS
from fabula.measure.items import Item
from fabula.story import Brief, Story, count_words, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabula.data.dialogsum import Dialogue
    from fabula.data.sets import DataSet


BY_PEOPLE: Final = ("tell-me-a-story", "writing-prompts", "hanna")
"""The sets whose stories people wrote for the prompts next to them."""


class CorpusText(NamedTuple):
    """A text of a set that is not made into a story yet, since most of a large set are never asked for.

    Attributes:
        key: what it is called in its set, the same on every machine.
        prompt: what was asked for; empty where the set does not say.
        asked: what the prompt is called wherever it is read, as a brief or with its stories; empty where there is none.
        read: gives the story.
    """

    key: str
    prompt: str
    asked: str
    read: Callable[[], Item]


def entries(data: DataSet, split: str, folder: Path) -> Iterator[CorpusText]:
    """The texts of a set, or of one of its splits, as they stand there; one at a time.

    Args:
        data: one of the sets that hold texts.
        split: one of its splits; empty for all of them, one after the other.
        folder: that holds it.

    Raises:
        UnknownNameError: it has no such split.
        UsageError: it holds no texts, or a file is absent, damaged or too large.
    """
    if data.holds == "numbers":
        known = ", ".join(name for name, one in SETS.items() if one.holds != "numbers")
        raise UsageError(
            f"{data.name} contains numbers, not stories; `fabula lab reproduce` uses it. Sets with stories: {known}."
        )
    if split and split not in data.splits:
        if not data.splits:
            raise UsageError(f"{data.name} has no splits. Use {data.name} alone.")
        raise UnknownNameError(f"split of {data.name}", split, data.splits)
    if not data.is_in(folder):
        fetch = f" or fetch it with `fabula lab reproduce --fetch {data.name}`" if data.files else ""
        raise UsageError(
            f"The data set {data.name} is not in {folder}. Put its files there ({data.source}){fetch}; --data DIR, or "
            "FABULA_DATA, names the folder of all sets."
        )
    for part in (split,) if split or not data.splits else _there(data, folder):
        yield from _READERS[data.name](folder, part)


def _check_split(name: str, split: str) -> None:
    if split not in SETS[name].splits:
        raise UnknownNameError("split", split, SETS[name].splits)


def _there(data: DataSet, folder: Path) -> tuple[str, ...]:
    """Of a set of which all is wanted, the splits; of DialogSum, which is often had in part, those that are there."""
    return dialogsum.splits(folder) if data.name == "dialogsum" else data.splits


def prompt_id(prompt: str) -> str:
    """What a prompt is called whose set gives it no name: stories of one prompt have one."""
    return sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def brief_of(prompt: str, where: str) -> Brief | None:
    """The brief in a prompt; `None` where there are no words in it."""
    return Brief.of_text(prompt, where) if count_words(prompt) else None


def _of_items(items: tuple[Item, ...]) -> Iterator[CorpusText]:
    for item in items:
        yield CorpusText(item.id, item.brief.titled if item.brief else "", item.prompt, partial(_same, item))


def _same(item: Item) -> Item:
    return item


def _hanna(folder: Path, _: str) -> Iterator[CorpusText]:
    for story in hanna.measured_stories(folder):
        name = f"hanna/{story.number}"
        brief = brief_of(story.prompt, name)
        yield from _of_items((Item(name, Story.of_text(story.story), "Human", slug(name), brief),))


def _wikiplots(folder: Path, _: str) -> Iterator[CorpusText]:
    for number, plot in enumerate(wikiplots(folder), 1):
        yield CorpusText(f"wikiplots/{number}", "", "", partial(_plot, number, plot))


def _plot(number: int, plot: WikiPlot) -> Item:
    story = Story.of_text(plot.text)
    return Item(f"wikiplots/{number}", Story(plot.title, story.scenes), "Wikipedia", str(number))


def _writing_prompts(folder: Path, split: str) -> Iterator[CorpusText]:
    for one in writing_prompts(folder, split):
        yield CorpusText(
            f"writing-prompts/{split}/{one.number}", one.prompt, _asked(one), partial(_prompted, split, one)
        )


def _prompted(split: str, one: PromptedStory) -> Item:
    name = f"writing-prompts/{split}/{one.number}"
    return Item(name, Story.of_text(one.story), "Reddit", _asked(one), brief_of(one.prompt, name))


def _asked(one: PromptedStory) -> str:
    return f"writing-prompts-{prompt_id(one.prompt)}" if one.prompt else ""


def _dialogsum(folder: Path, split: str) -> Iterator[CorpusText]:
    for one in dialogsum.dialogues(folder, split):  # type: ignore[arg-type] # `entries` has looked
        yield CorpusText(f"dialogsum/{split}/{one.id}", "", "", partial(_dialogue, split, one))


def _dialogue(split: str, one: Dialogue) -> Item:
    """A dialogue, with a person's summary as what it plays."""
    return Item(f"dialogsum/{split}/{one.id}", Story.of_text(one.dialogue), "", one.id, narrative=one.summary)


_READERS: Final[Mapping[str, Callable[[Path, str], Iterator[CorpusText]]]] = {
    "tell-me-a-story": lambda folder, split: _of_items(tell_me_a_story(folder, split)),
    "wikiplots": _wikiplots,
    "writing-prompts": _writing_prompts,
    "ttcw": lambda folder, _: _of_items(ttcw.stories(folder)),
    "hanna": _hanna,
    "dialogsum": _dialogsum,
}


# Tell Me A Story: writing prompts with people's stories (Huot et al. 2024, section 4.3), decrypted in memory ---------

# The files are published encrypted, with their keys, to keep them from scrapers: each file is a Fernet token; its key
# is encrypted with RSA (OAEP, SHA-256), and the private key lies next to it.
_MOST_STORIES: Final = 20_000_000
_MAX_KEY: Final = 100_000
_WRITER: Final = "Humans"


def tell_me_a_story(folder: Path, split: str) -> tuple[Item, ...]:
    """The stories of a split, with their prompts as briefs.

    `folder` holds `tell-me-a-story-SPLIT_encrypted.jsonl` with `keys.zip` (or `skey.key` and `private_key.pem`), or
    the decrypted `tell-me-a-story-SPLIT.jsonl`. Nothing is written.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: a file is absent, does not fit its key, or a line is not a story or occurs twice.
    """
    _check_split("tell-me-a-story", split)
    text, name = _told(folder, split)
    records = list(parse_lines(text, name))
    unique([(str(record.fields.get("example_id")), record) for record in records])
    return tuple(_item(record, split) for record in records)


def _told(folder: Path, split: str) -> tuple[str, str]:
    stem = f"tell-me-a-story-{split}"
    if plain := find(folder, f"{stem}.jsonl"):
        return read_bounded(plain, _MOST_STORIES), str(plain)
    if not (folder / f"{stem}_encrypted.jsonl").is_file():
        raise UsageError(
            f"There is no {stem}_encrypted.jsonl in {folder}. Fetch it with `fabula lab reproduce --fetch "
            f"tell-me-a-story`."
        )
    data = content(folder, f"{stem}_encrypted.jsonl", _MOST_STORIES)
    return _decrypted(data, folder), str(folder / f"{stem}_encrypted.jsonl")


def _decrypted(data: bytes, folder: Path) -> str:
    require("cryptography", "data", "Tell Me A Story, which is published encrypted,")
    from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415 - 0.1 s that only this needs
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415 - an extra

    keys = folder / "keys.zip" if (folder / "keys.zip").is_file() else folder
    try:
        private = serialization.load_pem_private_key(content(keys, "private_key.pem", _MAX_KEY), password=None)
        if not isinstance(private, rsa.RSAPrivateKey):
            raise UsageError(f"The key private_key.pem in {keys} is not an RSA key. Fetch the keys again.")
        oaep = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
        secret = private.decrypt(content(keys, "skey.key", _MAX_KEY), oaep)
        return Fernet(secret).decrypt(data).decode("utf-8-sig")
    except InvalidToken as error:
        raise UsageError(f"The stories in {folder} do not fit the keys in {keys}. Fetch both again.") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"The keys in {keys} cannot be used ({error}). Fetch them again.") from error


def _item(record: Record, split: str) -> Item:
    number = str(record.fields["example_id"]) if "example_id" in record.fields else record.text("example_id")
    text = record.text("targets")
    if not text.strip():
        raise UsageError(f"{record.where}: the story is empty. Fetch the file again.")
    brief = Brief.of_text(record.text("inputs"), record.where)
    name = f"tell-me-a-story/{split}/{number}"
    return Item(name, Story.of_text(text), _WRITER, slug(name), brief)


# WikiPlots: plots of books, films and games from the English Wikipedia (Riedl 2017) ----------------------------------

_MOST_PLOTS: Final = 2_000_000_000
_END: Final = "<EOS>"


@dataclass(frozen=True, slots=True)
class WikiPlot:
    """A plot: the title of its article, and its sentences."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences in one paragraph."""
        return " ".join(self.sentences)


def wikiplots(path: Path) -> Iterator[WikiPlot]:
    """The plots in `plots.zip`, or in a folder that holds its files `plots` and `titles`; one at a time.

    Raises:
        UsageError: a file is absent, damaged or too large, or there are not as many titles as plots.
    """
    path = path / "plots.zip" if (path / "plots.zip").is_file() else path
    titles = lines(path, "titles", _MOST_PLOTS)
    for number, sentences in _sentences(path):
        found = next(titles, None)
        if found is None:
            raise UsageError(f"{path}: the plot that ends in line {number} of 'plots' has no title. Fetch it again.")
        yield WikiPlot(found[1], sentences)
    if more := [number for number, title in titles if title.strip()]:
        raise UsageError(f"{path}: the title in line {more[0]} of 'titles' has no plot. Fetch it again.")


def _sentences(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    sentences: list[str] = []
    number = 0
    for number, line in lines(path, "plots", _MOST_PLOTS):
        if line.strip() == _END:
            yield number, tuple(sentences)
            sentences = []
        elif line.strip():
            sentences.append(line.strip())
    if sentences:
        raise UsageError(f"{path}: 'plots' ends in line {number} within a plot. Fetch it again.")


# WritingPrompts: prompts and stories from Reddit, in tokens (Fan et al. 2018) ----------------------------------------

_MOST_PROMPTS: Final = 4_000_000_000
_ARCHIVE: Final = "writingPrompts.tar.gz"
_NEW_LINE: Final = re.compile(r"(?:(?<!\s)\s++)?+<newline>\s*+")
_TAG: Final = re.compile(r"\[\s*(\w+)\s*\]\s*")


@dataclass(frozen=True, slots=True)
class PromptedStory:
    """A prompt and one story for it; several stories may have one prompt.

    Attributes:
        number: of the line, from 1.
        tag: the kind of prompt, as "WP"; empty where there is none.
        prompt: in tokens, as published, without its tag.
        story: in tokens, as published, with line ends where it has `<newline>`.
    """

    number: int
    tag: str
    prompt: str
    story: str


def writing_prompts(path: Path, split: str) -> Iterator[PromptedStory]:
    """The prompts and stories of a split, from the archive or a folder of its files; one at a time.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: a file is absent, damaged or too large, or there are not as many prompts as stories.
    """
    _check_split("writing-prompts", split)
    path = path / _ARCHIVE if (path / _ARCHIVE).is_file() else path
    targets = lines(path, f"{split}.wp_target", _MOST_PROMPTS)
    for number, prompt in lines(path, f"{split}.wp_source", _MOST_PROMPTS):
        story = next(targets, None)
        if story is None:
            raise UsageError(f"{path}: the prompt in line {number} of {split}.wp_source has no story. Fetch it again.")
        tag = _TAG.match(prompt)
        asked = prompt[tag.end() :] if tag else prompt
        yield PromptedStory(number, tag[1] if tag else "", asked.strip(), _NEW_LINE.sub("\n", story[1]).strip())
    if next(targets, None) is not None:
        raise UsageError(f"{path}: {split}.wp_target has more stories than there are prompts. Fetch it again.")
