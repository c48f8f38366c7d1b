"""A model that writes long, literary prose of the length it is asked for, in any language."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import count_words
from schemas import example, wrong_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.models.base import Json, Request

NAMES: Final = frozenset(
    {"name", "names", "speaker", "character", "characters", "title", "place", "places", "location", "key"}
)
USUAL_WORDS: Final = 190
LONG_WORDS: Final = 150  # of a text in a typed reply: 800 characters, more than any cap that there was
_WANTED: Final = re.compile(
    r"between ([\d,]+) and ([\d,]+)(?: words)?|([\d,]+) (?:to|and) ([\d,]+) words|about ([\d,]+) words"
)


class Capable(ScriptedModel):
    """Writes paragraphs of the `kinds` in turn, each with a number of its own; it reads of `people` in stories."""

    def __init__(self, kinds: Sequence[Callable[[int], str]], people: Sequence[str] = ()) -> None:
        super().__init__(self.answer, capabilities=Capabilities(schema=True, choices=True, context=200_000))
        self.kinds = kinds
        self.people = [*people]
        self.numbers = count(1)
        self.replies: list[str] = []

    def answer(self, request: Request) -> str:
        if request.choices:
            return request.choices[0]
        if request.schema is not None:
            assert not [*wrong_in(request.schema, short=False)], request.path
            if self.people and request.path.endswith("/read_people"):
                return json.dumps({"people": self.people})
            return json.dumps(self.filled(request.schema, example(request.schema, request.path)))
        return self.written(wanted(request))

    def written(self, words: int) -> str:
        """About `words` words of prose."""
        paragraphs: list[str] = []
        have = 0
        while have <= words or not paragraphs:
            text = self.kinds[len(paragraphs) % len(self.kinds)](next(self.numbers))
            have += count_words(text)
            if paragraphs and have > words:
                break
            paragraphs.append(text)
        text = "\n\n".join(paragraphs)
        self.replies.append(text)
        return text

    def filled(self, schema: Json, value: Any, field: str = "") -> Any:  # noqa: ANN401 - JSON data
        """`value` with long prose wherever the schema leaves room for it."""
        if isinstance(value, dict):
            inner = schema.get("properties", {})
            return {key: self.filled(inner.get(key, {}), part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [self.filled(schema.get("items", {}), part, field) for part in value]
        free = isinstance(value, str) and field not in NAMES
        bound = {"enum", "const", "pattern", "format", "maxLength"} & schema.keys()
        return self.written(LONG_WORDS).replace("\n\n", " ") if free and not bound else value


def wanted(request: Request) -> int:
    """The number of words that a prompt asks for, as a reader would understand it."""
    found = _WANTED.findall(request.messages[-1].content)
    if not found:
        return USUAL_WORDS
    numbers = [int(number.replace(",", "")) for number in found[-1] if number]
    return sum(numbers) // len(numbers)


def flat(text: str) -> str:
    """`text` on one line, without asterisks."""
    return " ".join(text.replace("*", " ").split())
