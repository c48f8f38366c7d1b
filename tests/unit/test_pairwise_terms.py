"""What a report on side-by-side verdicts says of equal length, power, the parts of the variance and a panel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.evaluators.pairwise.config import Config
from fabula.evaluators.pairwise.report import ranked
from fabula.measure.ratings import Rating
from fabula.stats.estimate import Estimate

if TYPE_CHECKING:
    from fabula.measure.report import Report


def report(judges: int = 1, seeds: int = 2, prompts: int = 20, love: float = 1.5) -> Report:
    """Verdicts of judges that like the longer story, of which system a writes more."""
    rng = np.random.default_rng(9)
    texts: dict[str, str] = {}
    ratings = []
    for prompt in range(prompts):
        for seed in range(seeds):
            one, other = f"{prompt}/a-{seed}", f"{prompt}/b-{seed}"
            lengths = {one: int(rng.integers(100, 300)), other: int(rng.integers(60, 220))}
            texts |= {item: "word " * count for item, count in lengths.items()}
            for judge in range(judges):
                for items in ((one, other), (other, one)):
                    odds = love * (lengths[items[0]] - lengths[items[1]]) / 100
                    won = items[0] if rng.random() < 1 / (1 + np.exp(-odds)) else items[1]
                    ratings.append(
                        Rating(
                            items=items,
                            rater=f"judge{judge}",
                            kind="model",
                            evaluator="pairwise",
                            question="overall",
                            answer=won,
                            systems=tuple(item.split("/")[1][0] for item in items),
                            prompt=f"p{prompt}",
                        )
                    )
    return ranked(ratings, texts, Config.improved())


def value(found: Report, of: str, what: str) -> Estimate:
    scored = found.row(of, what).scored
    assert isinstance(scored, Estimate)
    return scored


def test_a_system_that_wins_by_its_length_does_not_at_equal_length() -> None:
    found = report(prompts=60)
    wins, even = value(found, "a", "wins/overall"), value(found, "a", "wins at equal length/overall")
    assert wins.low is not None
    assert wins.low > 0.5
    assert even.low is not None
    assert even.high is not None
    assert even.low < 0.5 < even.high
    longer = value(found, "judge", "longer by one deviation, log odds/overall")
    assert longer.low is not None
    assert longer.low > 0


def test_the_report_says_what_its_prompts_can_show_and_where_the_variance_is() -> None:
    found = report()
    least = value(found, "a - b", "least difference/overall")
    assert least.n == 20
    (said,) = [note for note in found.notes if "prompts show a difference of" in note]
    assert f"20 prompts show a difference of {100 * least.value:.0f} points in wins (a - b) with 80%" in said
    assert "For 5 points about " in said
    (parts,) = [note for note in found.notes if "Of the variance of a verdict" in note]
    shares = [int(word.removesuffix("%")) for word in parts.split() if word.endswith("%")]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert not [row for row in found.rows if row.of == "judges"]


def test_the_hardest_two_are_named_also_where_the_prompts_are_too_few_for_any_difference() -> None:
    found = report(prompts=4, seeds=1, love=0.0)
    assert not [row for row in found.rows if row.what.startswith("least difference")]
    (said,) = [note for note in found.notes if "too few" in note]
    assert said.startswith("overall: 4 prompts are too few to show any difference in wins (a - b) with 80%")
    few = int(said.partition("For 5 points about ")[2].partition(" prompts")[0].replace(",", ""))
    assert few > 100


def test_of_several_judges_their_agreement_is_shown() -> None:
    agreed = value(report(judges=3, love=8.0), "judges", "agreement, alpha/overall")
    apart = value(report(judges=3, love=0.0), "judges", "agreement, alpha/overall")
    assert agreed.value > 0.5
    assert apart.value < 0.3
    assert agreed.low is not None


def test_more_questions_need_larger_differences() -> None:
    ratings = report().ratings
    both = ranked([*ratings, *(replace(one, question="plot") for one in ratings)], {}, Config.improved())
    assert (
        value(both, "a - b", "least difference/overall").value
        > value(report(), "a - b", "least difference/overall").value
    )
