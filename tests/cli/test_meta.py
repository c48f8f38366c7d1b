"""`fabula lab meta`: a judge beside people and trivial baselines, and files that cannot be compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SYSTEMS = ("poor", "fair", "good")
PROMPTS = tuple(f"p{n}" for n in range(8))


def lines(path: Path, ratings: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(rating) + "\n" for rating in ratings), encoding="utf-8")


def score(rater: str, system: str, prompt: str, value: float, question: str = "plot") -> dict[str, Any]:
    return {"rater": rater, "kind": "person" if rater in "ab" else "model", "items": [f"{system}/{prompt}"],
            "systems": [system], "prompt": prompt, "question": question, "answer": value}  # fmt: skip


def choice(rater: str, systems: tuple[str, str], prompt: str, better: str) -> dict[str, Any]:
    items = [f"{system}/{prompt}" for system in systems]
    answer = "same" if better == "same" else f"{better}/{prompt}"
    return {"rater": rater, "kind": "person" if rater in "ab" else "model", "items": items, "systems": list(systems),
            "prompt": prompt, "question": "overall", "shown": "A", "answer": answer}  # fmt: skip


@pytest.fixture
def files(here: Path) -> Path:
    """Scores of two people, of a judge that agrees and of one that loves length; the good are the short."""
    people, sound, long, stories, even = [], [], [], [], []
    for number, prompt in enumerate(PROMPTS):
        for value, system in enumerate(SYSTEMS):
            people += [score("a", system, prompt, value + 1), score("b", system, prompt, value + 1 + number % 2)]
            sound.append(score("m", system, prompt, value * 2))
            long.append(score("m", system, prompt, -value))
            text = "word " * (30 - 10 * value + number)
            even.append({"id": f"{system}/{prompt}", "text": "word " * (20 + (7 * value + number) % 3)})
            stories.append({"id": f"{system}/{prompt}", "text": text, "system": system, "prompt": prompt})
    lines(here / "people.jsonl", people)
    lines(here / "sound.jsonl", sound)
    lines(here / "long.jsonl", long)
    lines(here / "stories.jsonl", stories)
    lines(here / "even.jsonl", even)
    return here


def numbers(found: dict[str, Any], of: str, what: str) -> dict[str, Any]:
    (row,) = [row for row in found["rows"] if (row["of"], row["what"]) == (of, what)]
    assert isinstance(row, dict)
    return row


def test_a_judge_that_agrees_beats_the_baselines_and_is_said_so(cli: Cli, files: Path) -> None:
    data = cli("lab", "meta", "sound.jsonl", "people.jsonl", "--stories", "even.jsonl", "--json").json
    assert numbers(data, "judge", "plot: stories: spearman")["value"] == pytest.approx(1, abs=1e-12)
    assert numbers(data, "judge", "plot: stories: accuracy")["value"] == 1
    assert numbers(data, "judge", "plot: systems: kendall")["value"] == pytest.approx(1, abs=1e-12)
    length = numbers(data, "length", "plot: stories: accuracy")
    assert (length["baseline"], length["n"]) == (True, 8)
    assert length["value"] < 1
    constant = numbers(data, "constant", "plot: stories: accuracy")
    assert constant["value"] == 0.5
    assert 0 < constant["low"] < 0.5 < constant["high"] < 1
    assert data["questions"]["plot"]["beats_baselines"] is True
    assert numbers(data, "people", "plot: Krippendorff's alpha, interval")["n"] == 24
    assert numbers(data, "first position", "plot: stories: accuracy")["unscored"]


def test_a_judge_that_loves_length_does_not_and_is_said_so(cli: Cli, files: Path) -> None:
    ran = cli("lab", "meta", "long.jsonl", "people.jsonl", "--stories", "stories.jsonl")
    assert ran.code == 0
    assert "The judge does not beat the trivial baseline 'type-token ratio': accuracy 0.000 against 1.000." in ran.out
    assert "people: Fleiss' kappa" in ran.out


def test_without_the_stories_two_baselines_are_missing_and_it_is_said(cli: Cli, files: Path) -> None:
    ran = cli("lab", "meta", "sound.jsonl", "people.jsonl", "--html", "meta.html")
    assert ran.code == 0
    assert "Not compared: length, type-token ratio." in ran.out
    page = (files / "meta.html").read_text(encoding="utf-8")
    assert "it needs the stories; give them with --stories" in page
    assert "legacy_fig3" in page


def test_choices_are_compared_pair_by_pair(cli: Cli, files: Path) -> None:
    pairs = [("poor", "fair"), ("fair", "good"), ("poor", "good")]
    people = [choice(rater, pair, p, pair[1]) for rater in "ab" for pair in pairs for p in PROMPTS]
    judge = [choice("m", shown, p, pair[1]) for pair in pairs for p in PROMPTS for shown in (pair, pair[::-1])]
    first = [choice("m", shown, p, shown[0]) for pair in pairs for p in PROMPTS for shown in (pair, pair[::-1])]
    lines(files / "hp.jsonl", people)
    lines(files / "jp.jsonl", judge)
    lines(files / "first.jsonl", first)
    data = cli("lab", "meta", "jp.jsonl", "hp.jsonl", "--stories", "stories.jsonl", "--json").json
    accuracy = numbers(data, "judge", "overall: pairs: accuracy")
    assert (accuracy["value"], accuracy["n"]) == (1, 8)
    assert numbers(data, "length", "overall: pairs: accuracy")["value"] == 0
    assert numbers(data, "first position", "overall: pairs: accuracy")["value"] == 0.5
    assert numbers(data, "judge", "overall: systems: spearman")["value"] == pytest.approx(1, abs=1e-12)
    assert numbers(data, "people", "overall: Krippendorff's alpha, nominal")["n"]
    ran = cli("lab", "meta", "first.jsonl", "hp.jsonl")
    assert "The judge does not beat the trivial baseline" in ran.out


def test_several_questions_are_also_taken_together(cli: Cli, files: Path) -> None:
    both = [score(r, s, p, n, q) for r in "ab" for n, s in enumerate(SYSTEMS) for p in PROMPTS for q in ("x", "y")]
    lines(files / "two.jsonl", both)
    lines(files / "judge.jsonl", [rating | {"rater": "m"} for rating in both if rating["rater"] == "a"])
    ran = cli("lab", "meta", "judge.jsonl", "two.jsonl")
    assert [line for line in ran.out.splitlines() if line in {"x", "y", "all questions"}] == ["x", "y", "all questions"]
    assert "all questions: the mean of each story over the questions" in ran.out
    one = cli("lab", "meta", "judge.jsonl", "two.jsonl", "--question", "y", "--json").json
    assert list(one["questions"]) == ["y"]
    assert (
        "Unknown common question 'yy'. Known: x, y."
        in cli("lab", "meta", "judge.jsonl", "two.jsonl", "--question", "yy").err
    )


def test_what_has_no_answer_is_counted_never_dropped_in_silence(cli: Cli, files: Path) -> None:
    known = score("m", "good", "p0", 1)
    missing = {**known, "rater": "n", "answer": None, "unscored": "no verdict"}
    odd = {**known, "rater": "o", "answer": "lovely"}
    with (files / "sound.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(missing) + "\n" + json.dumps(odd) + "\n")
    data = cli("lab", "meta", "sound.jsonl", "people.jsonl", "--json").json
    assert "sound.jsonl: 1 ratings have no answer and were left out." in data["notes"]
    assert "sound.jsonl: answers that are neither a score nor a choice were left out: 'lovely' (1)." in data["notes"]


def test_yes_and_no_are_scores_and_a_reference_is_not_a_story(cli: Cli, files: Path) -> None:
    people = [score("a", s, p, 0) | {"answer": "yes" if s == "good" else "No"} for s in SYSTEMS for p in PROMPTS]
    beside = [
        score("m", s, p, n) | {"items": [f"reference:{p}", f"{s}/{p}"], "systems": ["reference", s]}
        for n, s in enumerate(SYSTEMS) for p in PROMPTS
    ]  # fmt: skip
    lines(files / "yes.jsonl", people)
    lines(files / "beside.jsonl", beside)
    data = cli("lab", "meta", "beside.jsonl", "yes.jsonl", "--json").json
    row = numbers(data, "judge", "plot: stories: accuracy")
    assert (row["value"], row["n"]) == (pytest.approx(5 / 6), 8)
    assert numbers(data, "people", "plot: agreement")["unscored"] == "there is one rater"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"rater": "a"}', "other.jsonl, line 1: `kind` is missing. Correct the line or remove it."),
        (
            json.dumps(score("a", "x", "p", 1, "style")),
            "no question in common: the first contains plot, the second style.",
        ),
        (
            json.dumps(score("a", "x", "p", 1)),
            "no story in common: the first contains 'fair/p0', 'fair/p1', 'fair/p2', the second ",
        ),
        (f'{json.dumps(score("a", "x", "p", 1))}\n' * 2, "other.jsonl, line 2: line 1 already contains this verdict."),
    ],
)  # fmt: skip
def test_files_that_cannot_be_compared_are_named_errors(cli: Cli, files: Path, line: str, expected: str) -> None:
    (files / "other.jsonl").write_text(line + "\n", encoding="utf-8")
    ran = cli("lab", "meta", "sound.jsonl", "other.jsonl")
    assert ran.code == 2
    assert expected in ran.err


def test_a_rater_or_evaluator_that_is_not_there_is_named(cli: Cli, files: Path) -> None:
    ran = cli("lab", "meta", "sound.jsonl", "people.jsonl", "--rater", "x")
    assert (ran.code, ran.err) == (
        2, "fabula: No rating in sound.jsonl matches the options. The file has ratings by m (no evaluator).\n",
    )  # fmt: skip
    averaged = cli("lab", "meta", "people.jsonl", "people.jsonl", "--json").json
    assert "people.jsonl: the ratings of 2 raters are averaged (a, b); --rater selects one rater." in averaged["notes"]


# one definition of a verdict ----------------------------------------------------------------------------------------


def weighed(prompt: str, first: str, other: str, share: float, question: str = "overall") -> dict[str, Any]:
    """A judge's "A" with this probability, `first` shown first."""
    rating = choice("m", (first, other), prompt, first) | {"question": question}
    return rating | {"shown": f"A {share:.9f}, B {0.99 - share:.9f}, Same 0.010000000"}


