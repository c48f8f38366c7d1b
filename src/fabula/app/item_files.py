"""Reading stories from files, folders, projects and data sets, in order to measure them or learn from them."""

from __future__ import annotations

import csv
import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from typing import Any, Final

from fabula.base.characters import readable
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import read_text, text_lines
from fabula.base.plugins import plain_name
from fabula.continuity.scenes import Form, split
from fabula.craft import CONVERSATIONS, NARRATIVE_FILE
from fabula.data.corpora import CorpusText, entries, prompt_id
from fabula.data.sets import SETS, DataSet
from fabula.data.story_files import SCREENPLAYS, SUFFIXES, is_chat, is_project, text_of
from fabula.engine.folders import is_path
from fabula.measure.items import Item
from fabula.project.packed import RECORD, PackedRecord, packed_story
from fabula.project.settings import Settings
from fabula.story import Brief, Scene, Story, count_words
from fabula.training.examples import ExampleSource

MAX_STORY_BYTES: Final = 20_000_000
MAX_SET_BYTES: Final = 2_000_000_000
MOST: Final = 20_000
"""The maximum number of stories that are read at once if no limit is given."""
STORY_SUFFIXES: Final = (".md", ".txt")
TABLES: Final = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")
_TABLE: Final = "a .jsonl or .csv file"
_BRIEF: Final = ".brief"  # between the name of a story and the suffix, in the file of what was asked
_SET: Final = re.compile(r"([a-z][a-z-]*)(?::([a-z]*))?")


class _NoStoryError(UsageError):
    """One of the stories has no text."""


class _NoRunError(_NoStoryError):
    """A run of an experiment has no story: it failed, or is not finished."""


@dataclass(frozen=True)
class _Place:
    """The place of one story, and how to read it.

    Attributes:
        key: the key for drawing: the same on every machine and in every folder.
    """

    path: Path
    read: Callable[[], Item]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of stories to read.

    Attributes:
        data: the folder of the data sets; if there is none, a set is in the folder in its name.
        limit: how many are drawn in all; `None` for all of them.
        seed: the seed for drawing. A larger limit keeps the stories that a smaller one drew.
    """

    data: Path | None = None
    limit: int | None = None
    seed: int = 0

    def draw(self, keyed: Iterable[tuple[str, Any]]) -> list[Any]:
        """As many objects as the limit allows, drawn by their keys, in their order; the others are not kept in memory.

        Raises:
            UsageError: there is no limit, and there are too many objects to read at once.
        """
        if self.limit is None:
            found = [thing for _, thing in islice(keyed, MOST + 1)]
            if len(found) > MOST:
                raise UsageError(
                    f"There are more than {MOST:,} texts. Limit the number drawn with --limit N, or with "
                    "`limit` in an experiment."
                )
            return found
        chances = ((self._chance(key), number, thing) for number, (key, thing) in enumerate(keyed))
        drawn = heapq.nsmallest(self.limit, chances, key=lambda one: one[:2])
        return [thing for _, _, thing in sorted(drawn, key=lambda one: one[1])]

    def drawn(self, keys: Iterable[str]) -> set[int] | None:
        """The positions of the objects that `draw` draws, from the keys of all; `None` for all of them."""
        if self.limit is None:
            return None
        return set(self.draw((key, number) for number, key in enumerate(keys)))

    def _chance(self, key: str) -> bytes:
        return sha256(f"{self.seed}\0{key}".encode("utf-8", "surrogatepass")).digest()


EVERYTHING: Final = Selection()


def read_items(paths: Sequence[Path], selection: Selection = EVERYTHING) -> tuple[Item, ...]:
    """The stories in files, folders and data sets.

    A file of text (one of `story_files.KINDS`) or the project of a writing program is a story; the brief of a file may
    be next to it in `NAME.brief.md`. A .jsonl file has one story per line, and a .csv file one per row, with the fields
    `id`, `text` and, if they are known, `system`, `prompt`, `brief`, `reference`, `narrative` and `title`. Instead, it
    may have pairs of a prompt and a story: `prompt` and `completion` or `story`, `inputs` and `targets`. A folder is a
    project (its story, brief and system), or contains a folder for each system with stories in files that are named
    after their prompts, or contains stories or projects. It may also be the folder of an experiment: systems and
    prompts are then those of the experiment, and runs without a story are left out. The conversation
    `PROJECT/chat/NAME.md` is read with the narrative of its project: `PROJECT/NAME`. Files with the same name in
    several folders are named by folder and file. A data set is named as in `tell-me-a-story`, or one of its splits as
    in `tell-me-a-story:train`.

    Raises:
        UsageError: nothing is there, a story is empty, a line is not an item, or two items have the same id.
    """
    return read_all(paths, selection, lenient=False)[0]


def read_all(
    paths: Sequence[Path], selection: Selection = EVERYTHING, *, lenient: bool = True
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories that `read_items` reads, and for stories without text, the reasons why they are left out.

    Raises:
        UsageError: no story has text, a line is not an item, or two items have the same id. Unless `lenient`, any
            empty story is also an error, except for the runs of an experiment.
        that is empty, but for the runs of an experiment.
    """
    found: list[tuple[Path, Item]] = []
    problems = []
    places = chain.from_iterable(_places(path, selection) for path in paths)
    for place in selection.draw((place.key or place.path.name, place) for place in places):
        try:
            found.append((place.path, place.read()))
        except _NoStoryError as problem:
            if not lenient and not isinstance(problem, _NoRunError):
                raise
            problems.append(str(problem))
    items = _told_apart(found)
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        files = [file for (file, _), item in zip(found, items, strict=True) if item.id == twice[0]]
        if len({file.resolve() for file in files}) == 1 and not files[0].name.endswith(TABLES):
            raise UsageError(f"The story {files[0]} is given twice. Give each story once.")
        where = " and ".join(dict.fromkeys(map(str, files[:2])))
        raise UsageError(f"Two stories have the id {twice[0]!r}, in {where}. Rename one of the files or change the id.")
    if problems and not items:
        raise UsageError(problems[0])
    if not items:
        where = ", ".join(map(str, paths)) or "nothing"
        raise UsageError(f"No story found in {where}. Provide text, .jsonl or .csv files, or a data set.")
    return items, tuple(problems)


