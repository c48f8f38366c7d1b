"""The result of a dry run, and texts of the expected size in place of replies that were never recorded.

`fabula.engine.lines` explains how a dry run finds what a run would ask again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import shake_128
from math import ceil, exp, log, sqrt
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.engine.events import CallPlace
from fabula.models.base import Reply
from fabula.models.budget import estimate_tokens
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabula.engine.journal import Payment
    from fabula.models.base import Json, Request, Usage

    Expected: TypeAlias = Mapping[str, float | str | None]
    Words: TypeAlias = Callable[[float], int]
    Usual: TypeAlias = float | str | dict[str, float | str]

Temper: TypeAlias = Literal["even", "mixed", "terse", "generous"]
_SENTENCE: Final = 11
_ALPHABET: Final = bytes(ord("a") + byte % 26 for byte in range(256))
_LETTERS: Final = 4  # of a word, beside the first one; one less in every third
_FEW, _MANY, _PER_WORD = 8, 120, 14  # words of a text in a typed reply; half of what its bound allows
_USUAL: Final = 12  # words of a text in a typed reply that nothing bounds
_ENTRIES: Final = 2  # of a list whose number nothing says
_TERSE, _GENEROUS = 0.85, 1.15  # shares of the words asked for that models give, as replies of several have shown
_UNFORESEEN: Final = 1.15  # times what is planned, where nothing shows what the models do: scenes, turns, repairs
_LUCK: Final = 4.0  # times the root of a number of calls: as far as it may well be passed
_EVERY_OTHER: Final = 0.5
_SHARES: Final = (0.2, 8.0)  # a record beyond them tells of replies that were cut, or ran on
_DOUBT: Final = 3  # calls to other prompts that count as much as knowing nothing
TOKENS_OF_A_WORD: Final = 1.3
"""Tokens per word of a story, on average."""
_SHORT: Final = frozenset(
    {"place", "time", "date", "age", "gender", "person", "tense", "form", "element", "goal_domain"}
)
_GAP: Final = re.compile(r"\{(\d{1,5})\}")
_NAMED: Final = re.compile(r"\{([a-z_]{1,30})\}")
_RUN: Final = re.compile(r"\S+(?:[ \t]+\S+){0,7}")  # as many words as quotations have
_NAMES: Final = frozenset({"name", "names", "who", "speaker", "key", "title"})


@dataclass(frozen=True, slots=True)
class PlannedCall(CallPlace):
    """A call that a real run would pay for; tokens are estimates, and `cost` is in US dollars or `None` if unknown.

    `aids` says whether the call is made with the help for small models.
    """

    prompt: int
    reply: int
    cost: float | None
    aids: bool = False


@dataclass(slots=True)
class DryRun:
    """The result of a dry run.

    Attributes:
        planned: the calls that would be made.
        replayed: the number of calls that the journal answers.
        reached: the paths of all artefacts that a run uses, or would use if they existed.
        guessed: whether a typed reply was made up, so that the names in the real reply are not known.
        stale: the paths of the artefacts that would be made, or made again.
        differing: the paths of the artefacts that are not stale but would get a text that differs from the present one.
        shortfalls: what the author asks for and will not get, in sentences.
        of_files: what the author should know about the files, in sentences.
        notices: what the author should know about the run, in sentences.
        temper: the assumed length of replies of models without a record. Some models give 85 % of the words that they
            are asked for and some 115 %, which decides what is continued. `mixed` alternates terse and generous texts;
            `even` gives exactly what is asked for.
        made_up: the number of made-up replies, for paths that never had a reply.
        tempered: whether the length of some replies is only a guess at their model's temper.
        others: the dry runs with other tempers, which show how far the estimate may be off.
        bare: whether optional calls (`Run.optional`) are left out.
        on_request: called with each request, recorded or not.
    """

    planned: list[PlannedCall] = field(default_factory=list)
    replayed: int = 0
    reached: set[str] = field(default_factory=set)
    guessed: bool = False
    stale: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    shortfalls: list[str] = field(default_factory=list)
    of_files: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    temper: Temper = "even"
    made_up: int = 0
    others: tuple[DryRun, ...] = ()
    tempered: bool = False
    bare: bool = False
    on_request: Callable[[Request], None] | None = None

    @property
    def cost(self) -> float | None:
        """The expected cost of a run in US dollars, or `None` if a price is unknown."""
        costs = [call.cost for call in self.planned]
        return None if None in costs else self._margin * sum(cost or 0.0 for cost in costs)

    @property
    def tokens(self) -> int:
        """The prompt and reply tokens that a run is expected to need."""
        return round(self._margin * self.walked)

    @property
    def walked(self) -> int:
        """Prompt and reply tokens of the planned calls."""
        return sum(call.prompt + call.reply for call in self.planned)

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number of tokens, by what is known about differences between models."""
        tokens = [self.tokens, *(walk.walked for walk in self.others)]
        return min(tokens), max(tokens)

    @property
    def calls(self) -> tuple[int, int]:
        """The smallest number of calls, and a number that may well be reached."""
        numbers = [len(walk.planned) for walk in (self, *self.others)]
        return min(numbers), max(numbers)

    @property
    def most(self) -> int:
        """How many calls an update may make before the author is asked again.

        A text that is made again may need other turns, tries and repairs than before, depending on the new replies.
        Such a number varies by about its square root. Of 618 random edits, 45 took more calls than before, by at most
        3.4 times the root (`python -m benchmarks announced`).
        """
        calls = self.calls[1]
        return calls + ceil(_LUCK * sqrt(calls))

    @property
    def _margin(self) -> float:
        return _UNFORESEEN if self.others else 1.0  # in a long story one makes up for another

    @property
    def restored(self) -> list[str]:
        """The paths of the artefacts that get another text from recorded replies alone, as after `undo`."""
        return [] if self.planned else self.differing

    def share(self, known: float | None, path: str) -> float:
        """The share of the requested words that a reply has: from the record, otherwise from the temper."""
        if known is not None:
            return known
        self.tempered = True
        if self.temper == "even":
            return 1.0
        if self.temper == "mixed":
            return _TERSE if _drawn(path) < _EVERY_OTHER else _GENEROUS
        return _TERSE if self.temper == "terse" else _GENEROUS


