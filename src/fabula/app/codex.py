"""The codex of a project: everyone and everything with a name, where the story mentions them, and who knows what.

It is one view of what the project says already: the author's own entries (`plan/codex.yaml`), personas, the plan,
cards and lorebooks, the world's facts, and a model's reading of the story. Names and aliases join them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from fabula.app.facts_shown import FactRow, ProjectWorld, sentence_at, story_parts
from fabula.app.people import named_in, narrative_in
from fabula.app.plan_cards import CHAPTERS, LISTED, PLAN, PLOT, plan_cards
from fabula.base.errors import FabulaError, UnknownNameError, UsageError, nearest
from fabula.base.files import read_text
from fabula.base.kept import of_text
from fabula.craft.conversation.cards import Cards
from fabula.craft.narratives import PROPOSED, entries_read_of
from fabula.project.folder import MAX_FILE
from fabula.story import one_line
from fabula.story.cards import persona_of
from fabula.story.codex import FILE, KINDS, MAX_NAME, Codex, CodexEntry, codex_in, mentioned_by, parse_codex
from fabula.story.people import NameFinder, among, strangers
from fabula.story.personas import parse_personas
from fabula.story.situation import named_in_short
from fabula.story.words import BLANKLESS
from fabula.story.world import WorldState

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from fabula.app.workspace import Workspace
    from fabula.project.folder import ProjectFolder

CODEX, PERSONAS, READING, PEOPLE = "codex", "personas", "reading", "people"
_EACH_ONCE: Final = {PERSONAS, PLAN, "cards", READING}  # sources that list a person once
_KINDS: Final = {"character": "person", "location": "place", "object": "thing"}
_LONGEST: Final = 1_500  # characters that one source says about an entry
_NAME_OF_PLACE: Final = 40  # characters; a longer one is a description
_FACTS: Final = 12  # facts that a hover shows
_UNKNOWN: Final = 20  # unknown names that are told
_OR: Final = "\n"  # between the names of those who share a name; no name has it
_AROUND: Final = 200  # characters on each side of a place in which a name is looked for


class SharedNameError(UsageError):
    """A name is an alias of several entries."""


@dataclass(frozen=True, slots=True)
class CodexMention:
    """How often a part of the story mentions an entry.

    Attributes:
        number: the part's number from 1, in the order of telling.
        artefact: the part's text; empty in a story that exists only as `story.md`.
        quote: its first sentence that mentions the entry, if only that entry is shown; otherwise empty.
        at: where that sentence begins, in characters of the part's text.
    """

    number: int
    artefact: str
    title: str
    count: int
    quote: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class CodexRow:
    """A person, place, thing or rule.

    Attributes:
        kind: "person", "place", "thing", "rule" or another word; empty if it is not known.
        aliases: its other names.
        about: what each source says about it; with a character, only what that character may know.
        sources: where it is from: "codex", "personas", "plan", "cards", "lorebook", "world", "reading", "people".
        proposed: whether only a model's reading names it, so that you can accept or refuse it.
        mentions: the parts of the story that mention it.
        count: the number of mentions in the whole story.
        first: the number of the first part that mentions it; `None` if none does.
        facts: what the story has told about it by that scene; with a character, what that character believes.
        own: your entry; for a character, without your notes and with the secret only if the character knows it.
    """

    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    proposed: bool = False
    mentions: tuple[CodexMention, ...] = ()
    count: int = 0
    first: int | None = None
    facts: tuple[FactRow, ...] = ()
    own: CodexEntry | None = None


@dataclass(frozen=True, slots=True)
class CodexView:
    """The codex at the end of a scene, for its author or as a character knows it.

    Attributes:
        at: the number of the scene; `None` for the end of the story.
        of: the character; empty for the author.
        left_out: names that you have left out.
        was_read: whether a model has read the current story for names. Without a model, only names that you, the
            plan, cards or the world give are known.
        problems: what could not be read.
    """

    at: int | None
    of: str
    entries: tuple[CodexRow, ...]
    left_out: tuple[str, ...] = ()
    was_read: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    """Somebody or something as one source names it: all names, what the source says, and what of it is known to all."""

    source: str
    names: tuple[str, ...]
    kind: str = ""
    whole: str = ""
    open: str = ""


@dataclass
class _Joined:
    """An entry with all that its sources say."""

    name: str
    said: list[_Said] = field(default_factory=list)
    mentions: list[CodexMention] = field(default_factory=list)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The first place that mentions it, by the part's number, in characters of the part's text."""

    @property
    def key(self) -> str:
        """The name, whatever its case."""
        return self.name.casefold()

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it is from."""
        return tuple(dict.fromkeys(one.source for one in self.said))

    @property
    def kind(self) -> str:
        """What it is, as the first source says that knows."""
        return next((one.kind for one in self.said if one.kind), "")

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names."""
        return tuple(dict.fromkeys(name for one in self.said for name in one.names if name != self.name))


