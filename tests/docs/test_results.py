"""What fabula says of quality rests on rows of docs/results, and those on verdicts that are kept."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import generate
import pytest
from trials import KEPT, POINTER, claiming, claims, results, sentences_of, trials

from fabula.measure.ratings import SAME
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from trials import BlindTrial

# Words by which a sentence says that readers, or a judge, liked one way of writing better.
_CLAIM = re.compile(
    r"\d+ (?:of|verdicts of) \d+ (?:blind|verdicts|pairs)|verdicts? of \d|\bblind pairs\b.*\bprefer"
    r"|\breaders? [^,]*preferred|\breads better\b(?! was not)|\bbetter stories\b|\bpreferred to\b",
    re.IGNORECASE,
)
# Sentences that say how something is counted, or of what data are made, and not how good a system is.
_NO_CLAIM = {
    "docs/how-to/training-data.md",
    "docs/how-to/train.md",
    "docs/how-to/study.md",
    "docs/how-to/judge-and-rank.md",
}
_FIGURES = re.compile(r"\d+ of \d+|(?<![\w])\.\d\d\b|\b1\.00\b")
ROWS = {pair.id: pair.row for trial in trials() for pair in trial.pairs}


def test_the_page_is_made_of_what_is_kept() -> None:
    assert generate.RESULTS.read_text(encoding="utf-8") == generate.results_page(), "say `make docs`"


@pytest.mark.parametrize("file", claiming(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_who_says_that_readers_preferred_something_names_the_row(file: Path) -> None:
    if file.relative_to(ROOT).as_posix() in _NO_CLAIM:
        return
    bare = [one for one in sentences_of(file) if _CLAIM.search(one) and not POINTER.search(one)]
    assert not bare, "each needs a row of docs/results, as `[docs/results: ROW]` or a link to it"


def test_a_claim_has_the_figures_of_its_row() -> None:
    found = list(claims())
    assert len(found) > len(ROWS) // 2
    for file, sentence, row in found:
        assert row in ROWS, f"{file}: {sentence}"
        missing = [figure for figure in _FIGURES.findall(sentence) if figure not in ROWS[row]]
        assert not missing, f"{file}: {sentence}\n{ROWS[row]}"


def test_a_claim_without_a_row_is_noticed() -> None:
    for bare in (
        "It got 24 of 24 verdicts over one call.",
        "Readers of blind pairs preferred it.",
        "A room reads better.",
    ):
        assert _CLAIM.search(bare)
        assert not POINTER.search(bare)


@pytest.mark.parametrize("trial", trials(), ids=lambda trial: trial.name)
def test_a_trial_says_who_judged_and_what_it_cannot_say(trial: BlindTrial) -> None:
    about = trial.about
    assert all(about[name] for name in ("title", "asked", "date", "judge", "limits", "unit"))
    assert all(one.systems[0] in about["systems"] for one in trial.ratings)


def test_verdicts_are_counted_as_they_were_given() -> None:
    """By hand: who is named as better in how many lines, without the classes that make the page."""
    (trial,) = [one for one in trials() if one.name == "equal-tokens"]
    better = Counter(str(one.answer).partition("/")[0] for one in trial.ratings if one.question == "overall")
    assert better == {"room": 12, "self-revision": 12}
    (pair,) = trial.pairs
    assert pair.verdicts == {
        "weighing-house": (0, 6), "tide-table": (3, 6), "left-luggage": (4, 6), "inventory": (5, 6),
    }  # fmt: skip
    (older,) = [one for one in trials() if one.name == "long-rooms"]
    lost = [sum(got for got, _ in pair.verdicts.values()) for pair in older.pairs]
    assert lost == [0, 0, 0]
    assert SAME not in chain.from_iterable(one.items for one in trial.ratings)
    assert "12 of 24" in results()


def test_a_tie_is_half_a_verdict_and_briefs_that_agree_leave_room_for_others() -> None:
    (trial,) = [one for one in trials() if one.name == "short-rooms"]
    pairs = {pair.systems: pair for pair in trial.pairs}
    one, other = "draft-first-revised-2", "end-to-end-revised-8"
    chosen = [
        str(rating.answer).partition("/")[0]
        for rating in trial.ratings
        if rating.question == "overall" and set(rating.systems) == {one, other}
    ]
    got = sum(share for share, _ in pairs[one, other].verdicts.values())
    assert got == chosen.count(one) + chosen.count(SAME) / 2
    assert "| 29 of 29 | 1.00 | .61 to 1.00 |" in pairs["draft-first", "end-to-end"].row
    assert len(pairs) == 10


def test_the_words_of_stories_that_are_kept_are_those_of_the_table() -> None:
    (trial,) = [one for one in trials() if one.name == "short-rooms"]
    for story in trial.stories:
        text = (KEPT / trial.name / "stories" / story["system"] / f"{story['brief']}.md").read_text(encoding="utf-8")
        assert len((text.partition("\n")[2] if text.startswith("# ") else text).split()) == int(story["words"])