@pytest.fixture
def leaning(here: Path) -> Path:
    """A judge that always says A, and more surely so where the long story is A; people prefer the long one."""
    judge, people, stories = [], [], []
    for n, prompt in enumerate(PROMPTS):
        judge += [weighed(prompt, "long", "short", 0.95), weighed(prompt, "short", "long", 0.6)]
        people.append(choice("a", ("long", "short") if n % 2 else ("short", "long"), prompt, "long"))
        for system, words in (("long", 30), ("short", 10)):
            stories.append({"id": f"{system}/{prompt}", "text": "word " * words, "system": system, "prompt": prompt})
    lines(here / "judge.jsonl", judge)
    lines(here / "people.jsonl", people)
    lines(here / "stories.jsonl", stories)
    return here


@pytest.mark.usefixtures("leaning")
def test_meta_and_rank_count_the_same_verdicts(cli: Cli) -> None:
    """The judge's corrected choice is the long story: length agrees with it in all pairs, and so do people."""
    ranked = cli("evaluate", "pairwise", "stories.jsonl", "--ratings", "judge.jsonl", "--json").json["reports"][
        "pairwise"
    ]
    assert numbers(ranked, "length", "agreement/overall")["value"] == 1
    data = cli("lab", "meta", "judge.jsonl", "people.jsonl", "--stories", "stories.jsonl", "--json").json
    for of in ("judge", "length"):
        assert numbers(data, of, "overall: pairs: accuracy")["value"] == 1
    assert numbers(data, "judge", "overall: stories: accuracy")["value"] == 1
    assert numbers(data, "first position", "overall: pairs: accuracy")["value"] == 0.5
    assert data["how"]["choices of the judge"] == "8 of 8 weighed by probabilities over both orders, margin 0.1"
    assert data["how"]["choices of people"] == "as they were given"
    wins = numbers(ranked, "long", "wins/overall")
    assert (wins["value"], wins["n"]) == (1, len(PROMPTS))
    wide = cli("lab", "meta", "judge.jsonl", "people.jsonl", "--margin", "0.9", "--json").json
    assert numbers(wide, "judge", "overall: pairs: accuracy")["value"] == 0.5
    strict = ("--set", "margin=0.9", "--json")
    ranked = cli("evaluate", "pairwise", "stories.jsonl", "--ratings", "judge.jsonl", *strict).json["reports"][
        "pairwise"
    ]
    assert numbers(ranked, "length", "agreement/overall")["value"] == 0.5


