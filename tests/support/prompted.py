"""A model whose free texts are a function of the prompt, and what a dry run announces beside what is asked then."""

from __future__ import annotations

import json
import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fabula.engine.dry_run import placeholder
from fabula.models.base import Capabilities, Reply
from fabula.models.scripted import ScriptedModel
from schemas import example

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.models.base import Json, Request

NAMES = frozenset(
    {"name", "names", "speaker", "character", "characters", "title", "place", "places", "location", "key"}
)
WORDS = 60
_WORD = re.compile(r"\b[a-z]{5,}\b")
_REPEATED = re.compile(r"/(?:again|extend|shorten|anew)/|_again$")


def reply_to(request: Request) -> str:
    """A reply whose free text depends on the prompt, and nothing else."""
    salt = sha256("\0".join(message.content for message in request.messages).encode()).hexdigest()[:8]
    if request.choices:
        return request.choices[0]
    if request.schema is not None:
        return json.dumps(_salted(request.schema, example(request.schema, request.path), salt))
    seed = request.sampling.seed or 0
    # With commas, as people write: tables that quote them end in a quotation mark.
    return re.sub(r"(\w+ \w+ \w+) ", r"\1, ", placeholder(WORDS, f"{request.path}{salt}{seed}"))


def _salted(schema: Json, value: Any, salt: str, field: str = "") -> Any:  # noqa: ANN401 - JSON data
    """`value` with every free text made from the salt; what may be a name stays."""
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return {key: _salted(inner.get(key, {}), part, salt, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_salted(schema.get("items", {}), part, salt, field) for part in value]
    free = isinstance(value, str) and not {"enum", "const", "pattern", "format"} & schema.keys() and field not in NAMES
    return placeholder(len(value.split()), value + salt) if free else value


def weighed(request: Request) -> str | Reply:
    """The text of `reply_to`, with the probabilities that an estimate expects of a model that is asked for them."""
    text = reply_to(request)
    return Reply(text, logprobs={text: -0.1}) if request.logprobs else text


def model_of_prompts() -> ScriptedModel:
    return ScriptedModel(weighed, capabilities=Capabilities(schema=True, choices=True))


def changed(text: str, which: int) -> str:
    """`text` with one of its words, that it has but once, made another of the same length."""
    words = _WORD.findall(text)
    once = [word for word in dict.fromkeys(words) if words.count(word) == 1 and text.count(word) == 1]
    if not once:
        return text
    old = once[which % len(once)]
    return text.replace(old, "z" * len(old))


def assert_same(announced: Iterable[str], asked: Iterable[str], *in_vain: str) -> None:
    """The same calls, but for those that only exist because a text came out too short or could not be read.

    `in_vain` are pieces of paths that may be announced and then not asked.
    """
    said, made = (Counter(path for path in paths if not _REPEATED.search(path)) for paths in (announced, asked))
    missing = list(made - said)
    too_many = [path for path in said - made if not any(piece and piece in path for piece in in_vain)]
    assert (missing, too_many) == ([], []), f"not announced: {missing}; announced in vain: {too_many}"
