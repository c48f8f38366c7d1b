"""The world of a story as its passages describe it: `WorldState` stores the facts and answers queries about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from fabula.base.errors import UnknownNameError, UsageError
from fabula.story import one_line, readable
from fabula.story.world import queries
from fabula.story.world.facts import MAX_NAME, Alias, Entity, Fact, Moment, checked, cleaned
from fabula.story.world.index import Index, Key
from fabula.story.world.meaning import name_key
from fabula.story.world.store import SceneRow, StepRow, WorldBatch, WorldStore, entities_of

if TYPE_CHECKING:
    from fabula.story.world.queries import Diff, FactConflict, KnownFact


MAX_FACTS: Final = 1_000_000
NOW: Final = Moment.end(10**9)


class WorldState:
    """An open world. Use the class as a context manager; only one process at a time may write to a file.

    Every assertion is kept. The effect of a later assertion on earlier ones depends only on the order of telling, not
    on the order in which facts are recorded. Every change is atomic: when the method returns, the file contains either
    the whole change or nothing of it.

    Args:
        path: the database file; `None` means that the world is kept in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._store = WorldStore(path)
        self._index = Index()
        self._entities: dict[str, Entity] = {}
        self._learned: dict[int, list[tuple[str, Moment]]] = {}
        self._last = 0

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the file, creating it if necessary, and read it into memory (1 to 3 s for 100,000 facts).

        Raises:
            ProjectError: the file cannot be opened, is damaged, is not a fabula world, or was written by a newer
                version of fabula.
        """
        store, index = self._store, Index()
        store.open()
        same = (Alias(*row) for row in store.rows("SELECT name, entity, scene, reason FROM alias"))
        index.same = {name_key(one.name): one for one in same}
        index.many = {name for (name,) in store.rows("SELECT name FROM slot")}
        index.put(store.facts())
        self._index, self._entities = index, dict(entities_of(store))
        self._learned = {}
        for fact, who, scene, offset in store.rows("SELECT fact, who, scene, offset FROM learned"):
            self._learned.setdefault(fact, []).append((who, Moment(scene, offset)))
        self._last = max(index.facts, default=0)

    def close(self) -> None:
        """Close the file; it is safe to call this method twice."""
        self._store.close()

    # recording ------------------------------------------------------------------------------------------------------

    def add(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        """Record facts, either all of them or none, and return them with their ids and states.

        Raises:
            UsageError: a fact cannot be recorded; the message names the fact and the field, and suggests a remedy.
            ProjectError: the file cannot be written.
        """
        new = self._numbered(facts)
        self._change(new)
        return tuple(self._index.facts[fact.id] for fact in new)

    def add_step(self, step: StepRow, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        """Record a step of a run and the facts that it wrote, either all of them or none.

        Raises:
            UsageError: as for `add`, or this step or a later one is already recorded.
            ProjectError: the file cannot be written.
        """
        last = self.last_step
        if last is not None and last.no >= step.no:
            raise UsageError(f"Step {step.no} cannot follow step {last.no}, which is recorded. Give a higher number.")
        new = self._numbered(facts)
        self._change(new, batch=WorldBatch(steps=[step]))
        return tuple(self._index.facts[fact.id] for fact in new)

    def replace_origin(self, origin: str, facts: Iterable[Fact]) -> tuple[int, int, int]:
        """Replace the facts from a file with `facts`: new facts are added, and missing ones are withdrawn.

        Returns the numbers of added, withdrawn and unchanged facts.

        Raises:
            UsageError: as for `add`.
            ProjectError: the file cannot be written.
        """
        before: dict[Fact, list[Fact]] = {}
        for fact in self._index.facts.values():
            if fact.origin == origin and not fact.withdrawn:
                before.setdefault(cleaned(fact), []).append(fact)
        new, kept = [], 0
        for fact in facts:
            wanted = cleaned(replace(fact, origin=origin))
            if before.get(wanted):
                before[wanted].pop()
                kept += 1
            else:
                new.append(wanted)
        gone = [fact for facts_ in before.values() for fact in facts_]
        self._change(self._numbered(new), gone, f"no longer in {origin}")
        return len(new), len(gone), kept

    def learn(self, number: int, who: str, at: Moment) -> None:
        """Record that a character learns of a fact after it is told.

        Raises:
            UsageError: there is no such fact, the name is empty, or the fact is told only after that moment.
            ProjectError: the file cannot be written.
        """
        fact = self.fact(number)
        if not who.strip() or at < fact.told:
            raise UsageError(
                f"Fact {number} is told in scene {fact.told.scene}. Specify who learns it, and a later moment."
            )
        self._store.write(WorldBatch(learned=[(number, one_line(who), at)]), self._index)
        self._learned.setdefault(number, []).append((one_line(who), at))

    def _numbered(self, facts: Iterable[Fact]) -> list[Fact]:
        """New facts with their ids, once they are checked."""
        new = checked(facts, self._last + 1)
        if len(self._index.facts) + len(new) > MAX_FACTS:
            raise UsageError(f"A world holds at most {MAX_FACTS:,} facts. Begin another one.")
        return new

    def _change(
        self, new: list[Fact], gone: Sequence[Fact] = (), reason: str = "", batch: WorldBatch | None = None
    ) -> None:
        """Record new facts and withdraw others, in one transaction."""
        batch, index = batch or WorldBatch(), self._index
        out = {fact.id: replace(fact, withdrawn=reason, closed=None, restates=None) for fact in gone}
        touched: dict[Key, list[Fact]] = {index.key(fact): [] for fact in gone}
        fresh: list[Fact] = []
        for fact in new:
            touched.get(index.key(fact), fresh).append(fact)
        changed = index.arrived(fresh)
        for key, more in touched.items():
            rest = [fact for fact in index.chain(key) if fact.id not in out]
            changed |= index.resettled([*rest, *more], many=index.holds_many(key[1]))
        ids = {fact.id for fact in new}
        batch.new = [changed[number] for number in sorted(ids)]
        batch.changed = [*out.values(), *(fact for number, fact in changed.items() if number not in ids)]
        self._store.write(batch, self._index)
        index.put([*batch.changed, *batch.new])
        self._last = max(self._last, *ids) if ids else self._last

    # names, slots, scenes -------------------------------------------------------------------------------------------

    def describe(self, entities: Iterable[Entity]) -> None:
        """Record entities and their aliases; an existing entity with the same name gets the new description.

        Raises:
            UsageError: an alias already refers to another entity.
            ProjectError: the file cannot be written.
        """
        batch, same = WorldBatch(), dict(self._index.same)
        for entity in entities:
            name = one_line(readable(entity.name))
            if not name or name_key(name) in same:
                raise UsageError(f"{entity.name!r} is empty or another name of somebody. Give the main name.")
            batch.entities[name_key(name)] = replace(entity, name=name, aliases=())
            for alias in entity.aliases:
                one = Alias(one_line(readable(alias)), name, entity.scene, "described")
                if name_key(one.name) != name_key(name):
                    _check_alias(one, same)
                    same[name_key(one.name)] = batch.same[name_key(one.name)] = one
        self._renamed(batch, same, self._index.many)
        self._entities |= batch.entities

    def hold_many(self, *slots: str) -> None:
        """Allow slots to have several values at a time, like "owns", so that another value is not a contradiction.

        Raises:
            ProjectError: the file cannot be written.
        """
        names = {one_line(slot) for slot in slots}
        self._renamed(WorldBatch(many=sorted(names)), self._index.same, self._index.many | names)

    def _renamed(self, batch: WorldBatch, same: dict[str, Alias], many: frozenset[str]) -> None:
        """Let names and slots mean what `same` and `many` say, and go through all chains that this touches."""
        index, old = Index(), self._index
        index.same, index.many = same, many
        if not index.differs(old):
            self._store.write(batch, self._index)
            old.same, old.many = same, many
            return
        index.put(old.facts.values())
        changed: dict[int, Fact] = {}
        for key in index.chains:
            chain, held = index.chain(key), index.holds_many(key[1])
            moved = any(old.key(fact) != key for fact in chain) or len(chain) != len(old.chains.get(key, ()))
            if moved or held != old.holds_many(key[1]):
                changed |= {fact.id: fact for fact in chain} | index.resettled(chain, many=held)
        batch.changed = list(changed.values())
        self._store.write(batch, index)
        index.refile(changed)
        self._index = index

    def put_scene(self, no: int, title: str, text: str = "") -> None:
        """Record the title and text of a scene; a scene with the same number is replaced, but its facts are kept.

        Raises:
            ProjectError: the file cannot be written.
        """
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        row = SceneRow(no, one_line(readable(title)), readable(text), digest)
        self._store.write(WorldBatch(scenes=[row]), self._index)

    def scenes(self) -> tuple[SceneRow, ...]:
        """The scenes, by number."""
        return tuple(SceneRow(*row) for row in self._store.rows("SELECT no, title, text, hash FROM scene ORDER BY no"))

    def step(self, no: int) -> StepRow | None:
        """A step of the run, if recorded; otherwise `None`."""
        return next(iter(self._steps("WHERE no = ?", no)), None)

    @property
    def last_step(self) -> StepRow | None:
        """The last step of the run; `None` before the first."""
        return next(iter(self._steps("ORDER BY no DESC LIMIT 1")), None)

    def _steps(self, which: str, *values: object) -> tuple[StepRow, ...]:
        rows = self._store.rows(f"SELECT no, scene, offset FROM step {which}", *values)  # noqa: S608 - our own words
        return tuple(StepRow(no, Moment(scene, offset)) for no, scene, offset in rows)

    # asking ---------------------------------------------------------------------------------------------------------

    @property
    def index(self) -> Index:
        """The facts in memory, which callers must not change."""
        return self._index

    def fact(self, number: int) -> Fact:
        """The fact with this id.

        Raises:
            UsageError: there is no such fact.
        """
        if (found := self._index.facts.get(number)) is None:
            raise UsageError(f"There is no fact {number}; the last one is {self._last}. Give an id from 1 on.")
        return found

    def facts(self) -> tuple[Fact, ...]:
        """All assertions that are not withdrawn, in the order of telling."""
        return tuple(fact for fact in self._index.told(None, NOW) if not fact.withdrawn)

    def entities(self) -> tuple[Entity, ...]:
        """All entities that have facts or descriptions, with their aliases, in the order of their names."""
        return _all_entities(self._index, self._entities)

    def entity(self, name: str) -> Entity:
        """The entity to which a name refers.

        Raises:
            UnknownNameError: the name is unknown; the message names the nearest one.
        """
        owner, all_ = self._index.owner(name), self.entities()
        for entity in all_:
            if self._index.owner(entity.name) == owner:
                return entity
        raise UnknownNameError("name", name, (entity.name for entity in all_))

    def snapshot(self, at: Moment = NOW, *, subject: str = "") -> tuple[Fact, ...]:
        """The facts in force at a moment of the telling, in order; optionally, only those about one subject."""
        return queries.of_one(self._index, subject, at) if subject else queries.snapshot(self._index, at)

    def diff(self, first: Moment, second: Moment) -> Diff:
        """The differences between two moments, without values that changed and then changed back.

        Raises:
            UsageError: the second moment is before the first.
        """
        if second < first:
            raise UsageError(f"Scene {second.scene} is told before scene {first.scene}. Give the earlier one first.")
        return queries.diff(self._index, first, second)

    def known_to(self, who: str, at: Moment = NOW) -> tuple[KnownFact, ...]:
        """What a character believes at a moment: the last state of everything that they witnessed or were told."""
        return queries.known_to(self._index, who, at, self._learned)

    def learned(self, number: int) -> tuple[tuple[str, Moment], ...]:
        """The people who learned of a fact after it was told, and when they did."""
        return tuple(self._learned.get(number, ()))

    def conflicts(self, scene: int | None = None) -> tuple[FactConflict, ...]:
        """The facts told in a scene (`None`: in all scenes) that contradict earlier facts, each with the first one."""
        first, last = (None, NOW) if scene is None else (Moment.end(scene - 1), Moment.end(scene))
        return queries.conflicts(self._index, self._index.told(first, last))

    def neighbours(self, name: str, hops: int = 2, at: Moment = NOW) -> dict[str, int]:
        """The entities linked to an entity by facts in force, by name, with their distance in links (0 for itself)."""
        found = queries.neighbours(self._index, name, hops, at)
        return {self._index.called(owner): distance for owner, distance in found.items()}


def _check_alias(one: Alias, known: Mapping[str, Alias]) -> None:
    """Say so where a name cannot mean an entity of another name; `known` are those that do.

    Raises:
        UsageError: a name is missing or too long, or it means another entity already.
    """
    if not (one.name and one.entity) or max(len(one.name), len(one.entity)) > MAX_NAME:
        raise UsageError(f"{one.name[:40]!r} for {one.entity[:40]!r}: give two names of at most {MAX_NAME} characters.")
    held = known.get(name_key(one.name))
    if held is not None and name_key(held.entity) != name_key(one.entity):
        raise UsageError(f"{one.name!r} means {held.entity!r} already. Give another name.")


def _all_entities(index: Index, described: Mapping[str, Entity]) -> tuple[Entity, ...]:
    """All that facts are about or that were described, with their other names, by name."""
    found = {owner: Entity(index.called(owner)) for owner in index.owners()}
    for entity in described.values():
        owner = index.owner(entity.name)
        if owner == name_key(entity.name) or owner not in found:
            found[owner] = entity
    aliases: dict[str, list[str]] = {}
    for one in index.same.values():
        aliases.setdefault(index.owner(one.name), []).append(one.name)
    named = (replace(entity, aliases=tuple(sorted(aliases.get(owner, ())))) for owner, entity in found.items())
    return tuple(sorted(named, key=lambda entity: name_key(entity.name)))
