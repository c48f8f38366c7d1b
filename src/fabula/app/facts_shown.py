"""A project's world as pages show it: facts in rows, by scene and character, each beside the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.app.world import READ_FILE, WORLD_FILE, person_of, spelled, world_of
from fabula.base.files import is_plain, plain_files, read_text
from fabula.craft.quoting import located
from fabula.project.folder import MAX_STORY, STORY
from fabula.story import Story, one_line, plain, slug
from fabula.story.sentences import spans
from fabula.story.world import NOW, Moment, WorldState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.project.folder import ProjectFolder
    from fabula.story.world import Entity, Fact


def has_world(folder: Path) -> bool:
    """Whether anything has been recorded of a project's world."""
    return any(is_plain(folder / file) for file in (WORLD_FILE, READ_FILE)) or bool(
        plain_files(folder / "world", "*.json")
    )


def people_of(state: WorldState) -> tuple[str, ...]:
    """Who can know something, those first who witness most: characters, witnesses, sources, and who learned later."""
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
    """A fact's value in words; a denied one with "not", and with how it is said where that binds nobody."""
    items = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    shown = ", ".join("nothing" if item is None else str(item) for item in items)
    return one_line(shown if fact.polarity else f"not {'anything' if fact.value is None else shown}")


def modality_shown(fact: Fact) -> str:
    """How a fact is said, where it is no plain statement of the story: "believed by Mara"."""
    if fact.modality in ("asserted", "author"):
        return ""
    return f"{fact.modality}{f' by {fact.source}' * bool(fact.source)}"


def witnesses_shown(fact: Fact) -> str:
    """Who learns of a fact as it is told."""
    if fact.witnesses is None:
        return "all" if fact.public else fact.source
    return ", ".join(fact.witnesses) or "nobody"


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact as tables show it.

    Attributes:
        about: others whom it concerns.
        scene: the number of the scene that tells it, from 1; 0 for what was set down beforehand.
        said: how it is said, where that is no plain statement.
        known_to: who learns of it as it is told.
        since: for one character: the number of the scene in which they learned of it.
        outdated: for one character: it is true no more, and they have not learned of that.
        quoted: the scene's words that say so are known.
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
        """Whether all of these words, in small letters, stand in it."""
        text = " ".join((self.subject, self.slot, self.value, *self.about, self.said, self.known_to)).casefold()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class FactsBeside:
    """What stands in a story's world at the end of a scene, for who reads the scene.

    Attributes:
        told: the first of what the scene itself tells.
        before: the first of what was told before, of those who are there.
        total: how many facts stand there in all.
    """

    told: tuple[FactRow, ...]
    before: tuple[FactRow, ...]
    total: int


