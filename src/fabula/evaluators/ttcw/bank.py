"""The tests for a story: our own bank, or one in the format of the published tests."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import read_text
from fabula.story import slug

OWN: Final = Path(__file__).parent / "tests.toml"
MAX_BYTES: Final = 2_000_000
_FIELDS: Final = ("torrance_dimension", "category", "question", "full_prompt")
_LAST_LINES: Final = 2  # of a published prompt: what to do, and the question; the rest is the background


@dataclass(frozen=True, slots=True)
class CreativityTest:
    """One test.

    Attributes:
        dimension: fluency, flexibility, originality or elaboration.
        name: for instance "Narrative Pacing".
        question: the question, answered with yes or no.
        background: what the critic should know to answer it.
        look: what to gather before judging; empty if the bank says nothing.
    """

    dimension: str
    name: str
    question: str
    background: str
    look: str = ""

    @property
    def id(self) -> str:
        """For instance "fluency/narrative-pacing"."""
        return f"{slug(self.dimension)}/{slug(self.name)}"


@dataclass(frozen=True, slots=True)
class Bank:
    """Tests in their order, and a name for this version of the wording."""

    tests: tuple[CreativityTest, ...]
    version: str

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions, as in question ids, in order."""
        return tuple(dict.fromkeys(slug(test.dimension) for test in self.tests))

    def only(self, names: str) -> Bank:
        """The bank with only the tests that `names` lists: ids, dimensions or test names, separated by commas.

        Raises:
            UnknownNameError: there is no such test or dimension.
        """
        wanted = {"/".join(slug(part) for part in name.split("/")) for name in names.split(",") if name.strip()}
        known = {test: {test.id, *test.id.split("/")} for test in self.tests}
        for name in sorted(wanted - set().union(*known.values())):
            raise UnknownNameError("test or dimension", name, set().union(*known.values()))
        chosen = tuple(test for test, called in known.items() if called & wanted)
        return replace(self, tests=chosen) if wanted else self


def read_bank(path: str = "") -> Bank:
    """Our own tests, or those of a JSON file in the format of the published ones.

    Such a file is a list of objects with `torrance_dimension`, `category`, `question` and `full_prompt`. The
    background is the prompt without its last two lines, as in the release.

    Raises:
        UsageError: the file cannot be read, contains no such list, or has a test twice.
    """
    text = read_text(Path(path) if path else OWN, MAX_BYTES, kind="tests (a JSON file)")
    tests = _published(text, path) if path else _own(text)
    ids = [test.id for test in tests]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise UsageError(f"{path}: the test {twice[0]} occurs twice. Remove one.")
    return Bank(tests, f"{'given' if path else 'own'}-{sha256(text.encode()).hexdigest()[:8]}")


def _own(text: str) -> tuple[CreativityTest, ...]:
    return tuple(
        CreativityTest(t["dimension"], t["name"], t["question"], t["background"].strip(), t["look"])
        for t in tomllib.loads(text)["tests"]
    )


def _published(text: str, path: str) -> tuple[CreativityTest, ...]:
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON ({error}). Give a list of tests.") from error
    if not isinstance(data, list) or not data:
        raise UsageError(f"{path} is not a list of tests. Give a list of objects with {', '.join(_FIELDS)}.")
    return tuple(_test(entry, f"{path}, test {number}") for number, entry in enumerate(data, 1))


def _test(entry: Any, where: str) -> CreativityTest:  # noqa: ANN401 - JSON of any kind
    given = [entry.get(name) for name in _FIELDS] if isinstance(entry, dict) else []
    texts = [value.strip() for value in given if isinstance(value, str) and value.strip()]
    if len(texts) < len(_FIELDS):
        raise UsageError(f"{where}: not an object with texts in {', '.join(_FIELDS)}. Correct it.")
    dimension, name, question, prompt = texts
    return CreativityTest(dimension, name, question, _background(prompt))


def _background(prompt: str) -> str:
    lines = prompt.split("\n")
    for _ in range(_LAST_LINES):
        while lines and not lines[-1].strip():
            lines.pop()
        lines = lines[:-1]
    return "\n".join(lines).strip()
