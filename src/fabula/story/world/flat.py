"""MAGNET's world state W: variables that actions overwrite, committed step by step (section 3.3; Algorithm 1, line 13).

W is not stored separately. A variable is a fact about the subject "world" whose slot is the variable's key; the current
value is the last write. The state of W at an earlier step is therefore an ordinary query, and the author and time of
every write are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.story.personas import KEY
from fabula.story.world.facts import Fact, Moment, from_json
from fabula.story.world.meaning import Value, name_key, value_form
from fabula.story.world.store import StepRow

if TYPE_CHECKING:
    from fabula.story.world.state import WorldState


WORLD: Final = "world"
RESERVED: Final = frozenset(
    {"turn", "characters", "story_id", "current_goal", "goal_history", "goal_domain", "goal_completed", "goal_reached"}
)
NEAR: Final = 0.6
MAX_UPDATES: Final = 200
_MAX_DEPTH: Final = 5
_NOT_IN_KEY: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Write:
    """A variable that an action sets.

    Attributes:
        value: the value; `None` removes the variable from W but keeps its history.
        actor: the character who acts; "author" for the initial state.
        about: the characters whom the variable concerns.
        witnesses: the characters who learn of the write; `None` means everybody.
    """

    key: str
    value: Value
    actor: str
    about: tuple[str, ...] = ()
    witnesses: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RefusedUpdate:
    """A refused update and the reason; the run's record counts refused updates."""

    key: str
    why: str


@dataclass(frozen=True, slots=True)
class Variable(Write):
    """A key of W with its last write and the step of that write."""

    step: int = 0


def updates_of(updates: Mapping[str, object]) -> tuple[dict[str, Value], tuple[RefusedUpdate, ...]]:
    """A critic's `world_updates` as values by key, followed by the refused updates.

    Keys are normalised ("Lucia's alibi" becomes `lucias_alibi`), and objects are flattened, with their keys joined by
    `_`. Three kinds of updates are refused: reserved keys, keys that do not begin with a letter or have more than 64
    characters, and values that are neither scalars nor lists of scalars.
    """
    taken: dict[str, Value] = {}
    refused: list[RefusedUpdate] = []
    for number, (name, value) in enumerate(_leaves(updates, "", _MAX_DEPTH)):
        key = key_of(name)
        why = f"a step writes at most {MAX_UPDATES} keys" if number >= MAX_UPDATES else _why_not(key)
        if not why:
            try:
                taken[key] = from_json(value)
            except UsageError as error:
                why = str(error)
        if why:
            refused.append(RefusedUpdate(name[:80], why))
        if number > MAX_UPDATES:
            break
    return taken, tuple(refused)


