"""Lorebooks: entries with a character's knowledge of the world, which are shown when their keys are mentioned.

The V2 and V3 specifications do not define how keys match. In fabula, keys match whole words and ignore case, unless an
entry specifies otherwise. Patterns (`use_regex`, `/.../`) are never run, because a stranger's pattern could keep a
program busy forever; patterns that only list words are treated as words.

A lorebook can be in a card, in a separate file (`lorebook_v3`), or in a SillyTavern world file, whose entries are in an
object and have different field names.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.models.budget import estimate_tokens
from fabula.story.cards.texts import cleaned, parse_json

Position: TypeAlias = Literal["before", "after"]

MAX_BYTES: Final = 8_000_000
MAX_ENTRIES: Final = 5_000
MAX_KEYS: Final = 20_000  # of a whole book; those of later entries are left out
MAX_KEY: Final = 200
MAX_CONTENT: Final = 100_000
MAX_SCANNED: Final = 20_000  # characters, the latest ones
DEPTH: Final = 4  # messages, where a book does not say
BUDGET: Final = 1_000  # tokens, the same
_PASSES: Final = 3
_TIMED: Final = 60  # messages that are looked back for what stays, or rests
_RUN: Final = 3
_LARGEST: Final = 10**9
_AND_ANY, _NOT_ALL, _NOT_ANY, _AND_ALL = 0, 1, 2, 3
_WORD: Final = re.compile(r"\w+")
_RUN_ON: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_PATTERN: Final = re.compile(r"/(?P<body>.{1,2000})/[a-z]{0,8}", re.DOTALL)
_LITERAL: Final = re.compile(r"(?:[^\W_]|[ '\u2019-])+")
_DECORATORS: Final = (
    "activate", "dont_activate", "scan_depth", "activate_only_after", "additional_keys", "exclude_keys",
)  # fmt: skip
_DECORATOR: Final = re.compile(r"@@(?P<more>@?)(?P<name>[a-z_]{1,60})(?:[ \t]+(?P<value>[^\n]*))?")


@dataclass(frozen=True, slots=True)
class LorebookEntry:
    """An entry in a lorebook.

    Attributes:
        keys: the keys; each of them activates the entry.
        content: the text that is shown when the entry is active, without decorators.
        secondary: additional keys, used as `logic` specifies.
        logic: which of `secondary` must be mentioned: 0 means any, 1 not all, 2 none, and 3 all.
        constant: whether the entry is always active.
        order: the position of the entry; entries are shown in ascending order.
        priority: the priority; if not all entries fit, those with lower priority are dropped first.
        whole_words: whether keys match only whole words.
        position: where the entry is shown: before or after the character's description.
        depth: the number of messages to search for the keys, if it differs from the book's.
        after: how many times the character must have spoken before the entry can be active.
        additional: keys, at least one of which must also be mentioned.
        exclude: keys that must not be mentioned.
        chance: the probability, in percent, that the entry is activated when its keys match.
        sticky: the number of messages for which the entry stays active after activation.
        cooldown: the number of messages after that during which it cannot be activated again.
        delay: the number of messages that a chat must have before the entry can be activated.
        unheard: whether the content of other entries cannot activate the entry.
        silent: whether the entry's content cannot activate other entries.
        recalled: whether only the content of other entries can activate the entry.
    """

    keys: tuple[str, ...]
    content: str
    name: str = ""
    secondary: tuple[str, ...] = ()
    logic: int = _AND_ANY
    constant: bool = False
    enabled: bool = True
    order: float = 100
    priority: float | None = None
    case_sensitive: bool = False
    whole_words: bool = True
    position: Position = "before"
    depth: int | None = None
    after: int = 0
    additional: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    chance: float = 100
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    unheard: bool = False
    silent: bool = False
    recalled: bool = False


@dataclass(frozen=True, slots=True)
class Lorebook:
    """A lorebook.

    Attributes:
        depth: the number of latest messages to search.
        budget: the maximum number of tokens for all active entries; `None` if the book does not set a limit.
        recursive: whether active entries may activate other entries.
        notes: the parts of the file that are not used, with the reasons.
    """

    entries: tuple[LorebookEntry, ...]
    name: str = ""
    depth: int = DEPTH
    budget: int | None = None
    recursive: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, Any], where: str = "character_book") -> Lorebook:
        """The lorebook in a card's `character_book`, in a lorebook file (`lorebook_v3`), or in a SillyTavern world.

        Raises:
            UsageError: the book has no list of entries, or it has too many entries.
        """
        raw = raw["data"] if isinstance(raw.get("data"), dict) else raw
        listed = raw.get("entries", [])
        if isinstance(listed, dict):
            listed = [_of_world(entry) if isinstance(entry, dict) else entry for entry in listed.values()]
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise UsageError(f"{where}: `entries` is not a list of objects. Correct or remove it.")
        if len(listed) > MAX_ENTRIES:
            raise UsageError(f"{where} has {len(listed):,} entries. The maximum is {MAX_ENTRIES:,}.")
        reader = _Reader()
        entries = tuple(reader.entry(entry) for entry in listed)
        return cls(
            entries,
            name=_text(raw.get("name")),
            depth=_whole(raw.get("scan_depth"), DEPTH),
            budget=_whole(raw["token_budget"], 0) if _is_number(raw.get("token_budget")) else None,
            recursive=raw.get("recursive_scanning") is True,
            notes=reader.notes(),
        )


@dataclass
class _Reader:
    """Reads the entries of one book, and counts what is not used."""

    keys: int = 0
    patterns: int = 0
    dropped: int = 0

    def entry(self, raw: Mapping[str, Any]) -> LorebookEntry:
        extra = raw.get("extensions")
        extra = extra if isinstance(extra, dict) else {}
        content, decorators = _undecorated(_text(raw.get("content"))[:MAX_CONTENT])
        own = _truth(raw.get("case_sensitive"), _truth(extra.get("case_sensitive"), default=False))
        logic = extra.get("selectiveLogic")
        regex = raw.get("use_regex") is True
        return LorebookEntry(
            self._keys(raw.get("keys"), regex=regex),
            content,
            name=_text(raw.get("name")) or _text(raw.get("comment")),
            secondary=self._keys(raw.get("secondary_keys"), regex=regex) if raw.get("selective") is True else (),
            logic=logic if logic in (_NOT_ALL, _NOT_ANY, _AND_ALL) else _AND_ANY,
            constant=(raw.get("constant") is True and not regex) or "activate" in decorators,
            enabled=raw.get("enabled") is not False and ("dont_activate" not in decorators or "activate" in decorators),
            order=_number(raw.get("insertion_order"), 100),
            priority=_number(raw.get("priority"), 0) if _is_number(raw.get("priority")) else None,
            case_sensitive=own,
            whole_words=_truth(extra.get("match_whole_words"), default=True),
            position="after" if raw.get("position") == "after_char" else "before",
            depth=_counted(decorators, "scan_depth") if "scan_depth" in decorators else _depth(extra.get("scan_depth")),
            after=_counted(decorators, "activate_only_after") or 0,
            additional=self._keys(decorators.get("additional_keys", ""), regex=False),
            exclude=self._keys(decorators.get("exclude_keys", ""), regex=False),
            chance=_number(extra.get("probability"), 100) if extra.get("useProbability") is not False else 100,
            sticky=_whole(extra.get("sticky"), 0),
            cooldown=_whole(extra.get("cooldown"), 0),
            delay=_whole(extra.get("delay"), 0),
            unheard=extra.get("exclude_recursion") is True,
            silent=extra.get("prevent_recursion") is True,
            recalled=bool(extra.get("delay_until_recursion")),
        )

    def _keys(self, raw: object, *, regex: bool) -> tuple[str, ...]:
        listed = raw if isinstance(raw, list) else raw.split(",") if isinstance(raw, str) else []
        found: list[str] = []
        for key in (cleaned(key) for key in listed if isinstance(key, str)):
            pattern = _PATTERN.fullmatch(key)
            if regex or pattern:
                words = _words_of(pattern["body"] if pattern else key)
                self.patterns += not words
                found += words
            elif key:
                found.append(key)
        kept = [key for key in found if len(key) <= MAX_KEY][: max(MAX_KEYS - self.keys, 0)]
        self.keys += len(kept)
        self.dropped += len(found) - len(kept)
        return tuple(kept)

    def notes(self) -> tuple[str, ...]:
        found = []
        if self.patterns:
            counted = "pattern is" if self.patterns == 1 else "patterns are"
            found.append(
                f"{self.patterns} {counted} not used as a key, because fabula never runs patterns from a card."
            )
        if self.dropped:
            found.append(f"{self.dropped} keys are not used because they are too long or the lorebook has too many.")
        return tuple(found)


_OF_WORLD: Final = {
    "scanDepth": "scan_depth", "matchWholeWords": "match_whole_words", "caseSensitive": "case_sensitive",
    "excludeRecursion": "exclude_recursion", "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion", "selectiveLogic": "selectiveLogic", "probability": "probability",
    "useProbability": "useProbability", "sticky": "sticky", "cooldown": "cooldown", "delay": "delay",
}  # fmt: skip


def _of_world(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of a world file of SillyTavern as a card has it."""
    return {
        "keys": raw.get("key"),
        "secondary_keys": raw.get("keysecondary"),
        "selective": raw.get("selective", True),
        "content": raw.get("content"),
        "comment": raw.get("comment"),
        "constant": raw.get("constant"),
        "enabled": raw.get("disable") is not True,
        "insertion_order": raw.get("order"),
        "position": "before_char" if raw.get("position", 0) == 0 else "after_char",
        "extensions": {own: raw.get(name) for name, own in _OF_WORLD.items()},
    }