def test_a_tie_counts_the_same_in_meta_and_rank(cli: Cli, leaning: Path) -> None:
    """People's own file through both: what `rank` says of length against it, `meta` says too."""
    said = [json.loads(line) for line in (leaning / "people.jsonl").read_text(encoding="utf-8").splitlines()]
    for rating in said[:3]:
        rating["answer"] = "same"
    lines(leaning / "people.jsonl", said)
    ranked = cli("evaluate", "pairwise", "stories.jsonl", "--ratings", "people.jsonl", "--json").json["reports"][
        "pairwise"
    ]
    data = cli("lab", "meta", "judge.jsonl", "people.jsonl", "--stories", "stories.jsonl", "--json").json
    one, other = numbers(ranked, "length", "agreement/overall"), numbers(data, "length", "overall: pairs: accuracy")
    assert (one["value"], one["n"]) == (other["value"], other["n"])
    assert one["value"] < 1


def test_a_pair_judged_in_one_order_only_is_not_settled(cli: Cli, leaning: Path) -> None:
    kept = [json.loads(line) for line in (leaning / "judge.jsonl").read_text(encoding="utf-8").splitlines()]
    kept[0] |= {"answer": None, "unscored": "no verdict"}
    kept[2:4] = [rating | {"shown": "A"} for rating in kept[2:4]]
    kept[4] |= {"shown": "A"}
    del kept[5]
    lines(leaning / "judge.jsonl", kept)
    data = cli("lab", "meta", "judge.jsonl", "people.jsonl", "--json").json
    assert numbers(data, "judge", "overall: pairs: accuracy")["n"] == len(PROMPTS) - 2
    assert "judge.jsonl: 1 ratings have no answer and were left out." in data["notes"]
    assert any("judge.jsonl: 2 of 8 pairs were judged in one order only and are undecided" in n for n in data["notes"])


