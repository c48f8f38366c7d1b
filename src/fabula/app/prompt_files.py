"""Reading writing prompts from files, folders and data sets, for experiments and for `data choose`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.item_files import EVERYTHING, STORY_SUFFIXES, TABLES, NamedSet, Selection, id_of, named_set, table_lines
from fabula.base.errors import UsageError
from fabula.data.corpora import BY_PEOPLE, prompt_id
from fabula.story import Brief, count_words, slug

if TYPE_CHECKING:
    from fabula.measure.items import Item


_ASKED: Final = ("brief", "prompt", "inputs", "instruction", "input", "text")


@dataclass(frozen=True, slots=True)
class WritingPrompt:
    """A writing prompt.

    Attributes:
        id: unique among the prompts read together; can be used in file names.
        brief: the request.
        source: the name of its data set; empty for your own prompts.
    """

    id: str
    brief: Brief
    source: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The texts of a data set that are used as prompts.

    Attributes:
        narratives: whether the stories themselves are used, as narratives to play, instead of their prompts.
        characters: the least and the greatest length in characters; empty if every length is accepted.
    """

    narratives: bool = False
    characters: tuple[int, int] | None = None

    def fits(self, text: str) -> bool:
        """Whether a text has an accepted length in characters."""
        return self.characters is None or self.characters[0] <= len(text) <= self.characters[1]


def read_prompts(
    paths: Sequence[Path], selection: Selection = EVERYTHING, wanted: Wanted = Wanted()
) -> tuple[WritingPrompt, ...]:
    """The prompts in files, folders and data sets, in the given order.

    A .md or .txt file is one prompt. A .jsonl or .csv file has one prompt per line, in `brief`, `prompt`, `inputs`,
    `instruction`, `input` or `text`. A folder contains such files. A data set's prompt with several stories comes once.

    Raises:
        UsageError: there are no prompts, a prompt is empty, or two have the same id.
    """
    keyed = ((found.id, found) for path in paths for found in _prompts(path, selection, wanted))
    prompts: tuple[WritingPrompt, ...] = tuple(selection.draw(keyed))
    if not prompts:
        where = ", ".join(map(str, paths)) or "nothing"
        raise UsageError(f"No prompt found in {where}. Provide .md, .txt, .jsonl or .csv files, or a data set.")
    known: dict[str, WritingPrompt] = {}
    for prompt in prompts:
        if known.setdefault(prompt.id, prompt) is not prompt:
            raise UsageError(f"Two prompts are called {prompt.id!r}. Rename one of the files, or change an id.")
    return prompts


def stories_for(named: NamedSet, asked: Collection[str]) -> dict[str, Item]:
    """People's stories of a data set by prompt id: the first story of each prompt in `asked`.

    Raises:
        UsageError: the set's stories were not written by people.
    """
    if named.data.name not in BY_PEOPLE:
        raise UsageError(
            f"The stories in {named.data.name} were not written by people. Sets with stories by people: "
            f"{', '.join(BY_PEOPLE)}."
        )
    found: dict[str, Item] = {}
    for entry in named.entries():
        if entry.asked in asked and entry.asked not in found:
            found[entry.asked] = replace(entry.read(), source=named.data.name)
    return found


def _prompts(path: Path, selection: Selection, wanted: Wanted) -> Iterator[WritingPrompt]:
    named = named_set(path, selection.data)
    if named is not None:
        yield from _narratives(named, wanted) if wanted.narratives else _of_set(named)
    elif path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.is_file() and inner.name.endswith((*STORY_SUFFIXES, *TABLES)) and inner.name[0] not in "._":
                yield from _prompts(inner, selection, wanted)
    elif path.name.endswith(TABLES):
        for read, name, where in table_lines(path):
            yield _of_line(read(where), name, where)
    else:
        yield WritingPrompt(slug(path.stem), Brief.read(path))


def _of_set(named: NamedSet) -> Iterator[WritingPrompt]:
    met: set[str] = set()
    found = False
    for entry in named.entries():
        found = True
        if count_words(entry.prompt) and (mark := prompt_id(entry.prompt)) not in met:
            met.add(mark)
            yield WritingPrompt(entry.asked, Brief.of_text(entry.prompt, entry.key), named.data.name)
    if found and not met:
        raise UsageError(
            f"{named.data.name} contains texts without prompts. Use a set with prompts, such as tell-me-a-story."
        )


def _narratives(named: NamedSet, wanted: Wanted) -> Iterator[WritingPrompt]:
    """The stories of a set, each as a narrative to play."""
    for entry in named.entries():
        story = entry.read().story
        if count_words(story.text) and wanted.fits(story.text):
            yield WritingPrompt(slug(entry.key), Brief(story.text, story.title), named.data.name)


def _of_line(data: Mapping[str, Any], name: str, where: str) -> WritingPrompt:
    text = next((data[field] for field in _ASKED if data.get(field)), "") if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise UsageError(f"{where}: none of the fields {', '.join(_ASKED)} contains text. Correct the line.")
    return WritingPrompt(slug(id_of(data, name)), Brief.of_text(text, where))