def read_lorebook(path: Path) -> Lorebook:
    """The lorebook in a file: `lorebook_v3`, a card's `character_book`, or a SillyTavern world.

    Raises:
        UsageError: the file cannot be read, is too large, or does not contain a lorebook.
    """
    data = read_bytes(path, MAX_BYTES, kind="a lorebook's JSON file")
    if (book := lorebook_in(data, str(path))) is None:
        raise UsageError(f"{path} contains no lorebook: it has no `entries`. Use a SillyTavern world file.")
    return book


def lorebook_in(data: bytes, name: str) -> Lorebook | None:
    """The lorebook in a file's bytes; `None` if their JSON is something else. `name` is used in messages.

    Raises:
        UsageError: the JSON is not valid, or the lorebook is too large.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 text (byte {error.start}). Use the JSON file of a lorebook.") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name} is larger than {MAX_BYTES:,} bytes. Use a smaller lorebook.")
    raw = parse_json(text, name, "lorebook")
    book = raw.get("data", raw) if isinstance(raw, dict) else None
    if not isinstance(book, dict) or not isinstance(book.get("entries"), list | dict):
        return None
    return Lorebook.of(book, name)


def _words_of(pattern: str) -> list[str]:
    """The words of a pattern that only lists some ("storm|gale"); none for any other."""
    bare = pattern.removeprefix("(?i)").replace("\\b", "").strip()
    bare = bare[1:-1].removeprefix("?:") if bare[:1] == "(" and bare[-1:] == ")" and bare.count("(") == 1 else bare
    parts = bare.split("|")
    return [part.strip() for part in parts] if all(map(_LITERAL.fullmatch, parts)) else []


def _undecorated(content: str) -> tuple[str, dict[str, str]]:
    """The content without its decorators, and these; the first of a name counts, fallbacks where they are known."""
    lines = content.split("\n")
    found: dict[str, str] = {}
    settled = False  # whether a fallback is not needed
    for place, line in enumerate(lines):
        mark = _DECORATOR.fullmatch(line.strip())
        if mark is None:
            if line.strip():
                return "\n".join(lines[place:]).strip(), found
            continue
        if mark["more"] and settled:
            continue
        settled = mark["name"] in _DECORATORS
        if settled:
            found.setdefault(mark["name"], (mark["value"] or "").strip())
    return "", found


# scanning -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scanned:
    """The active entries of a lorebook at one moment, in order.

    Attributes:
        before: the entries before the character's description.
        after: the entries after the character's description.
    """

    before: tuple[LorebookEntry, ...] = ()
    after: tuple[LorebookEntry, ...] = ()

    @property
    def shown(self) -> tuple[LorebookEntry, ...]:
        """All active entries, both before and after the description."""
        return (*self.before, *self.after)


def scan(
    book: Lorebook,
    messages: Sequence[str],
    *,
    budget: int | None = None,
    spoken: int | None = None,
    seed: str | None = None,
) -> Scanned:
    """The constant entries and the entries activated by the latest messages, if they fit.

    The result is the same for the same book, messages and seed. If two entries do not both fit, a constant entry comes
    first, then the entry with the higher `priority` (or `order` if it has none), then the entry that is earlier in the
    book.

    Args:
        book: the lorebook.
        messages: the messages of the chat, with the latest one last; at most 20,000 characters are searched.
        budget: the maximum number of tokens; the book's own budget applies if it is lower, and 1,000 if neither is set.
        spoken: how many times the character has spoken; without it, entries do not wait for a number of turns.
        seed: the seed that decides which entries with a probability are activated; without a seed, all are.
    """
    able = {
        place: entry
        for place, entry in enumerate(book.entries)
        if entry.enabled and entry.content and (spoken is None or spoken >= entry.after)
    }
    kept, resting = _timed(book, able, messages, seed)
    able = {place: entry for place, entry in able.items() if place not in resting}
    return _fitted(book, sorted(_called(book, able, messages, seed, kept)), budget)


def _called(
    book: Lorebook,
    able: Mapping[int, LorebookEntry],
    messages: Sequence[str],
    seed: str | None,
    kept: Iterable[int] = (),
) -> set[int]:
    """The places of the entries that are called, those that stay (`kept`) among them."""
    able = {
        place: one for place, one in able.items() if len(messages) >= one.delay and _chosen(place, one, messages, seed)
    }
    views = _Views(messages, book.depth)
    first = {place: entry for place, entry in able.items() if not entry.recalled}
    called = {place for place, entry in first.items() if entry.constant or _calls(entry, views.of(entry.depth))}
    called |= set(kept)
    for _ in range(_PASSES if book.recursive else 0):
        views.add([book.entries[place].content for place in sorted(called) if not book.entries[place].silent])
        left = {place: entry for place, entry in able.items() if place not in called and not entry.unheard}
        more = {place for place, entry in left.items() if _calls(entry, views.of(entry.depth))}
        if not more:
            break
        called |= more
    return called


def _chosen(place: int, entry: LorebookEntry, messages: Sequence[str], seed: str | None) -> bool:
    """Whether chance lets an entry be shown at this moment."""
    if seed is None or entry.chance >= 100:  # noqa: PLR2004 - percent
        return True
    return random.Random(f"{seed}/{place}/{len(messages)}").random() * 100 < entry.chance  # noqa: S311 - no secret


def _timed(
    book: Lorebook, able: Mapping[int, LorebookEntry], messages: Sequence[str], seed: str | None
) -> tuple[set[int], set[int]]:
    """The entries that stay since they were called a while ago, and those that rest and cannot be called.

    They are found by looking back message by message, so that nothing of it need be kept.
    """
    timed = {place: entry for place, entry in able.items() if entry.sticky or entry.cooldown}
    stays: dict[int, int] = {}
    rests: dict[int, int] = {}
    begin = max(len(messages) - _TIMED, 0)
    for number in range(begin + 1, len(messages)) if timed else ():
        free = {place: one for place, one in timed.items() if max(stays.get(place, 0), rests.get(place, 0)) < number}
        for place in _called(book, free, messages[:number], seed):
            stays[place] = number + timed[place].sticky
            rests[place] = stays[place] + timed[place].cooldown
    now = len(messages)
    kept = {place for place, last in stays.items() if last >= now and timed[place].sticky}
    return kept, {place for place, last in rests.items() if last >= now and place not in kept}


def _fitted(book: Lorebook, called: Sequence[int], budget: int | None) -> Scanned:
    limits = [limit for limit in (budget, book.budget) if limit is not None]
    left = min(limits, default=BUDGET)
    kept: list[int] = []
    for place in sorted(called, key=lambda place: (*_worth(book.entries[place]), place)):
        needed = estimate_tokens(book.entries[place].content)
        if needed <= left:
            kept.append(place)
            left -= needed
    ordered = [book.entries[place] for place in sorted(kept, key=lambda place: (book.entries[place].order, place))]
    return Scanned(
        tuple(entry for entry in ordered if entry.position == "before"),
        tuple(entry for entry in ordered if entry.position == "after"),
    )


def _worth(entry: LorebookEntry) -> tuple[bool, float]:
    return (not entry.constant, -(entry.order if entry.priority is None else entry.priority))


@dataclass
class _Views:
    """The latest messages as they are looked through: by depth, with and without case."""

    messages: Sequence[str]
    depth: int
    contents: str = ""
    _made: dict[int, _View] = field(default_factory=dict)

    def of(self, depth: int | None) -> _View:
        wanted = self.depth if depth is None else depth
        if wanted not in self._made:
            self._made[wanted] = _View.of([*_latest(self.messages, wanted), self.contents])
        return self._made[wanted]

    def add(self, contents: Iterable[str]) -> None:
        """Add the contents of entries to the searched text."""
        self.contents = "\n".join(contents)[:MAX_SCANNED]
        self._made.clear()


def _latest(messages: Sequence[str], depth: int) -> list[str]:
    text = "\n".join(messages[-depth:] if depth > 0 else [])
    return [text[-MAX_SCANNED:]]


@dataclass(frozen=True)
class _View:
    """A text twice, as it is and without case: whole, as words separated by blanks, and as a set of these."""

    plain: tuple[str, str]
    spaced: tuple[str, str]
    words: tuple[frozenset[str], frozenset[str]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _View:
        whole = cleaned("\n".join(texts))
        plain = (whole, whole.casefold())
        split = tuple(_WORD.findall(text) for text in plain)
        spaced = (f" {' '.join(split[0])} ", f" {' '.join(split[1])} ")
        return cls(plain, spaced, (frozenset(split[0]), frozenset(split[1])))

    @cached_property
    def runs(self) -> tuple[frozenset[str], frozenset[str]]:
        """All sequences of three characters in the text, which rule out most keys without a full search."""
        some, other = (frozenset(text[at : at + _RUN] for at in range(len(text))) for text in self.plain)
        return some, other

    def holds(self, key: str, entry: LorebookEntry) -> bool:
        """Whether the text mentions a key; in scripts without spaces, a key may be part of a longer run."""
        form = 0 if entry.case_sensitive else 1
        wanted = key if entry.case_sensitive else key.casefold()
        split = _WORD.findall(wanted)
        if not entry.whole_words or not split or _RUN_ON.search(wanted):
            runs = (wanted[at : at + _RUN] for at in range(max(len(wanted) - _RUN + 1, 0)))
            return all(run in self.runs[form] for run in runs) and wanted in self.plain[form]
        return split[0] in self.words[form] and f" {' '.join(split)} " in self.spaced[form]


def _calls(entry: LorebookEntry, view: _View) -> bool:
    """Whether what was said calls the entry."""
    if not any(view.holds(key, entry) for key in entry.keys):
        return False
    if entry.additional and not any(view.holds(key, entry) for key in entry.additional):
        return False
    if any(view.holds(key, entry) for key in entry.exclude):
        return False
    if not entry.secondary:
        return True
    found = [view.holds(key, entry) for key in entry.secondary]
    return {_AND_ANY: any(found), _NOT_ALL: not all(found), _NOT_ANY: not any(found), _AND_ALL: all(found)}[entry.logic]


# values of any kind -------------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return cleaned(value) if isinstance(value, str) else ""


def _truth(value: object, default: bool) -> bool:  # noqa: FBT001 - what stands in for a value
    return value if isinstance(value, bool) else default


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object, default: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return default
    return float(max(min(value, _LARGEST), -_LARGEST))  # a whole number of JSON may be too large for a float


def _whole(value: object, default: int) -> int:
    return max(int(_number(value, default)), 0)


def _depth(value: object) -> int | None:
    return max(int(_number(value, 0)), 0) if _is_number(value) else None


def _counted(decorators: Mapping[str, str], name: str) -> int | None:
    turns = decorators.get(name, "")
    return int(turns) if turns.isascii() and turns.isdigit() and len(turns) <= 6 else None  # noqa: PLR2004 - turns