def test_renaming_a_system_changes_nothing(cli: Cli, leaning: Path) -> None:
    def found() -> list[tuple[Any, ...]]:
        rows = cli("lab", "meta", "judge.jsonl", "people.jsonl", "--stories", "stories.jsonl", "--json").json["rows"]
        return [(r["of"], r["what"], r["value"], r.get("low"), r.get("high"), r["n"]) for r in rows]

    before = found()
    for name in ("judge.jsonl", "people.jsonl", "stories.jsonl"):
        text = (leaning / name).read_text(encoding="utf-8")
        (leaning / name).write_text(text.replace('"long', '"zlong'), encoding="utf-8")
    assert found() == before


# creativity tests ---------------------------------------------------------------------------------------------------

TESTS = ("fluency/narrative-ending", "fluency/narrative-pacing", "originality/originality-in-thought")


def label(system: str, prompt: str, test: str, value: float | None, *, first: bool) -> dict[str, Any]:
    """A label beside a reference, from the story's side; `None` could not be read."""
    items, systems = [f"{system}/{prompt}", f"reference:{prompt}"], [system, "reference"]
    if not first:
        items, systems = items[::-1], systems[::-1]
    answer = {"answer": value} if value is not None else {"answer": None, "unscored": "no label"}
    return {"rater": "m", "kind": "model", "items": items, "systems": systems, "prompt": prompt, "question": test,
            "evaluator": "ttcw", "call": f"{test}/{first}", **answer}  # fmt: skip