@dataclass(frozen=True)
class ProjectCodex:
    """A project's codex in memory, so that any thread can query it."""

    own: Codex
    joined: Mapping[str, _Joined]
    finder: NameFinder
    world: ProjectWorld
    was_read: bool = False
    problems: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Names in `known_to` that nobody has, each with a sentence that says so."""

    @classmethod
    def of(cls, workspace: Workspace) -> ProjectCodex:
        """The codex of a project.

        Raises:
            PlanError: `plan/codex.yaml` has problems.
        """
        project, problems = workspace.texts(), list[str]()
        own = codex_in(project.folder)
        try:
            world = workspace.known_facts()
        except FabulaError as error:
            problems.append(str(error))
            world = ProjectWorld(WorldState(), {}, story_parts(project), there=False)
        read, was_read = _reading(project)
        sources = [*_of_author(own), *_of_personas(project), *_of_plan(workspace), *_of_cards(project)]
        further = [*read, *_of_people(project)]
        unknown = _unknown(own, (*sources, *further), world)
        problems += list(unknown.values())[:_UNKNOWN]
        joined = _joined([*sources, *_of_world(world, unknown), *further], own)
        names = _by_owners(mentioned_by((one.name, one.kind, one.aliases) for one in joined.values()))
        finder = NameFinder(names)
        _count(joined, finder, world, f"mentions {hash(tuple(names.items()))}")
        return cls(own, joined, finder, world, was_read, tuple(problems), unknown)

    def view(self, at: int | None = None, of: str = "", name: str = "", *, quoted: bool = False) -> CodexView:
        """The entries at the end of a scene, or only the entry with that name or alias; `quoted`, with each mention.

        Raises:
            UnknownNameError: there is no such entry, or nobody has that name.
        """
        who = self.find(of).name if of else ""
        wanted = [self.find(name)] if name else list(self.joined.values())
        facts = self._facts(at, who)
        rows = [self._row(one, who, facts) for one in wanted]
        if quoted:
            rows = [replace(row, mentions=self._quoted(one)) for row, one in zip(rows, wanted, strict=True)]
        ranks: dict[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}
        rows.sort(key=lambda row: (row.proposed, ranks.get(row.kind, len(ranks)), -row.count, row.name.casefold()))
        return CodexView(at, who, tuple(rows), self.own.left_out, self.was_read, self.problems)

    def _quoted(self, one: _Joined) -> tuple[CodexMention, ...]:
        """The mentions of an entry, each with its first sentence."""
        parts = {part.number: part for part in self.world.parts}
        found = ((mention, sentence_at(parts[mention.number], *one.places[mention.number])) for mention in one.mentions)
        return tuple(replace(mention, quote=at.sentence, at=at.start) for mention, at in found)

    def mentioned_in(self, number: int) -> list[str]:
        """The names of the entries that a part of the story mentions."""
        return [one.name for one in self.joined.values() if number in one.places]

    def _facts(self, at: int | None, who: str) -> dict[str, dict[int, FactRow]]:
        """The facts by whom and what they concern, the newest first."""
        found: dict[str, dict[int, FactRow]] = {}
        with suppress(UnknownNameError):  # somebody of whom the world knows nothing
            owner = self.world.state.index.owner
            for row in sorted(self.world.facts(at, who), key=lambda row: -row.scene):
                for name in {owner(name) for name in (row.subject, *row.about)}:
                    found.setdefault(name, {})[row.id] = row
        return found

    def _row(self, one: _Joined, who: str, facts: Mapping[str, Mapping[int, FactRow]]) -> CodexRow:
        own = next((entry for entry in self.own.entries if entry.name == one.name), None)
        if own is not None and who:
            own = own.of(who)
        owners = dict.fromkeys(self.world.state.index.owner(name) for name in (one.name, *one.aliases))
        about = {row.id: row for owner in owners for row in facts.get(owner, {}).values()}
        said = (said.open if who and who != one.name else said.whole for said in one.said)
        return CodexRow(
            one.name,
            one.kind,
            one.aliases,
            tuple(dict.fromkeys(filter(None, said))),
            one.sources,
            one.sources == (READING,),
            tuple(one.mentions),
            sum(mention.count for mention in one.mentions),
            one.mentions[0].number if one.mentions else None,
            tuple(sorted(about.values(), key=lambda row: -row.scene)),
            own,
        )

    def find(self, name: str) -> _Joined:
        """The entry with that name or alias, or the only person who may be meant.

        Raises:
            UnknownNameError: there is none.
            SharedNameError: it is an alias of several.
        """
        key = one_line(name).casefold()
        found = [one for one in self.joined.values() if key in map(str.casefold, one.names)]
        found = [one for one in found if one.name.casefold() == key] or found
        if len(found) > 1:
            raise SharedNameError(f"{_several(repr(name), [one.name for one in found])} Specify one of these.")
        if found:
            return found[0]
        if (meant := among(name, self._people)) is not None:
            return self.joined[meant]
        raise UnknownNameError("entry", name, self.joined)

    @property
    def _people(self) -> list[str]:
        return [one.name for one in self.joined.values() if one.kind == "person"]

    def named_at(self, text: str, place: int) -> tuple[str, ...]:
        """Whom or what a text names at a place, by the entry's name; several if they share that name."""
        start = max(place - _AROUND, 0)
        near, place = text[start : place + _AROUND], place - start
        if (found := self.finder.at(near, place)) is not None:
            return tuple(found.name.split(_OR))
        low = next((n for n in range(place, -1, -1) if n == 0 or not near[n - 1 : n].isalnum()), 0)
        high = next((n for n in range(place, len(near)) if not near[n].isalnum()), len(near))
        word = near[low:high]
        meant = None if not word[:1].isupper() or BLANKLESS.search(word) else among(word, self._people)
        return () if meant is None else (meant,)

    def said_at(self, text: str, place: int, scene: int | None) -> list[str]:
        """Who or what a text names at a place, as `about` tells it; whom it may name, if several share the name."""
        names = self.named_at(text, place)
        return [_several("This name", names)] if len(names) > 1 else self.about(names[0], scene) if names else []

    def about(self, name: str, scene: int | None) -> list[str]:
        """Who or what an entry is and what is known of it by the end of a scene, in paragraphs of plain text.

        Raises:
            UnknownNameError: there is no such entry.
        """
        (row,) = self.view(scene, name=name).entries
        until = f"“{self.world.titles.get(scene) or scene}”" if scene else "the story"
        facts = [
            f"- {one.subject}, {one.slot}: {one.value}" + f" ({one.said})" * bool(one.said)
            for one in row.facts[:_FACTS]
        ]
        found = [f"{row.name} ({row.kind})" if row.kind else row.name, *row.about]
        found += ["\n".join((f"Known by the end of {until}:", *facts))] if facts else []
        for alias in (row.name, *row.aliases):
            if others := [one.name for one in self.joined.values() if alias in one.names and one.name != row.name]:
                found.append(f"{_several(f'“{alias}”', [row.name, *others])} Its mentions count for each.")
        if row.mentions:
            times = f"{row.count} time{'s' * (row.count != 1)}"
            found.append(f"Mentioned {times}, first in “{row.mentions[0].title}”.")
        return [*found, *self.problems]


