"""`meta` finds the published numbers of the TTCW paper from ratings files: it compares tests passed, as the paper does.

Experts' and models' public answers become ratings; the means over plots of Figures 1 and 2 and of Table 1 come out of
`fabula lab meta`'s own path, without `fabula lab reproduce`. The paper counts an undefined coefficient as 0
and so does `meta`
where the judge sees no difference; there is no plot on which the experts see none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.verdict_files import PASSED, common_questions, side_of
from fabula.data.ttcw import RANKED, experts, verdicts
from fabula.measure.ratings import Rating
from fabula.stats.estimate import Estimate
from fabula.stats.meta import meta
from fabula.story import slug
from ground_truth import data_folder

if TYPE_CHECKING:
    from pathlib import Path

MODELS = ("claudev13", "gpt4", "claude3-opus", "claudev21")


def rating(who: str, plot: int, system: str, question: str, answer: str | float) -> Rating:
    model = isinstance(answer, float)
    return Rating(rater=who, kind="model" if model else "person", items=(f"{plot}_{system}",), systems=(system,),
                  prompt=str(plot), question=question, answer=answer, evaluator="ttcw" if model else "")  # fmt: skip


def files(folder: Path, model: str) -> tuple[list[Rating], list[Rating]]:
    """The model's ratings, and the experts', of the three systems that are ranked, in the published order."""
    tests = json.loads((folder / "tests.json").read_bytes())
    names = {one["ttcw_idx"]: f"{slug(one['torrance_dimension'])}/{slug(one['category'])}" for one in tests}
    people = [
        rating(f"expert {v.expert}", v.plot, v.system, names[v.test], "yes" if v.passed else "no")
        for v in sorted(experts(folder), key=lambda v: (v.plot, RANKED.index(v.system) if v.system in RANKED else 9))
        if v.system in RANKED
    ]
    judge = [
        rating(model, v.plot, v.system, names[v.test], float(v.passed))
        for v in verdicts(folder, model)
        if v.system in RANKED
    ]
    return judge, people


@pytest.mark.parametrize("model", MODELS)
def test_published_means_are_found(model: str) -> None:
    folder = data_folder("ttcw")
    if not list(folder.glob(f"verdicts_{model}.*")):
        pytest.skip(f"the replies of {model} are not there")
    published = json.loads((folder / "published_seed002.json").read_text(encoding="utf-8"))
    judge, people = files(folder, model)
    both = common_questions(side_of(judge, "judge"), side_of(people, "people"))[PASSED]
    found = {f.what: f.scored for f in meta(both.judge, both.human, {}, raters=both.raters).findings if f.of == "judge"}
    expected = {
        "stories: spearman": published["figure1_spearman"][model][-1],
        "stories: kendall": published["figure2_kendall"][model][-1],
        "stories: accuracy (legacy_fig3)": published["figure3_accuracy"][model][-1],
    }
    table_1 = published["table1"]["baseline"].get(model)
    if table_1:
        expected["stories: accuracy (legacy_table1)"] = table_1[-1]
    for what, value in expected.items():
        scored = found[what]
        assert isinstance(scored, Estimate)
        assert round(scored.value, 2) == pytest.approx(value, abs=0.0051), what
        assert scored.n == 12


def test_table_2_can_be_made_for_any_judge_whose_replies_are_there() -> None:
    judge, people = files(data_folder("ttcw"), "gpt4")
    questions = common_questions(side_of(judge, "judge"), side_of(people, "people"))
    dimensions = ["elaboration", "flexibility", "fluency", "originality"]
    assert sorted(name for name in questions if name.startswith(PASSED)) == [
        PASSED,
        *(f"{PASSED}: {d}" for d in dimensions),
    ]
    counted = [{v.items[0]: v.value for v in questions[f"{PASSED}: {d}"].judge} for d in dimensions]
    whole = {v.items[0]: v.value for v in questions[PASSED].judge}
    assert {name: sum(part[name] for part in counted) for name in whole} == whole
    one = common_questions(side_of(judge, "judge"), side_of(people, "people"), f"{PASSED}: fluency")
    assert list(one) == [f"{PASSED}: fluency"]