@pytest.fixture
def tested(here: Path) -> Path:
    """Systems that pass no, one and two of three tests by the judge's labels, and by the majority of three people."""
    judge, people = [], []
    for prompt in PROMPTS[:3]:
        for passed, system in enumerate(SYSTEMS):
            for place, test in enumerate(TESTS):
                # By mean labels the best system, which just passes, would be the worst: the others' one pass is huge.
                low, high = (-1.0, 1.0) if system == "good" else (-2.0, 2.0)
                mine = high if place < passed else low
                judge += [label(system, prompt, test, mine if system != "good" or place else 0.0, first=first)
                          for first in (True, False)]  # fmt: skip
                for rater in "abc":
                    yes = place < passed and rater != "c"
                    people.append(score(rater, system, prompt, 0, test) | {"answer": "yes" if yes else "no"})
    lines(here / "labels.jsonl", judge)
    lines(here / "experts.jsonl", people)
    return here


@pytest.mark.usefixtures("tested")
def test_creativity_tests_are_compared_by_how_many_are_passed(cli: Cli) -> None:
    data = cli("lab", "meta", "labels.jsonl", "experts.jsonl", "--json").json
    assert numbers(data, "judge", "tests passed: stories: spearman")["value"] == pytest.approx(1)
    assert list(data["questions"])[:3] == ["tests passed", "tests passed: fluency", "tests passed: originality"]
    assert numbers(data, "people", "tests passed: Krippendorff's alpha, ordinal")["method"].startswith("Kripp")
    ran = cli("lab", "meta", "labels.jsonl", "experts.jsonl")
    heads = [line for line in ran.out.splitlines() if line.startswith(("tests passed", "fluency/"))]
    assert heads[:2] == ["tests passed", "tests passed: fluency"]
    assert not any(head in TESTS for head in heads)
    assert "To see each of the 3 tests" in ran.out
    one = cli("lab", "meta", "labels.jsonl", "experts.jsonl", "--question", TESTS[0], "--json").json
    assert list(one["questions"]) == [TESTS[0]]


def test_a_test_with_an_unreadable_order_has_no_outcome_here_either(cli: Cli, tested: Path) -> None:
    ratings = [json.loads(line) for line in (tested / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    for rating in ratings:
        if rating["items"][0] == "good/p0" and rating["question"] == TESTS[0]:
            rating |= {"answer": None, "unscored": "no label"}
    lines(tested / "labels.jsonl", ratings)
    data = cli("lab", "meta", "labels.jsonl", "experts.jsonl", "--json").json
    note = "labels.jsonl: 1 of 27 tests have no outcome because the answer for one order could not be read."
    assert any(said.startswith(note) for said in data["notes"])
    assert numbers(data, "judge", f"{TESTS[0]}: stories: kappa")["n"] == 8
    # `good` passes one test of p0 now, as `fair` does; it is not left with the label of the other order.
    assert numbers(data, "judge", "tests passed: stories: spearman")["value"] == pytest.approx((2 + 0.8660254) / 3)


def test_the_page_has_a_figure_for_each_question(cli: Cli, files: Path) -> None:
    assert cli("lab", "meta", "sound.jsonl", "people.jsonl", "--stories", "even.jsonl", "--html", "meta.html").code == 0
    page = (files / "meta.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "plot: stories, accuracy, with 95 % intervals (0.5 is chance)" in page
    assert page.index("Compared with the baselines") < page.index("All numbers")