@dataclass(frozen=True)
class ProjectWorld:
    """A project's world, read into memory at once, so that it can be asked from any thread.

    Attributes:
        state: closed already; what it has in memory can be asked.
        titles: of the scenes, by number.
        parts: of the story, as they stand.
        there: whether anything is recorded.
    """

    state: WorldState
    titles: dict[int, str]
    parts: tuple[StoryPart, ...] = ()
    there: bool = True

    @classmethod
    def of(cls, project: ProjectFolder) -> ProjectWorld:
        """What is recorded in a project; an empty world where nothing is.

        Raises:
            ProjectError: it cannot be read.
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
        """The numbers of all scenes that are known or that a fact is told in."""
        return tuple(sorted({*self.titles, *(fact.told.scene for fact in self.state.facts())}))

    @property
    def people(self) -> tuple[str, ...]:
        """Who can know something."""
        return people_of(self.state)

    def at(self, scene: int | None) -> Moment:
        """The end of a scene; the end of the story for `None`."""
        return NOW if scene is None else Moment.end(scene)

    def person(self, who: str) -> str:
        """A name as the world spells it.

        Raises:
            UnknownNameError: nobody is called so.
        """
        return person_of(self.state, who)

    def facts(self, scene: int | None = None, of: str = "", search: str = "") -> tuple[FactRow, ...]:
        """The facts that stand at the end of a scene; with `of`, those that somebody takes for true.

        Args:
            scene: its number; `None` for the end of the story.
            of: a character's name.
            search: words that all have to stand in a row.

        Raises:
            UnknownNameError: nobody is called so.
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
        """What stands at the end of a scene, as far as it belongs to it: told there, or known of who is there.

        Args:
            scene: its number.
            people: names of who is there; without any, of those of whom the scene tells something.
            most: facts of either kind, the newest first of those told before.
        """
        rows = self.facts(scene)
        told = [row for row in rows if row.scene == scene]
        owner = self.state.index.owner
        present = {owner(name) for name in people or [row.subject for row in told]}
        before = [
            row for row in rows if row.scene < scene and present & {owner(name) for name in (row.subject, *row.about)}
        ]
        before.sort(key=lambda row: -row.scene)
        return FactsBeside(tuple(told[:most]), tuple(before[:most]), len(rows))

    def row(self, number: int) -> FactRow:
        """One fact.

        Raises:
            UsageError: there is none of that number.
        """
        return self._row(self.state.fact(number))

    def sentence(self, number: int) -> Quoted | None:
        """Where the story says what a fact says; `None` where its words are not known, or stand there no more.

        Raises:
            UsageError: there is no fact of that number.
        """
        return sentence_of(self.state.fact(number), self.parts)

    def part(self, number: int) -> StoryPart | None:
        """The part of the story that a scene's number means."""
        return next((part for part in self.parts if part.number == number), None)

    def entities(self, scene: int | None = None) -> tuple[Entity, ...]:
        """Who and what is named by the end of a scene and described."""
        at = self.at(scene)
        return tuple(one for one in self.state.entities() if one.kind and one.scene <= at.scene)


# the sentence of a fact ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoryPart:
    """A part of the story as it stands.

    Attributes:
        number: from 1, in the order of telling; what facts and findings name.
        name: of the artefact; empty for a part of a story that was brought along as `story.md` alone.
        label: as the story calls it.
    """

    number: int
    name: str
    file: str
    label: str
    text: str


def story_parts(project: ProjectFolder) -> tuple[StoryPart, ...]:
    """The parts of a project's story in the order of telling, with their newest texts."""
    with project.journal as journal:
        places = {path: file for path, file in journal.artefacts.places().items() if file.startswith("story/")}
        texts = {path: plain(journal.artefacts.newest(path) or "") for path in places}
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
    """A part's label, in the spelling of the heading that its text begins with, where that is the same title."""
    heading = text.partition("\n")[0].lstrip("#").strip()
    return heading if text.startswith("#") and slug(heading) == slug(label) else label


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence in a part of the story.

    Attributes:
        start, end: of the sentence, in characters of the part's text.
        focus: start and end of the words in question, in characters of the part's text.
    """

    part: StoryPart
    start: int
    end: int
    focus: tuple[int, int]

    @property
    def sentence(self) -> str:
        """The sentence as it stands there."""
        return self.part.text[self.start : self.end]

    def pieces(self, around: int | None = None) -> dict[str, Any]:
        """The text before the words in question, these, and what follows; with `around` at most as many sentences."""
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
    """The sentences that hold some words, given in characters of the part's text."""
    held = [(a, b) for a, b in spans(part.text) if a < high and low < b]
    return Quoted(part, min((a for a, _ in held), default=low), max((b for _, b in held), default=high), (low, high))


def sentence_of(fact: Fact, parts: Sequence[StoryPart]) -> Quoted | None:
    """Where the story says what a fact says; `None` where its words are not known, or do not stand there any more."""
    part = next((part for part in parts if part.number == fact.told.scene), None)
    if part is None or not fact.quote.strip():
        return None
    found = located(part.text, fact.quote)
    if not found:
        return None
    near = fact.span[0] if fact.span else 0
    return sentence_at(part, *min(found, key=lambda place: abs(place[0] - near)))
