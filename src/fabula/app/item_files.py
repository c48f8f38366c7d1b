"""Reading the stories that are to be measured from files, folders and projects."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.craft.conversation.session import FOLDER as TALKS
from fabula.craft.narratives import FILE as NARRATIVE
from fabula.measure.items import Item
from fabula.project.settings import Settings
from fabula.story import Brief, Story, count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MAX_STORY_BYTES: Final = 20_000_000
MAX_SET_BYTES: Final = 500_000_000
STORY_SUFFIXES: Final = (".md", ".txt")


class _NoStoryError(UsageError):
    """One of the stories has no text."""


@dataclass(frozen=True)
class _Place:
    """Where one story is, and how it is read from there."""

    path: Path
    read: Callable[[], Item]


def read_items(paths: Sequence[Path]) -> tuple[Item, ...]:
    """The stories in files and folders.

    A text file (.md, .txt) is a story; a .jsonl file has one a line (`id`, `text`, and, where known, `system`,
    `prompt`, `brief`, `reference`, `narrative`, `title`). A folder is a project (its story, brief and system), or holds
    one folder for each system with its stories in files that are named after their prompts, or holds stories or
    projects. The conversation `PROJECT/chat/NAME.md` comes with the narrative of its project: `PROJECT/NAME`.
    Files of one name in several folders are called by folder and name.

    Raises:
        UsageError: nothing is there, a story is empty, a line is no item, or two items have one id.
    """
    return read_all(paths, lenient=False)[0]


def read_all(paths: Sequence[Path], *, lenient: bool = True) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories as `read_items` reads them, and of those that have no text why they are not among them.

    Raises:
        UsageError: no story has a text, a line is no item, or two items have one id; if not `lenient`, any story that
            is empty.
    """
    found: list[tuple[Path, Item]] = []
    problems = []
    for path in paths:
        for place in _places(path):
            try:
                found.append((place.path, place.read()))
            except _NoStoryError as problem:
                if not lenient:
                    raise
                problems.append(str(problem))
    items = _told_apart(found)
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise UsageError(f"Two stories have the id {twice[0]!r}. Rename one of the files or change the id.")
    if problems and not items:
        raise UsageError(problems[0])
    if not items:
        where = ", ".join(map(str, paths)) or "nothing"
        raise UsageError(f"No story found in {where}. Give .md, .txt or .jsonl files.")
    return items, tuple(problems)


def _told_apart(found: Sequence[tuple[Path, Item]]) -> tuple[Item, ...]:
    """The items; those of files that have one name, with as much of their folders before it as tells them apart."""
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


def _places(path: Path) -> Iterator[_Place]:
    if path.is_dir():
        yield from _folder(path)
    elif path.suffix == ".jsonl":
        yield from _lines(path)
    elif path.resolve().parent.name == TALKS and (path.resolve().parents[1] / "brief.md").is_file():
        yield _Place(path, partial(_conversation, path))
    else:
        yield _Place(path, partial(_file, path, _name(path)))


def _file(path: Path, name: str, system: str = "", prompt: str = "") -> Item:
    return Item(name, _story(read_text(path, MAX_STORY_BYTES), str(path)), system, prompt)


def _folder(folder: Path) -> Iterator[_Place]:
    if (folder / "brief.md").is_file():
        yield _Place(folder, partial(_project, folder))
        return
    inner = [path for path in sorted(folder.iterdir()) if path.name[0] not in "._"]
    for path in inner:
        if path.is_dir() and not (path / "brief.md").is_file():
            yield from _system(path)
        elif path.is_dir() or path.suffix in (*STORY_SUFFIXES, ".jsonl"):
            yield from _places(path)


def _system(folder: Path) -> Iterator[_Place]:
    """The stories of one system: files named after their prompts."""
    for path in sorted(folder.iterdir()):
        if path.suffix in STORY_SUFFIXES and path.is_file():
            yield _Place(path, partial(_file, path, f"{folder.name}/{path.stem}", folder.name, path.stem))
        elif path.is_dir() and (path / "brief.md").is_file():
            yield _Place(path, partial(_project_of, folder.name, path))