def _leaves(value: Mapping[str, object], prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    for name, inner in value.items():
        path = f"{prefix}_{name}" if prefix else str(name)
        if isinstance(inner, dict) and depth:
            yield from _leaves(inner, path, depth - 1)
        else:
            yield path, inner


def key_of(name: str) -> str:
    """A name converted to the form of a key, which may still be invalid."""
    text = name.casefold().replace("'", "").replace("\u2019", "")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_IN_KEY.sub("_", plain).strip("_")


def _why_not(key: str) -> str:
    if key in RESERVED:
        return "the key is reserved"
    return "" if KEY.fullmatch(key) else "a key has 1 to 64 letters, digits and _, a letter first"


def commit(
    world: WorldState,
    step: int,
    writes: Sequence[Write],
    *,
    at: Moment | None = None,
    system: Mapping[str, Value] | None = None,
    time: str = "",
) -> None:
    """Write all updates of a step into W in order, or none; new keys are inserted, and existing keys are overwritten.

    Writes to reserved or invalid keys are left out.

    Args:
        world: the world to write to.
        step: the number of the step, which must be higher than all earlier ones.
        writes: the writes of the chosen actions, in the narrator's order.
        at: the place in the telling; by default, the scene whose number is that of the step.
        system: the reserved keys that the system sets, with their values.
        time: the story time from which the values hold; empty if unknown.

    Raises:
        UsageError: this step, a later one, or one that is told later already exists.
        ProjectError: the file cannot be written; the world is unchanged.
    """
    when, last = Moment(step) if at is None else at, world.last_step
    if last is not None and when < last.at:
        raise UsageError(f"Step {step} is told in scene {when.scene}, before step {last.no}. Give a later moment.")
    own = [Write(key, value, "system") for key, value in (system or {}).items()]
    taken = [write for write in writes if not _why_not(write.key)]
    world.add_step(StepRow(step, when), [_fact(write, step, when, time) for write in [*taken, *own]])


def conflicts_of(writes: Sequence[Write]) -> tuple[str, ...]:
    """The keys that are written with different values; the last value counts."""
    often = Counter(write.key for write in writes)
    values: dict[str, set[str]] = {}
    for write in writes:
        if often[write.key] > 1:
            values.setdefault(write.key, set()).add(value_form(write.value, write.key))
    return tuple(key for key, found in values.items() if len(found) > 1)


def near(world: WorldState, writes: Sequence[Write]) -> Iterator[tuple[str, str]]:
    """Pairs of a new key and a similar existing key of W.

    If the characters that both keys concern are known, they must overlap. Keys without any common words are not
    compared.
    """
    now = _now(world)
    before, words = now.found, now.words
    for write in {write.key: write for write in writes if write.key not in before}.values():
        about = {name_key(name) for name in write.about}
        found = near_keys(write.key, before, words)
        for key in found if len(found) < 2 else (key for key in before if key in found):  # noqa: PLR2004 - their order
            others = {name_key(name) for name in before[key].about}
            if not (about and others) or about & others:
                yield write.key, key


def near_keys(key: str, keys: Container[str], words: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The keys whose words are similar to those of `key` (Jaccard index of at least 0.6), except `key` itself."""
    mine = _parts(key)
    common = Counter(chain.from_iterable(words.get(word, ()) for word in mine))
    return tuple(
        k
        for k, both in common.items()
        if both >= NEAR * len(mine) and both >= NEAR * (len(mine) + len(_parts(k)) - both) and k != key and k in keys
    )


@remembered(20_000, 200)
def _parts(key: str) -> frozenset[str]:
    """The words of a key; each new key is compared with all that there are."""
    return frozenset(key.split("_"))


def _fact(write: Write, step: int | None, at: Moment, time: str) -> Fact:
    return Fact(
        WORLD,
        write.key,
        write.value,
        at,
        modality="author" if write.actor == "author" else "asserted",
        source=write.actor,
        about=write.about,
        witnesses=write.witnesses,
        story_from=time,
        change="update",
        step=step,
    )


def variables(world: WorldState, *, step: int | None = None, at: Moment | None = None) -> tuple[Variable, ...]:
    """The variables of W in the order in which they were first written: at present, after a step, or at a moment.

    Facts about "world" that were not written in a step, such as those from a person, count from the place where they
    are told.
    """
    if step is None:
        now = _now(world)
        if at is None or now.until is None or now.until <= at:
            return tuple(now.found.values())
    view = _View()
    for fact in _writes(world, step, at):
        view.write(fact)
    return tuple(view.found.values())


def variable(world: WorldState, key: str) -> Variable | None:
    """The current variable for a key; `None` if W has none."""
    return _now(world).found.get(key)


@dataclass(slots=True)
class _View:
    """The variables after some writes: by key, the step of the last write, when it is told; facts that were read.

    `words` has the keys that were ever written by each of their words.
    """

    found: dict[str, Variable] = field(default_factory=dict)
    written: int = 0
    until: Moment | None = None
    read: int = 0
    redone: int = 0
    words: dict[str, set[str]] = field(default_factory=dict)

    def write(self, fact: Fact) -> None:
        """One more write. A key is overwritten only by the same key, even if another key has the same meaning."""
        self.written, self.until = self.written if fact.step is None else fact.step, fact.told
        if fact.value is None:
            self.found.pop(fact.slot, None)
        else:
            made = Variable(fact.slot, fact.value, fact.source, fact.about, fact.witnesses, self.written)
            if fact.slot not in self.found:
                for word in _parts(fact.slot):
                    self.words.setdefault(word, set()).add(fact.slot)
            self.found[fact.slot] = made


def _now(world: WorldState) -> _View:
    """The variables as they stand, made from those that stood when it was asked last: each step of a run asks."""
    index = world.index
    view = index.folded.get(WORLD)
    if view is None or view.redone != index.redone:
        view = index.folded[WORLD] = _View(redone=index.redone)
    for fact in index.since(view.read):
        view.read += 1
        owner, _, plane = index.key(fact)
        if owner == WORLD and not plane and not fact.withdrawn and fact.polarity and KEY.fullmatch(fact.slot):
            view.write(fact)
    return view


def standing(world: WorldState) -> tuple[Fact, ...]:
    """The last write of each variable of W as a fact."""
    return tuple(
        last for last in {one.slot: one for one in _writes(world, None, None)}.values() if last.value is not None
    )


def amend(world: WorldState, writes: Iterable[Write], at: Moment, time: str = "") -> None:
    """Write variables into W between two steps, for example after a change by a person; `time` is as in `commit`.

    Raises:
        UsageError: a write cannot be recorded.
        ProjectError: the file cannot be written.
    """
    world.add(_fact(write, None, at, time) for write in writes if not _why_not(write.key))


def _writes(world: WorldState, step: int | None, at: Moment | None) -> list[Fact]:
    row = None if step is None else world.step(step)
    until = at or (row.at if row else None)
    index = world.index
    found: list[Fact] = []
    for key in index.keys(WORLD):
        if not key[2]:
            found += [f for f in index.chain(key) if KEY.fullmatch(f.slot) and _counts(f, step, until)]
    return sorted(found, key=lambda fact: fact.order)


def _counts(fact: Fact, step: int | None, at: Moment | None) -> bool:
    written = step is None or fact.step is None or fact.step <= step
    return fact.polarity and written and (at is None or fact.told <= at)


def flat(world: WorldState, *, step: int | None = None, at: Moment | None = None) -> dict[str, Value]:
    """The flat view of W for agents: values by key, in the order in which the keys were first written."""
    return {variable.key: variable.value for variable in variables(world, step=step, at=at)}
