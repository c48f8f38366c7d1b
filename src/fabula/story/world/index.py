"""The facts in memory, indexed so that each query reads only the facts that it needs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.story import one_line
from fabula.story.world.chains import bare, place, settle
from fabula.story.world.meaning import name_key, slot_form, slot_forms

if TYPE_CHECKING:
    from fabula.story.world.facts import Alias, Fact, Moment


Key: TypeAlias = tuple[str, str, str]
_Order: TypeAlias = tuple[int, int, int]
_LAST_ID: Final = 2**62


class Index:
    """The facts by id, chain, subject, witness and time, the entities for names, and the slots with several values."""

    def __init__(self) -> None:
        self.facts: dict[int, Fact] = {}
        self.same: dict[str, Alias] = {}
        self._many: frozenset[str] = frozenset()
        self._many_forms: frozenset[str] = frozenset()
        self.chains: dict[Key, list[_Order]] = {}
        self.standing: dict[Key, dict[str, int]] = {}
        self._spelled: dict[str, str] = {}
        self._seen: set[str] = set()
        self._told: list[_Order] = []
        self._closed: list[_Order] = []
        self._owners: dict[str, str] = {}
        self._keys: dict[str, set[Key]] = {}
        self._abouts: dict[str, set[int]] = {}
        self.redone = 0  # how often what was filed was changed, and not only added to at its end
        self.folded: dict[str, Any] = {}  # what others have made of the facts so far, to go on from

    # names ----------------------------------------------------------------------------------------------------------

    def owner(self, name: str) -> str:
        """The caseless name of the entity to which `name` refers."""
        found = self._owners.get(name)
        if found is None:
            found = name_key(name)
            while (same := self.same.get(found)) is not None:
                found = name_key(same.entity)
            self._owners[name] = found
        return found

    def called(self, owner: str) -> str:
        """The spelling of the entity with a caseless name, as in the first fact that mentions the entity."""
        return self._spelled.get(owner, owner)

    def _spell(self, name: str) -> None:
        """Remember how a name is written, that of the entity it means if it is another name."""
        found = name_key(name)
        while (same := self.same.get(found)) is not None:
            name, found = same.entity, name_key(same.entity)
        self._spelled.setdefault(found, one_line(name))

    def differs(self, other: Index) -> bool:
        """Whether any name or slot in the other index has a different meaning in this index."""
        slots = {key[1] for key in other.chains}
        names = list(other._owners)
        return bool((self._many_forms ^ other._many_forms) & slots) or any(
            self.owner(name) != other.owner(name) for name in names
        )

    def key(self, fact: Fact) -> Key:
        """The chain of a fact, identified by its subject, its property, and the person whose world it belongs to.

        Everything that a person reports or believes belongs to one world, whichever name is used for the person.
        """
        plane = "" if fact.real else f"{fact.modality}:{self.owner(fact.source)}"
        return self.owner(fact.subject), fact.property, plane

    def holds_many(self, slot: str) -> bool:
        """Whether a slot can have several values at a time."""
        return bool(self._many) and slot_form(slot) in self._many_forms

    @property
    def many(self) -> frozenset[str]:
        """The slots that can have several values, as written."""
        return self._many

    @many.setter
    def many(self, slots: Iterable[str]) -> None:
        """Allow these slots to have several values."""
        self._many = frozenset(slots)
        self._many_forms = frozenset(form for slot in self._many for form in slot_forms(slot))

    # writing --------------------------------------------------------------------------------------------------------

    def arrived(self, facts: Iterable[Fact]) -> dict[int, Fact]:
        """The states that `facts` and other facts would have if `facts` were recorded, by id; nothing is recorded."""
        changed: dict[int, Fact] = {}
        filed: dict[Key, list[Fact]] = {}
        for fact in facts:
            filed.setdefault(self.key(fact), []).append(fact)
        for key, new in filed.items():
            new.sort(key=lambda fact: fact.order)
            chain, many = self.chains.get(key, ()), self.holds_many(key[1])
            if chain and chain[-1] > new[0].order:
                changed |= self.resettled([*self._in(chain), *new], many=many)
            else:
                held = {spot: self.facts[number] for spot, number in self.standing.get(key, {}).items()}
                changed |= settle(held, new, many=many)
        return changed

    def resettled(self, facts: Iterable[Fact], *, many: bool) -> dict[int, Fact]:
        """The facts of a chain whose states change when the chain is processed again."""
        start = sorted((bare(fact) for fact in facts), key=lambda fact: fact.order)
        return {n: fact for n, fact in settle({}, start, many=many).items() if self.facts.get(n) != fact}

    def put(self, facts: Iterable[Fact]) -> None:
        """Record facts, which may be new facts or new states of existing ones."""
        for fact in facts:
            self._put(fact)

    def _put(self, fact: Fact) -> None:
        old, key = self.facts.get(fact.id), self.key(fact)
        self.facts[fact.id] = fact
        if old is None:
            self._enter(fact, key)
        else:
            self._rested(old, key)
            self.redone += fact.withdrawn != old.withdrawn
            if fact.withdrawn and not old.withdrawn:
                self._drop(self.chains[key], old.order)
        if fact.withdrawn:
            return
        if fact.closed is not None:
            self._file(self._closed, (*fact.closed.at, fact.id))
        elif fact.restates is None:
            self.standing.setdefault(key, {})[place(fact, many=self.holds_many(key[1]))] = fact.id

    def _enter(self, fact: Fact, key: Key) -> None:
        """File a fact that is new by what does not change: its time, its names, its chain."""
        self.redone += bool(self._told) and fact.order < self._told[-1]
        self._file(self._told, fact.order)
        for name in (fact.subject, *fact.about, fact.source, *(fact.witnesses or ())):
            if name not in self._seen:
                self._seen.add(name)
                self._spell(name)
        for name in fact.about:
            self._abouts.setdefault(self.owner(name), set()).add(fact.id)
        if not fact.withdrawn:
            self._keys.setdefault(key[0], set()).add(key)
            self._file(self.chains.setdefault(key, []), fact.order)

    def _rested(self, old: Fact, key: Key) -> None:
        """Take a fact out of where it stands, or of those that ended."""
        if old.closed is not None:
            self._drop(self._closed, (*old.closed.at, old.id))
        standing, spot = self.standing.get(key, {}), place(old, many=self.holds_many(key[1]))
        if standing.get(spot) == old.id:
            del standing[spot]

    @staticmethod
    def _drop(orders: list[_Order], order: _Order) -> None:
        del orders[bisect_left(orders, order)]

    @staticmethod
    def _file(into: list[_Order], order: _Order) -> None:
        if not into or order > into[-1]:
            into.append(order)
        else:
            insort(into, order)

    def refile(self, changed: dict[int, Fact]) -> None:
        """Rebuild the index with the new states of some facts."""
        self.redone += 1
        facts = list((self.facts | changed).values())
        for filed in (self.facts, self.chains, self.standing, self._keys, self._abouts, self._spelled, self._seen):
            filed.clear()
        self._told.clear()
        self._closed.clear()
        self.put(facts)

    # reading --------------------------------------------------------------------------------------------------------

    def _in(self, orders: Iterable[_Order]) -> Iterator[Fact]:
        return (self.facts[order[2]] for order in orders)

    def since(self, number: int) -> list[Fact]:
        """All facts, including withdrawn ones, in the order of telling, without the first `number` facts."""
        return list(self._in(self._told[number:]))

    def told(self, after: Moment | None, until: Moment) -> list[Fact]:
        """The facts told after one moment (`None` means from the beginning) and up to another, in order."""
        return list(self._in(_between(self._told, after, until)))

    def closed(self, after: Moment, until: Moment) -> list[Fact]:
        """The facts that ended after one moment and up to another."""
        return list(self._in(_between(self._closed, after, until)))

    def chain(self, key: Key) -> list[Fact]:
        """All assertions in a chain, in order."""
        return list(self._in(self.chains.get(key, ())))

    def keys(self, owner: str) -> list[Key]:
        """The chains of an entity."""
        return sorted(self._keys.get(owner, ()))

    def owners(self) -> list[str]:
        """The caseless names of all entities that facts are about."""
        return sorted(owner for owner, keys in self._keys.items() if any(self.chains.get(key) for key in keys))

    def concerning(self, owner: str) -> list[Fact]:
        """The facts about other entities that concern an entity, in order."""
        found = (self.facts[number] for number in self._abouts.get(owner, ()))
        return sorted((fact for fact in found if not fact.withdrawn), key=lambda fact: fact.order)


def _between(orders: Sequence[_Order], after: Moment | None, until: Moment) -> Sequence[_Order]:
    first = 0 if after is None else bisect_right(orders, (*after, _LAST_ID))
    return orders[first : bisect_right(orders, (*until, _LAST_ID))]
