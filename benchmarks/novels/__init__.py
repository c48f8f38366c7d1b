"""Two long novels with errors that lie 50 pages and more apart, rebuilt from the stories of ConStory-Bench.

A recipe (`n100.json`, `n300.json`) holds no text but the words of its errors and decoys: which stories are braided, in
how many parts, what is renamed, and the edits, in the format of the planted stories. Its checksum is that of the text.
"""

from __future__ import annotations

import gzip
import json
import re
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECIPES: Final = Path(__file__).parent
SOURCE: Final = "constory_silver.jsonl.gz"


def names() -> tuple[str, ...]:
    """The novels that there are."""
    return tuple(sorted(file.stem for file in RECIPES.glob("*.json")))


def novel(name: str, data: Path) -> dict[str, Any]:
    """A novel as a planted story: its text, errors and decoys.

    Args:
        name: one of `names()`.
        data: the folder with the stories.

    Raises:
        UsageError: the stories are not there, or not those that the recipe was made for.
    """
    recipe = json.loads((RECIPES / f"{name}.json").read_text(encoding="utf-8"))
    source = data / SOURCE
    if not source.is_file():
        raise UsageError(f"{source} is not there. Set FABULA_DATA to the folder of the ground truth.")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        stories = {story["id"]: story["story"] for story in map(json.loads, lines)}
    strands = [_parts(_renamed(stories[one["id"]], one["rename"]), recipe["parts"]) for one in recipe["stories"]]
    told: list[str] = []
    for number in range(recipe["parts"]):
        for at, strand in enumerate(strands, 1):
            told += [f"Chapter {number * len(strands) + at}", *strand[number]]
    text = "\n\n".join(told) + "\n"
    if sha256(text.encode()).hexdigest() != recipe["sha256"]:
        raise UsageError(f"{source} has other stories than those that the novel {name} was made of.")
    return {**recipe["novel"], "text": text, "errors": recipe["errors"], "decoys": recipe["decoys"]}


def _renamed(text: str, names_: Mapping[str, str]) -> str:
    for old, new in names_.items():
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)
    return text


def _parts(text: str, count: int) -> list[Sequence[str]]:
    """The paragraphs in so many runs of nearly as many words."""
    paragraphs = [line.strip() for line in text.split("\n") if line.strip()]
    ends = list(accumulate(len(paragraph.split()) for paragraph in paragraphs))
    cuts = [0]
    for n in range(1, count):
        wanted = ends[-1] * n / count
        cuts.append(1 + min(range(cuts[-1], len(paragraphs)), key=lambda at: abs(ends[at] - wanted)))
    return [paragraphs[low:high] for low, high in pairwise([*cuts, len(paragraphs)])]