class Lengths:
    """How long models' replies were compared with what was expected, according to a record.

    The length of a model's replies to a prompt is the best estimate for its next reply to that prompt. The length of
    its other replies is a weaker one.

    Args:
        paid: the usage of calls, and the number of tokens expected in their replies.
    """

    def __init__(self, paid: Iterable[Payment] = ()) -> None:
        self._by_prompt: dict[tuple[str, str], tuple[int, int]] = {}
        self._by_model: dict[str, list[float]] = {}
        self._thought: dict[str, list[int]] = {}
        for one in paid:
            self.add(one.performer, one.path, one.expected, one.usage)

    def add(self, performer: str, path: str, expected: int, usage: Usage) -> None:
        """Add a reply."""
        said = usage.reply - usage.reasoning
        if expected <= 0 or said <= 0:
            return
        key = performer, path.rpartition("/")[2]
        before = self._by_prompt.get(key, (0, 0))
        self._by_prompt[key] = before[0] + expected, before[1] + said
        self._by_model.setdefault(performer, []).append(log(min(max(said / expected, _SHARES[0]), _SHARES[1])))
        self._thought.setdefault(performer, []).append(usage.reasoning)

    def share(self, performer: str, path: str) -> float | None:
        """The share of the expected tokens that a model's reply at a path will have; `None` if nothing is known."""
        expected, written = self._by_prompt.get((performer, path.rpartition("/")[2]), (0, 0))
        if expected:
            return min(max(written / expected, _SHARES[0]), _SHARES[1])
        logs = self._by_model.get(performer)
        return exp(sum(logs) / (len(logs) + _DOUBT)) if logs else None

    def reasoning(self, performer: str) -> int:
        """The average number of reasoning tokens that a model writes before a reply; 0 if nothing is known."""
        thought = self._thought.get(performer)
        return round(sum(thought) / len(thought)) if thought else 0


@dataclass(frozen=True, slots=True)
class Sketch:
    """The probable form of a reply that was never requested.

    Attributes:
        words: its approximate number of words; `None` means as many as its model may write.
        form: its form, if known: in `#1. {5}`, `{5}` means about 5 words.
        made: a function that gives a typed reply as JSON, with texts of a given number of words.
        weighed: whether it comes with the probabilities of its first token.
    """

    words: float | None = None
    form: str = ""
    made: Callable[[Words], str] | None = None
    weighed: bool = False

    def tokens(self, path: str, most: int) -> int:
        """The expected number of tokens in the reply, at most `most`."""
        if self.made is not None:
            found = estimate_tokens(self.made(round))
        elif self.form:
            found = estimate_tokens(sketched(self.form, 1.0, path))
        else:
            found = most if self.words is None else ceil(self.words * TOKENS_OF_A_WORD)
        return min(found, most)

    def reply(self, path: str, share: float, most: int) -> Reply:
        """The reply, with a share of the expected words and at most `most` tokens."""
        if self.made is not None:
            text = self.made(lambda words: min(round(words * share), most))
            return Reply(text, logprobs={text: 0.0} if self.weighed else None)
        if self.form:
            return Reply(sketched(self.form, share, path))
        words = round((self.words or most) * share)
        return Reply(placeholder(min(words, most), path), finish="length" if words > most else "stop")


