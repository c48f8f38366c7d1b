"""A project's world as pages show it: facts in rows, by scene and character, each with the sentence that states it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.app.world import READ_FILE, WORLD_FILE, person_of, spelled, world_of
from fabula.base.errors import FabulaError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.craft.quoting import located
from fabula.project.folder import MAX_STORY, STORY
from fabula.story import Story, one_line, plain, slug
from fabula.story.codex import FILE as CODEX_FILE
from fabula.story.sentences import spans, spans_at
from fabula.story.world import NOW, Moment, WorldState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.project.folder import ProjectFolder
    from fabula.story.world import Entity, Fact


def has_world(folder: Path) -> bool:
    """Whether the project's world contains any records."""
    return any(is_plain(folder / file) for file in (WORLD_FILE, READ_FILE, CODEX_FILE)) or bool(
        plain_files(folder / "world", "*.json")
    )


def people_of(state: WorldState) -> tuple[str, ...]:
    """Everyone who can know something (characters, witnesses, sources, later learners), the best informed first."""
    counts: dict[str, int] = {}
    for entity in state.entities():
        if entity.kind == "character":
            counts.setdefault(state.index.owner(entity.name), 0)
    for fact in state.facts():
        later = (who for who, _ in state.learned(fact.id))
        for name in (*(fact.witnesses or ()), fact.source, *later):
            if name:
                owner = state.index.owner(name)
                counts[owner] = counts.get(owner, 0) + 1
    names = spelled(state)
    return tuple(names.get(owner, owner) for owner in sorted(counts, key=lambda owner: -counts[owner]))


# showing ------------------------------------------------------------------------------------------------------------


def value_shown(fact: Fact) -> str:
    """A fact's value in words, with "not" if the fact is denied."""
    items = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    shown = ", ".join("nothing" if item is None else str(item) for item in items)
    return one_line(shown if fact.polarity else f"not {'anything' if fact.value is None else shown}")


def modality_shown(fact: Fact) -> str:
    """How a fact is stated, if it is not a plain statement of the story: "believed by Mara"."""
    if fact.modality in ("asserted", "author"):
        return ""
    return f"{fact.modality}{f' by {fact.source}' * bool(fact.source)}"