def _several(name: str, names: Sequence[str]) -> str:
    return f"{name} may mean {', '.join(names[:-1])} or {names[-1]}."


def codex_of(workspace: Workspace) -> ProjectCodex:
    """The codex of a project, kept until something changes.

    Raises:
        PlanError: `plan/codex.yaml` has problems.
    """
    return workspace.cached("codex", lambda: ProjectCodex.of(workspace))


# the join -----------------------------------------------------------------------------------------------------------


def _joined(found: Sequence[_Said], own: Codex) -> dict[str, _Joined]:
    """All entries by name; what has a name or an alias in common is one, and so are a person's names.

    Two people whom one plan or one reader keeps apart stay two, however alike their names are. A name that a reader
    gives to two does not say which of them another source means.
    """
    joined, titled, by_name = dict[str, _Joined](), dict[str, _Joined](), dict[str, _Joined]()
    out = {name.casefold() for name in own.left_out}
    read = [tuple(dict.fromkeys(map(str.casefold, one.names))) for one in found if one.source == READING]
    titles = {names[0] for names in read}
    shared = {name for name, times in Counter(chain.from_iterable(read)).items() if times > 1}
    for one in found:
        name, *others = (one_line(name)[:MAX_NAME] for name in one.names)
        key, is_read = name.casefold(), one.source == READING
        if not name or key in out or (one.source == PEOPLE and key in shared):
            continue
        names = [key for key in map(str.casefold, (name, *others)) if key and not (is_read and key in shared)]
        same = titled.get(key)
        if same is None:
            near = [by_name[other] for other in (names if one.source != CODEX else [key]) if other in by_name]
            same = next(
                (of for of in near if not is_read or (of.key not in titles and READING not in of.sources)), None
            )
        if same is None and one.kind == "person" and one.source != CODEX and key in names:
            meant = _alike(name, one.source, joined.values(), (titles | shared) if is_read else ())
            same = joined[meant] if meant is not None else None
        if same is None:
            same = joined[name] = titled[key] = _Joined(name)
        same.said.append(replace(one, names=(name, *filter(None, others))))
        for other in names:
            by_name.setdefault(other, same)
    return joined