def sketch_of(says: Usual | None, fields: Mapping[str, Any], expect: float | str | None) -> Sketch:
    """The sketch of a free text.

    Its length is the number of words asked for, otherwise the number expected here, otherwise the length of the text
    that it revises, otherwise the usual length from the prompt's file. A line of its form that names a list is repeated
    for each entry.
    """
    words = fields.get("words")
    asked = getattr(words, "target", words) or expect or fields.get("has")
    if isinstance(asked, int | float):
        return Sketch(asked)
    found = asked if isinstance(asked, str) else says
    if isinstance(found, str):
        return Sketch(form="\n".join(_lines(found, fields)))
    return Sketch(found if isinstance(found, int | float) else None)


def _lines(form: str, fields: Mapping[str, Any]) -> Iterator[str]:
    for line in form.split("\n"):
        named = _NAMED.search(line)
        entries = fields.get(named[1]) if named else None
        if named and isinstance(entries, list | tuple):
            yield from (line.replace(named[0], str(entry)) for entry in entries)
        else:
            yield line


def placeholder(words: int, path: str) -> str:
    """Text of `words` words whose sentences all differ, even between paths, so that no check cuts it.

    Its words and sentences are as long as those of stories, because the text becomes part of later prompts, whose
    tokens are estimated, and some texts are cut by sentences. It has 1.30 tokens per word and 11 words per sentence,
    like the 42 stories of `benchmarks/results/short-rooms`.
    """
    drawn = shake_128(path.encode()).digest(_LETTERS * max(words, 1))
    letters = drawn.translate(_ALPHABET).decode("ascii")
    words_made = [
        "w" + letters[at : at + _LETTERS - (n % 3 == 1)] for n, at in enumerate(range(0, len(letters), _LETTERS))
    ]
    lines = [" ".join(words_made[i : i + _SENTENCE]).capitalize() + "." for i in range(0, len(words_made), _SENTENCE)]
    return " ".join(lines)


def sketched(form: str, share: float, path: str) -> str:
    """A text of a form such as `#1. {5}`, in which `{5}` becomes about 5 words."""
    return _GAP.sub(lambda gap: placeholder(max(round(int(gap[1]) * share), 1), f"{path}/{gap.start()}"), form)


def usual(schema: Json, path: str, expect: Expected, words: Words = round, nth: int = 0, field: str = "") -> Any:  # noqa: ANN401, PLR0911 - JSON data of any shape
    """A value of a JSON schema (references inlined) of the usual length, for a reply that was never requested.

    `expect` gives the number of entries in a list, the number of words in each (`events[]`), or the text to
    quote. A list without such a number has two entries, and optional fields are left out unless `expect` names them.
    Names are words, so that the parts of a value can refer to each other.
    """
    if "const" in schema:
        return schema["const"]
    if options := schema.get("enum"):
        return options[nth % len(options)]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return usual(schema[several][0], path, expect, words, nth, field)
    said = expect.get(field)
    kind = schema.get("type", "string")
    if kind == "object":
        needed = {*schema.get("required", ()), *expect}
        parts = schema.get("properties", {}).items()
        return {name: usual(part, f"{path}/{name}", expect, words, nth, name) for name, part in parts if name in needed}
    if kind == "string":
        return _text(schema, path, said, words, field)
    said = None if isinstance(said, str) else said
    if kind == "array":
        entries = _ENTRIES if said is None else int(said)
        entries = max(min(entries, schema.get("maxItems", entries)), schema.get("minItems", 0))
        items = schema.get("items", {"type": "string"})
        return [
            usual(items, f"{path}/{n}", {**expect, field: expect.get(f"{field}[]")}, words, n, field)
            for n in range(entries)
        ]
    if said is None:
        least = schema.get("minimum", 1)
        return {"integer": least, "number": least, "boolean": False, "null": None}.get(kind)
    return _drawn(path) < said if kind == "boolean" else round(said)


def _text(schema: Json, path: str, said: float | str | None, words: Words, field: str) -> str:
    if field in _NAMES:
        return placeholder(1, path).rstrip(".")
    if isinstance(said, str):
        return _quoted(said, path)
    bounded = _FEW // 2 if field in _SHORT else max(_words(schema), _USUAL)
    return placeholder(words(bounded if said is None else said), path)


def _quoted(text: str, path: str) -> str:
    """Some words of a text that follow each other there, fixed by a path."""
    runs = _RUN.findall(text)
    at = int(_drawn(path) * len(runs))
    return next((run for run in runs[at:] + runs[:at] if count_words(run)), text)


def _drawn(path: str) -> float:
    """A number from 0 to 1 that is fixed by a path."""
    return shake_128(path.encode()).digest(1)[0] / 256


def _words(schema: Json) -> int:
    """How long a text may well be for which a schema allows so many characters."""
    return min(max(int(schema.get("maxLength", 0)) // _PER_WORD, _FEW), _MANY)