def witnesses_shown(fact: Fact) -> str:
    """The characters that learn of a fact when it is told."""
    if fact.witnesses is None:
        return "all" if fact.public else fact.source
    return ", ".join(fact.witnesses) or "nobody"


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact in the form that tables show.

    Attributes:
        about: others whom the fact concerns.
        scene: the number of the scene that tells it, from 1; 0 for facts that were recorded beforehand.
        said: how it is stated, if it is not a plain statement.
        known_to: the characters that learn of it when it is told.
        since: for one character: the number of the scene in which they learned of it.
        outdated: for one character: whether it is no longer true, and the character has not learned of that.
        quoted: whether the scene's words that state it are known.
    """

    id: int
    subject: str
    slot: str
    value: str
    about: tuple[str, ...]
    scene: int
    title: str
    said: str
    known_to: str
    since: int | None = None
    outdated: bool = False
    quoted: bool = False

    def has(self, words: Sequence[str]) -> bool:
        """Whether the row contains all of these words, which are in lower case."""
        text = " ".join((self.subject, self.slot, self.value, *self.about, self.said, self.known_to)).casefold()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class FactsBeside:
    """The facts of a story's world at the end of a scene, for someone who reads the scene.

    Attributes:
        told: the first facts that the scene itself tells.
        before: the first facts about those present that were told before.
        total: how many facts hold there in all.
    """

    told: tuple[FactRow, ...]
    before: tuple[FactRow, ...]
    total: int


@dataclass(frozen=True)
class ProjectWorld:
    """A project's world, read into memory at once, so that any thread can query it.

    Attributes:
        state: the world's state, already closed; what is in memory can be queried.
        titles: the titles of the scenes, by number.
        parts: the parts of the story, in their current versions.
        there: whether anything is recorded.
    """

    state: WorldState
    titles: dict[int, str]
    parts: tuple[StoryPart, ...] = ()
    there: bool = True

    @classmethod
    def of(cls, project: ProjectFolder) -> ProjectWorld:
        """What is recorded in a project; an empty world if nothing is.

        Raises:
            ProjectError: the world cannot be read.
        """
        parts = story_parts(project)
        if not has_world(project.folder):
            return cls(WorldState(), {}, parts, there=False)
        with world_of(project) as state:
            titles = {row.no: row.title for row in state.scenes()}
        for part in parts:
            if slug(titles.get(part.number) or part.label) == slug(part.label):
                titles[part.number] = part.label
        return cls(state, titles, parts)

    @property
    def scenes(self) -> tuple[int, ...]:
        """The numbers of all scenes that are known or that tell a fact."""
        return tuple(sorted({*self.titles, *(fact.told.scene for fact in self.state.facts())}))

    @property
    def people(self) -> tuple[str, ...]:
        """Everyone who can know something."""
        return people_of(self.state)

    def at(self, scene: int | None) -> Moment:
        """The end of a scene; the end of the story for `None`."""
        return NOW if scene is None else Moment.end(scene)

    def person(self, who: str) -> str:
        """A name in the spelling of the world.

        Raises:
            UnknownNameError: nobody has this name.
        """
        return person_of(self.state, who)

    def facts(self, scene: int | None = None, of: str = "", search: str = "") -> tuple[FactRow, ...]:
        """The facts that hold at the end of a scene; with `of`, those that a character believes.

        Args:
            scene: the scene's number; `None` for the end of the story.
            of: a character's name.
            search: words that a row must all contain.

        Raises:
            UnknownNameError: nobody has this name.
        """
        at = self.at(scene)
        if of:
            known = self.state.known_to(self.person(of), at)
            rows = [self._row(one.fact, one.since.scene, outdated=one.outdated) for one in known]
        else:
            rows = [self._row(fact) for fact in self.state.snapshot(at)]
        words = search.casefold().split()
        return tuple(row for row in rows if row.has(words))

    def _row(self, fact: Fact, since: int | None = None, *, outdated: bool = False) -> FactRow:
        return FactRow(
            fact.id,
            one_line(fact.subject),
            one_line(fact.slot),
            value_shown(fact),
            fact.about,
            fact.told.scene,
            self.titles.get(fact.told.scene, ""),
            modality_shown(fact),
            witnesses_shown(fact),
            since,
            outdated,
            bool(fact.quote.strip() or fact.span),
        )

    def beside(self, scene: int, people: Sequence[str], most: int) -> FactsBeside:
        """The facts at the end of a scene that belong to it: those told there, or known about those present.

        Args:
            scene: the scene's number.
            people: the names of those present; if empty, those about whom the scene tells something.
            most: the most facts of either kind; of those told before, the newest come first.
        """
        rows = self.facts(scene)
        told = [row for row in rows if row.scene == scene]
        before = [row for row in self._about(rows, people or [row.subject for row in told]) if row.scene < scene]
        before.sort(key=lambda row: -row.scene)
        return FactsBeside(tuple(told[:most]), tuple(before[:most]), len(rows))

    def about(self, name: str, scene: int | None = None) -> tuple[FactRow, ...]:
        """The facts about a person or thing that hold at the end of a scene, the newest first."""
        return tuple(sorted(self._about(self.facts(scene), [name]), key=lambda row: -row.scene))

    def _about(self, rows: Sequence[FactRow], names: Sequence[str]) -> list[FactRow]:
        owner = self.state.index.owner
        wanted = {owner(name) for name in names}
        return [row for row in rows if wanted & {owner(name) for name in (row.subject, *row.about)}]

    def row(self, number: int) -> FactRow:
        """The row of one fact.

        Raises:
            UsageError: there is no fact with that number.
        """
        return self._row(self.state.fact(number))

    def sentence(self, number: int) -> Quoted | None:
        """The sentence that states a fact; `None` if its words are unknown or no longer in the story.

        Raises:
            UsageError: there is no fact with that number.
        """
        return sentence_of(self.state.fact(number), self.parts)

    def part(self, number: int) -> StoryPart | None:
        """The part of the story that corresponds to a scene's number."""
        return next((part for part in self.parts if part.number == number), None)

    def entities(self, scene: int | None = None) -> tuple[Entity, ...]:
        """The people and things that are named and described by the end of a scene."""
        at = self.at(scene)
        return tuple(one for one in self.state.entities() if one.kind and one.scene <= at.scene)