def _alike(name: str, source: str, known: Iterable[_Joined], others: Container[str]) -> str | None:
    """The one person of whom this may be another name: not whom the same source lists, nor one of the `others`."""
    apart = {source} & _EACH_ONCE
    people = (of for of in known if of.kind == "person" and of.key not in others)
    return among(name, [of.name for of in people if apart.isdisjoint(of.sources)])


def _by_owners(names: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The names by whose they are: those that several share belong to all of them, whose names `_OR` then joins."""
    owners = dict[str, list[str]]()
    for owner, own in names.items():
        for key in {_spelled(name) for name in own}:
            owners.setdefault(key, []).append(owner)
    found = dict[str, dict[str, None]]()
    for name in chain.from_iterable(names.values()):
        found.setdefault(_OR.join(owners[_spelled(name)]), {})[name] = None
    return {owner: tuple(own) for owner, own in found.items()}


def _spelled(name: str) -> str:
    """The name as a `NameFinder` compares it: several words may begin with a capital or not."""
    return name[:1].lower() + name[1:] if " " in name else name


def _count(joined: dict[str, _Joined], finder: NameFinder, world: ProjectWorld, names: str) -> None:
    """Count the mentions in each part of the story; a part that did not change is not searched again for `names`."""
    for part in world.parts:
        places = [(of, one) for one in of_text(names, part.text, finder.find) for of in one.name.split(_OR)]
        for name, count in Counter(of for of, _ in places).items():
            joined[name].mentions.append(CodexMention(part.number, part.name, part.label, count))
        for name, place in reversed(places):
            joined[name].places[part.number] = place.start, place.end
    for one in list(joined.values()) if world.parts else ():
        if not one.mentions and one.kind == "place" and all(found.source == PLAN for found in one.said):
            del joined[one.name]  # a description of a scene's place, and no name


def _of_author(own: Codex) -> Iterator[_Said]:
    for one in own.entries:
        yield _Said(CODEX, one.names, one.kind, one.description[:_LONGEST], one.description[:_LONGEST])


def _of_personas(project: ProjectFolder) -> Iterator[_Said]:
    with suppress(FabulaError):  # pages and commands that show the plan say what is wrong with it
        text = text_in(project, "plan/personas.yaml")
        for one in parse_personas(text).people if text else ():
            yield _Said(PERSONAS, (one.name, *one.aliases), "person", one.full[:_LONGEST], one.appearance[:_LONGEST])


def _of_plan(workspace: Workspace) -> Iterator[_Said]:
    """The people and places of the plan, in any of its forms."""
    with suppress(FabulaError):  # as above
        files = {one.name: one.file for one in workspace.rows(marks=False) if one.folder == "plan"}
        project = workspace.texts()
        texts = {name: text_in(project, files[name]) for name in (PLAN, CHAPTERS, LISTED, PLOT) if name in files}
        cards = plan_cards(texts, ())
        for one in cards.plan.characters if cards.plan else ():
            yield _Said(PLAN, (one.name,), "person", one.introduction()[:_LONGEST], one.seen()[:_LONGEST])
        for card in cards.cards:
            if 0 < len(place := named_in_short(card.scene.place)) <= _NAME_OF_PLACE:
                yield _Said(PLAN, (place,), "place")


def _of_cards(project: ProjectFolder) -> Iterator[_Said]:
    """The characters of cards, and the named entries of lorebooks with their keys as aliases."""
    with suppress(FabulaError):  # as above
        cards = Cards.in_(project.folder)
        for card in cards.people.values():
            yield _Said("cards", (card.name,), "person", persona_of(card, "").full[:_LONGEST])
        books = (*cards.worlds, *(card.book for card in cards.people.values() if card.book))
        for entry in (entry for book in books for entry in book.entries if entry.enabled and entry.keys):
            yield _Said("lorebook", tuple(filter(None, (entry.name, *entry.keys))), "", entry.content[:_LONGEST])


def _unknown(own: Codex, said: Iterable[_Said], world: ProjectWorld) -> dict[str, str]:
    """The names in `known_to` that nobody has elsewhere, each with a sentence that suggests the nearest name."""
    known = {name for one in said for name in one.names}
    known |= {name for one in world.entities() for name in (one.name, *one.aliases)}
    for fact in world.state.facts():
        if fact.origin != FILE:
            learned = (who for who, _ in world.state.learned(fact.id))
            known |= {fact.subject, fact.source, *fact.about, *(fact.witnesses or ()), *learned}
    names = strangers((name for one in own.entries for name in one.known_to), known)
    near = {name: nearest(name, known) for name in names[:_UNKNOWN]}
    whose = {name: one.name for one in reversed(own.entries) for name in one.known_to}
    return {
        name: f"Your codex says that “{name}” knows the secret of “{whose[name]}”, but nobody has that name. "
        + (f"Did you mean “{near[name]}”? Otherwise," if near.get(name) else "Correct it there, or")
        + f" add an entry for “{name}”."
        for name in names
    }


def _of_world(world: ProjectWorld, unknown: Container[str]) -> Iterator[_Said]:
    for one in world.entities():
        yield _Said("world", (one.name, *one.aliases), _KINDS.get(one.kind, one.kind))
    yield from (_Said("world", (name,), "person") for name in world.people if name not in unknown)


def _of_people(project: ProjectFolder) -> Iterator[_Said]:
    """The other people whom fabula knows."""
    with suppress(FabulaError):  # as above
        yield from (_Said(PEOPLE, (name,), "person") for name in named_in(project))


def _reading(project: ProjectFolder) -> tuple[list[_Said], bool]:
    """What a model's last reading proposes, and whether it read the current story."""
    with project.journal as journal:
        newest = journal.artefacts.newest_versions()
    current = entries_read_of(narrative_in(project))
    names = [name for name in newest if name.startswith(PROPOSED)]
    if not names:
        return [], False
    text = newest[current if current in newest else names[-1]].text
    found = parse_codex(text, FILE, proposed=True).entries
    return [_Said(READING, one.names, one.kind, one.description, one.description) for one in found], (current in newest)


def text_in(project: ProjectFolder, name: str) -> str:
    """The text of a file of the project; empty if there is none."""
    file = project.folder / name
    return read_text(file, MAX_FILE) if file.is_file() else ""