def each_item(paths: Sequence[Path], selection: Selection) -> Iterator[Item | str]:
    """The stories that `read_items` reads, one at a time in any number; for a story without text, the reason.

    Files with the same name are not told apart.

    Raises:
        UsageError: a line is not an item.
    """

    def places() -> Iterator[_Place]:
        return chain.from_iterable(_places(path, selection) for path in paths)

    drawn = selection.drawn(place.key or place.path.name for place in places())
    for number, place in enumerate(places()):
        if drawn is not None and number not in drawn:
            continue
        try:
            yield place.read()
        except _NoStoryError as problem:
            yield str(problem)


def runs_without_story(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The runs of experiments in folders that `read_items` leaves out."""
    found = (place.path for path in paths if path.is_dir() for place in _folder(path))
    return tuple(path for path in found if _is_run(path) and not _has_story(path))


# data sets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A data set as a user named it.

    Attributes:
        split: one of its splits; empty for all.
        folder: its folder.
    """

    data: DataSet
    split: str
    folder: Path

    def entries(self) -> Iterator[CorpusText]:
        """Its texts, in the form of `corpora.entries`."""
        return entries(self.data, self.split, self.folder)


def named_set(path: Path, data: Path | None) -> NamedSet | None:
    """The data set that a path names; `None` for any other path.

    `SET` or `SET:SPLIT` is searched for in the folder of all sets, and `DIR/SET` or `DIR/SET:SPLIT` in `DIR`. A folder
    with that name is only a set if it contains the set's files.

    Raises:
        UnknownNameError: the path looks like a data set, but there is none with that name.
    """
    read = _SET.fullmatch(path.name)
    if read is None or path.is_file():
        return None
    known = SETS.get(read[1])
    if known is None or (path.is_dir() and not known.is_in(path)):
        if known is None and read[2] is not None and not path.exists():
            raise UnknownNameError("data set", read[1], [name for name, one in SETS.items() if one.holds != "numbers"])
        return None
    if path.is_dir():
        return NamedSet(known, read[2] or "", path)
    home = path.parent if len(path.parts) > 1 or data is None else data
    return NamedSet(known, read[2] or "", known.folder(home))


def sources_of(sources: Iterable[str]) -> tuple[ExampleSource, ...]:
    """The sources of stories, with licences, for cards: data sets, and the user's own texts."""
    counts = Counter(sources)
    return tuple(
        ExampleSource(name, SETS[name].title, SETS[name].licence, count)
        if name
        else ExampleSource("own", "texts of one's own", "not stated", count)
        for name, count in counts.items()
    )


def notices(sources: Iterable[str]) -> tuple[str, ...]:
    """A notice for each data set that texts are from: the number of texts, the licence and the publisher."""
    counts = Counter(source for source in sources if source)
    return tuple(f"{count:,} from {SETS[name].notice}" for name, count in counts.items())


def _of_set(entry: CorpusText, name: str) -> Item:
    item = entry.read()
    if not count_words(item.story.text):
        raise _NoStoryError(f"The story {item.id} is empty.")
    return replace(item, source=name)


# places --------------------------------------------------------------------------------------------------------------


def _told_apart(found: Sequence[tuple[Path, Item]]) -> tuple[Item, ...]:
    """The items; files with the same name get as many of their parent folders as distinguish them."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, item) in enumerate(found):
        groups[item.id].append(number)
    items = [item for _, item in found]
    for name, numbers in groups.items():
        ways = [_way(found[number][0]) for number in numbers]
        length = name.count("/") + 1
        named = all("/".join(way[-length:]) == name for way in ways)  # after their files, not by an id of their own
        if len(numbers) > 1 and named and len(set(ways)) == len(ways):
            while len({way[-length:] for way in ways}) < len(ways):
                length += 1
            for number, way in zip(numbers, ways, strict=True):
                items[number] = replace(items[number], id="/".join(way[-length:]))
    return tuple(items)


def _way(path: Path) -> tuple[str, ...]:
    """The folders down to a story's file or project, and its name."""
    resolved = path.resolve()
    if resolved.name == "story.md":
        resolved = resolved.parent
    return (*resolved.parent.parts, resolved.name if resolved.is_dir() else resolved.stem)


def _places(path: Path, selection: Selection) -> Iterator[_Place]:
    named = named_set(path, selection.data)
    if named is not None:
        for entry in named.entries():
            yield _Place(path, partial(_of_set, entry, named.data.name), entry.key)
    elif path.is_dir():
        yield from _folder(path)
    else:
        yield from _in_file(path)


def _in_file(path: Path) -> Iterator[_Place]:
    if path.name.endswith(TABLES) and not is_chat(path):
        for read, name, where in table_lines(path):
            yield _Place(path, partial(_of_table, read, name, where), f"{path.name}{name}")
    elif path.resolve().parent.name == CONVERSATIONS and (path.resolve().parents[1] / "brief.md").is_file():
        yield _Place(path, partial(_conversation, path))
    else:
        yield _Place(path, partial(_file, path, _name(path)))


def _file(path: Path, name: str, system: str = "", prompt: str = "") -> Item:
    story = story_in(path)
    asked = next(
        (file for end in STORY_SUFFIXES if (file := path.with_name(f"{path.stem}{_BRIEF}{end}")).is_file()), None
    )
    return Item(name, story, system, prompt, Brief.read(asked) if asked else None)


def story_in(path: Path) -> Story:
    """The story in its own file.

    Raises:
        UsageError: the file cannot be read, or contains no story.
    """
    text, form = text_of(path, MAX_STORY_BYTES), _FORMS.get(path.suffix.casefold())
    if form is None:
        return _with_words(Story.parse(text), str(path))
    scenes = split(text, form).scenes if count_words(text) else ()
    found = tuple(Scene(scene.title or f"scene {scene.number}", scene.text) for scene in scenes)
    return _with_words(Story("", found), str(path))


_FORMS: Final[Mapping[str, Form]] = {".json": "json", **dict.fromkeys(SCREENPLAYS, "fountain")}


def _folder(folder: Path) -> Iterator[_Place]:
    if is_project(folder):
        yield _Place(folder, partial(_file, folder, _name(folder)))
        return
    if (folder / "brief.md").is_file():
        yield _Place(folder, partial(_project, folder))
        return
    if (folder / "experiment.toml").is_file() and (folder / "runs").is_dir():
        folder /= "runs"
    inner = [path for path in sorted(folder.iterdir()) if path.name[0] not in "._"]
    for path in inner:
        if path.is_dir():
            yield from _folder(path) if (path / "brief.md").is_file() else _system(path)
        elif path.name.endswith((*SUFFIXES, *TABLES)) and not _asked(path):
            yield from _in_file(path)


def _system(folder: Path) -> Iterator[_Place]:
    """The stories of one system: files named after their prompts."""
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES and path.is_file() and not _asked(path):
            name = f"{folder.name}/{path.stem}"
            yield _Place(path, partial(_file, path, name, folder.name, path.stem), name)
        elif path.is_dir() and (path / "brief.md").is_file():
            yield _Place(path, partial(_project_of, folder.name, path), f"{folder.name}/{path.name}")


def _asked(path: Path) -> bool:
    """Whether a file is the brief of the story next to it."""
    return path.stem.endswith(_BRIEF)


def _project_of(system: str, folder: Path) -> Item:
    made = _project(folder)
    if _is_run(folder):
        return made
    return Item(f"{system}/{folder.name}", made.story, system, folder.name, made.brief)


def _has_story(folder: Path) -> bool:
    return (folder / "story.md").is_file() or (PackedRecord.is_in(folder) and bool(packed_story(folder)))


def _project(folder: Path) -> Item:
    file, packed = folder / "story.md", PackedRecord.read(folder) if PackedRecord.is_in(folder) else None
    text = packed_story(folder) if packed else read_text(file, MAX_STORY_BYTES) if file.is_file() else None
    if text is None:
        kept = ", ".join(map(str, sorted((folder / CONVERSATIONS).glob("*.md"))))
        has = f" The folder contains conversations. To read them, specify their files: {kept}." if kept else ""
        kind = _NoRunError if _is_run(folder) else _NoStoryError
        raise kind(f"{folder} has no story yet. Write it with `fabula write {quote(str(folder))}`.{has}")
    brief = Brief.read(folder / "brief.md")
    story = _with_words(Story.parse(text), str(file))
    said = str(packed.settings["system"]) if packed else Settings.read(folder / "fabula.toml").system
    name, system = _name(folder), plain_name(Path(said).name) if is_path(said) else said
    asked = brief.title or prompt_id(brief.text)
    if _is_run(folder):  # PROMPT/CONTENDER-SEED
        asked, system = folder.resolve().parent.name, folder.resolve().name.rpartition("-")[0]
        name = f"{asked}/{folder.resolve().name}"
    return Item(name, story, system, asked, brief, narrative=_narrative(folder))


def _is_run(folder: Path) -> bool:
    """Whether a project is a run of an experiment."""
    return (folder / RECORD).is_file()


def _conversation(file: Path) -> Item:
    """What was said in a conversation, with its narrative: the project's narrative, else its story, else its brief."""
    folder = file.resolve().parents[1]
    brief = Brief.read(folder / "brief.md")
    narrative, written = _narrative(folder), folder / "story.md"
    if not narrative and written.is_file():
        narrative = Story.parse(read_text(written, MAX_STORY_BYTES)).text
    story = _with_words(Story.parse(read_text(file, MAX_STORY_BYTES)), str(file))
    return Item(f"{_name(folder)}/{file.stem}", story, "", brief.title or "", brief, narrative=narrative)


def _narrative(folder: Path) -> str:
    file = folder / NARRATIVE_FILE
    return read_text(file, MAX_STORY_BYTES).strip() if file.is_file() else ""


# tables: a story on each line or in each row --------------------------------------------------------------------------

_FIELDS: Final = ("id", "text", "system", "prompt", "brief", "reference", "narrative", "title")
_PAIRS: Final = (
    ("prompt", "completion"),
    ("inputs", "targets"),
    ("prompt", "story"),
    ("prompt", "response"),
    ("instruction", "output"),
    ("input", "output"),
)
_IDS: Final = ("id", "example_id", "story_id", "name")
_LONG: Final = 8  # words; a prompt of so many is no name of one


def table_lines(path: Path) -> Iterator[tuple[Callable[[str], Any], str, str]]:
    """For each line of a .jsonl file or row of a .csv file, a reader, a name, and the line's place.

    The reader is given the place, and raises a `UsageError` that names it if the line cannot be read.
    """
    stem = path.name.partition(".")[0]
    for number, read in _rows(path) if path.name.endswith((".csv", ".csv.gz")) else _lines(path):
        yield read, f"{stem}/{number}", f"{path}, line {number}"


def id_of(data: Mapping[str, Any], name: str) -> str:
    """The name of a line: its id, or else `name`."""
    given = next((data[one] for one in _IDS if isinstance(data.get(one), str | int) and data[one] != ""), name)
    return name if isinstance(given, bool) else str(given)


def _lines(path: Path) -> Iterator[tuple[int, Callable[[str], Any]]]:
    for number, line in text_lines(path, MAX_STORY_BYTES, MAX_SET_BYTES, _TABLE):
        if line.strip():
            yield number, partial(_json, line)


def _json(line: str, where: str) -> Any:  # noqa: ANN401 - JSON of any kind
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not valid JSON ({error}). Correct the line or remove it.") from error


def _rows(path: Path) -> Iterator[tuple[int, Callable[[str], Any]]]:
    csv.field_size_limit(MAX_STORY_BYTES)
    reader = csv.DictReader((line for _, line in text_lines(path, MAX_STORY_BYTES, MAX_SET_BYTES, _TABLE)), strict=True)
    try:
        for row in reader:
            yield reader.line_num, partial(_row, {name: value for name, value in row.items() if value})
    except csv.Error as error:
        raise UsageError(
            f"{path}, line {reader.reader.line_num}: not valid comma-separated values ({error}). Correct the file."
        ) from error


def _row(row: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401 - as `_json`
    if None in row:
        raise UsageError(
            f"{where}: there are more cells than column names in the first line. Enclose texts that contain "
            "commas in quotes."
        )
    return row


def _of_table(read: Callable[[str], Any], name: str, where: str) -> Item:
    data = read(where)
    return item_of(_usual(data, name) if isinstance(data, dict) else data, where)


def _usual(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields under our names, translated from those that others use; a story without an id gets `name`."""
    found = {field: value for field, value in data.items() if field in _FIELDS and value is not None}
    found |= {"id": id_of(data, name)}
    pair = next((pair for pair in _PAIRS if pair[1] in data), None)
    if pair and "text" not in data:
        found |= {"text": data[pair[1]], "brief": data.get(pair[0], ""), "prompt": ""}
    elif "brief" not in data and isinstance(asked := data.get("prompt", ""), str) and len(asked.split()) >= _LONG:
        found |= {"brief": asked}
    if isinstance(asked := found.get("brief"), str) and asked and (pair or found.get("prompt") == asked):
        found |= {"prompt": prompt_id(asked)}
    return found


def item_of(data: Any, where: str) -> Item:  # noqa: ANN401 - JSON of any kind
    """The story in an object of JSON or TOML data, with the fields that `read_items` names.

    Raises:
        UsageError: the data is not an object, a field is not text, or the story is empty; the message names `where`.
    """
    if not isinstance(data, dict) or not all(isinstance(data.get(name, ""), str) for name in _FIELDS):
        raise UsageError(f"{where}: expected an object with text in the fields {', '.join(_FIELDS)}. Correct the line.")
    data |= {name: readable(data[name]) for name in _FIELDS if name in data}
    if not data.get("id"):
        raise UsageError(f"{where}: the story has no id. Add an id.")
    if "text" not in data:
        names = ", ".join(f"`{asked}` and `{text}`" for asked, text in _PAIRS)
        raise _NoStoryError(f"{where} has no story in a known field: `text`, or {names}. Rename the field.")
    story = _with_words(Story.of_text(data["text"]), where)
    reference = _reference(data["reference"], f"{where}, reference") if data.get("reference") else None
    return Item(
        data["id"],
        replace(story, title=data["title"]) if data.get("title") else story,
        data.get("system", ""),
        data.get("prompt", ""),
        Brief.of_text(data["brief"], where) if data.get("brief") else None,
        reference,
        data.get("narrative", "").strip(),
    )


def _reference(text: str, where: str) -> Story:
    try:
        return _with_words(Story.of_text(text), where)
    except _NoStoryError as error:
        raise UsageError(str(error)) from error


def _with_words(story: Story, where: str) -> Story:
    if not count_words(story.text):
        raise _NoStoryError(f"The story in {where} is empty. Provide a story that contains text.")
    return story


def _name(path: Path) -> str:
    """The name of a file or folder in a report: without its suffix; for a project's story, the project's name."""
    resolved = path.resolve()
    return resolved.parent.name if resolved.name == "story.md" else resolved.stem or str(path)