# the sentence of a fact ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoryPart:
    """A part of the story in its current version.

    Attributes:
        number: its number from 1 in the order of telling, which facts and findings use.
        name: the name of the artefact; empty for a part of a story that exists only as `story.md`.
        label: the story's own name for the part.
    """

    number: int
    name: str
    file: str
    label: str
    text: str


def story_parts(project: ProjectFolder) -> tuple[StoryPart, ...]:
    """The parts of a project's story in the order of telling, with their newest texts, changed in a file or not."""
    with project.journal as journal:
        places = {path: file for path, file in journal.artefacts.places().items() if file.startswith("story/")}
        texts = {path: plain(journal.artefacts.newest(path) or "") for path in places}
        with suppress(FabulaError):  # a run says which changes contradict each other
            texts |= {change.path: change.text for change in project.changes(journal) if change.path in places}
    told = Story.parse(read_text(project.story_file, MAX_STORY)).scenes if project.story_file.is_file() else ()
    if not places:  # a story that was brought along
        return tuple(StoryPart(n, "", STORY, scene.label, scene.text) for n, scene in enumerate(told, 1))
    labels = {slug(scene.label): scene.label for scene in told}
    ranks = {label: rank for rank, label in enumerate(labels)}
    used = [path for path in places if not labels or slug(path) in labels]
    used.sort(key=lambda path: (ranks.get(slug(path), 0), places[path]))
    return tuple(
        StoryPart(number, path, places[path], _called(labels.get(slug(path), path), texts[path]), texts[path])
        for number, path in enumerate(used, 1)
    )


def _called(label: str, text: str) -> str:
    """A part's label, spelled as in the heading at the beginning of its text, if that is the same title."""
    heading = text.partition("\n")[0].lstrip("#").strip()
    return heading if text.startswith("#") and slug(heading) == slug(label) else label


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence in a part of the story.

    Attributes:
        start, end: start and end of the sentence, in characters of the part's text.
        focus: start and end of the words in question, in characters of the part's text.
    """

    part: StoryPart
    start: int
    end: int
    focus: tuple[int, int]

    @property
    def sentence(self) -> str:
        """The sentence in its current form."""
        return self.part.text[self.start : self.end]

    def pieces(self, around: int | None = None) -> dict[str, Any]:
        """The words in question, with the text before and after them; at most `around` sentences of each."""
        text, (low, high) = self.part.text, self.focus
        first, last = 0, len(text)
        if around is not None:
            sentences = spans(text)
            at = next((n for n, (a, b) in enumerate(sentences) if a <= low < b), None)
            if at is not None:
                first = sentences[max(at - around, 0)][0]
                last = sentences[min(at + around, len(sentences) - 1)][1]
        first, last = min(first, low), max(last, high)
        return {"before": text[first:low], "focus": text[low:high], "after": text[high:last],
                "cut_before": first > 0, "cut_after": last < len(text)}  # fmt: skip


def sentence_at(part: StoryPart, low: int, high: int) -> Quoted:
    """The sentences that contain some words, given in characters of the part's text."""
    held = spans_at(part.text, low, high)
    return Quoted(part, min((a for a, _ in held), default=low), max((b for _, b in held), default=high), (low, high))


def sentence_of(fact: Fact, parts: Sequence[StoryPart]) -> Quoted | None:
    """The sentence that states a fact; `None` if its words are unknown or no longer in the story."""
    part = next((part for part in parts if part.number == fact.told.scene), None)
    if part is None or not fact.quote.strip():
        return None
    found = located(part.text, fact.quote)
    if not found:
        return None
    near = fact.span[0] if fact.span else 0
    return sentence_at(part, *min(found, key=lambda place: abs(place[0] - near)))