def _project_of(system: str, folder: Path) -> Item:
    made = _project(folder)
    return Item(f"{system}/{folder.name}", made.story, system, folder.name, made.brief)


def _project(folder: Path) -> Item:
    file = folder / "story.md"
    if not file.is_file():
        talks = ", ".join(map(str, sorted((folder / TALKS).glob("*.md"))))
        has = f" It has conversations; give their files: {talks}." if talks else ""
        raise _NoStoryError(f"{folder} has no story yet. Write it with `fabula write {folder}`.{has}")
    brief = Brief.read(folder / "brief.md")
    story = _story(read_text(file, MAX_STORY_BYTES), str(file))
    system = Settings.read(folder / "fabula.toml").system
    return Item(_name(folder), story, system, brief.title or "", brief, narrative=_narrative(folder))


def _conversation(file: Path) -> Item:
    """What was said in a project, with what it plays: the narrative that lies in it, else its story, else its brief."""
    folder = file.resolve().parents[1]
    brief = Brief.read(folder / "brief.md")
    narrative, written = _narrative(folder), folder / "story.md"
    if not narrative and written.is_file():
        narrative = Story.parse(read_text(written, MAX_STORY_BYTES)).text
    story = _story(read_text(file, MAX_STORY_BYTES), str(file))
    return Item(f"{_name(folder)}/{file.stem}", story, "", brief.title or "", brief, narrative=narrative)


def _narrative(folder: Path) -> str:
    file = folder / NARRATIVE
    return read_text(file, MAX_STORY_BYTES).strip() if file.is_file() else ""


def _lines(path: Path) -> Iterator[_Place]:
    for number, line in enumerate(read_text(path, MAX_SET_BYTES).split("\n"), 1):
        if line.strip():
            yield _Place(path, partial(_line, line, f"{path}, line {number}"))


_FIELDS: Final = ("id", "text", "system", "prompt", "brief", "reference", "narrative", "title")


def _line(line: str, where: str) -> Item:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: no JSON ({error}). Correct the line or take it out.") from error
    return item_of(data, where)


def item_of(data: Any, where: str) -> Item:  # noqa: ANN401 - JSON of any kind
    """The story in an object of JSON or TOML data, with the fields that `read_items` names.

    Raises:
        UsageError: it is no object, a field is no text, or the story is empty; says `where`.
    """
    if not isinstance(data, dict) or not all(isinstance(data.get(name, ""), str) for name in _FIELDS):
        raise UsageError(f"{where}: not an object with texts in {', '.join(_FIELDS)}. Correct the line.")
    data |= {name: readable(data[name]) for name in _FIELDS if name in data}
    if not data.get("id"):
        raise UsageError(f"{where}: the story has no id. Give it one.")
    reference = _reference(data["reference"], f"{where}, reference") if data.get("reference") else None
    return Item(
        data["id"],
        _story(data.get("text", ""), where, data.get("title", "")),
        data.get("system", ""),
        data.get("prompt", ""),
        Brief.parse(data["brief"], where) if data.get("brief") else None,
        reference,
        data.get("narrative", "").strip(),
    )


def _reference(text: str, where: str) -> Story:
    try:
        return _story(text, where)
    except _NoStoryError as error:
        raise UsageError(str(error)) from error


def _story(text: str, where: str, title: str = "") -> Story:
    story = Story.parse(text)
    if not count_words(story.text):
        raise _NoStoryError(f"The story in {where} is empty. Give one with text in it.")
    return Story(title, story.scenes) if title else story


def _name(path: Path) -> str:
    """What a file or folder is called in a report: its name without suffix; of a project's story, the project's."""
    resolved = path.resolve()
    return resolved.parent.name if resolved.name == "story.md" else resolved.stem or str(path)
