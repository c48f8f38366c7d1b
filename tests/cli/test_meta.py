"""`fabula meta`: a judge beside people and trivial baselines, and files that cannot be compared."""

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
    data = cli("meta", "sound.jsonl", "people.jsonl", "--stories", "even.jsonl", "--json").json
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
    ran = cli("meta", "long.jsonl", "people.jsonl", "--stories", "stories.jsonl")
    assert ran.code == 0
    assert "The judge does not beat the trivial baseline 'type-token ratio': accuracy 0.000 against 1.000." in ran.out
    assert "people: Fleiss' kappa" in ran.out


def test_without_the_stories_two_baselines_are_missing_and_it_is_said(cli: Cli, files: Path) -> None:
    ran = cli("meta", "sound.jsonl", "people.jsonl", "--html", "meta.html")
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
    data = cli("meta", "jp.jsonl", "hp.jsonl", "--stories", "stories.jsonl", "--json").json
    accuracy = numbers(data, "judge", "overall: pairs: accuracy")
    assert (accuracy["value"], accuracy["n"]) == (1, 24)
    assert numbers(data, "length", "overall: pairs: accuracy")["value"] == 0
    assert numbers(data, "first position", "overall: pairs: accuracy")["value"] == 0.5
    assert numbers(data, "judge", "overall: systems: spearman")["value"] == pytest.approx(1, abs=1e-12)
    assert numbers(data, "people", "overall: Krippendorff's alpha, nominal")["n"]
    ran = cli("meta", "first.jsonl", "hp.jsonl")
    assert "The judge does not beat the trivial baseline" in ran.out


def test_several_questions_are_also_taken_together(cli: Cli, files: Path) -> None:
    both = [score(r, s, p, n, q) for r in "ab" for n, s in enumerate(SYSTEMS) for p in PROMPTS for q in ("x", "y")]
    lines(files / "two.jsonl", both)
    lines(files / "judge.jsonl", [rating | {"rater": "m"} for rating in both if rating["rater"] == "a"])
    ran = cli("meta", "judge.jsonl", "two.jsonl")
    assert [line for line in ran.out.splitlines() if line in {"x", "y", "all questions"}] == ["x", "y", "all questions"]
    assert "all questions: each story's mean over the questions" in ran.out
    one = cli("meta", "judge.jsonl", "two.jsonl", "--question", "y", "--json").json
    assert list(one["questions"]) == ["y"]
    assert "Did you mean 'y'" in cli("meta", "judge.jsonl", "two.jsonl", "--question", "yy").err


def test_what_has_no_answer_is_counted_never_dropped_in_silence(cli: Cli, files: Path) -> None:
    known = score("m", "good", "p0", 1)
    missing = {**known, "rater": "n", "answer": None, "unscored": "no verdict"}
    odd = {**known, "rater": "o", "answer": "lovely"}
    with (files / "sound.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(missing) + "\n" + json.dumps(odd) + "\n")
    data = cli("meta", "sound.jsonl", "people.jsonl", "--json").json
    assert "sound.jsonl: 1 ratings have no answer and are left out." in data["notes"]
    assert "sound.jsonl: answers that are no score and no choice are left out: 'lovely' (1)." in data["notes"]


def test_yes_and_no_are_scores_and_a_reference_is_not_a_story(cli: Cli, files: Path) -> None:
    people = [score("a", s, p, 0) | {"answer": "yes" if s == "good" else "No"} for s in SYSTEMS for p in PROMPTS]
    beside = [
        score("m", s, p, n) | {"items": [f"reference:{p}", f"{s}/{p}"], "systems": ["reference", s]}
        for n, s in enumerate(SYSTEMS) for p in PROMPTS
    ]  # fmt: skip
    lines(files / "yes.jsonl", people)
    lines(files / "beside.jsonl", beside)
    data = cli("meta", "beside.jsonl", "yes.jsonl", "--json").json
    row = numbers(data, "judge", "plot: stories: accuracy")
    assert (row["value"], row["n"]) == (pytest.approx(5 / 6), 8)
    assert numbers(data, "people", "plot: agreement")["unscored"] == "there is one rater"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"rater": "a"}', "other.jsonl, line 1: kind: Field required. Correct the line or take it out."),
        (json.dumps(score("a", "x", "p", 1, "style")), "no common question: plot in the one, style in the other."),
        (json.dumps(score("a", "x", "p", 1)), "no story in common: 'fair/p0', 'fair/p1', 'fair/p2' in the one, 'x/p'"),
        (f'{json.dumps(score("a", "x", "p", 1))}\n' * 2, "other.jsonl, line 2: the same verdict stands in line 1."),
    ],
)  # fmt: skip
def test_files_that_cannot_be_compared_are_named_errors(cli: Cli, files: Path, line: str, expected: str) -> None:
    (files / "other.jsonl").write_text(line + "\n", encoding="utf-8")
    ran = cli("meta", "sound.jsonl", "other.jsonl")
    assert ran.code == 2
    assert expected in ran.err


def test_a_rater_or_evaluator_that_is_not_there_is_named(cli: Cli, files: Path) -> None:
    ran = cli("meta", "sound.jsonl", "people.jsonl", "--rater", "x")
    assert (ran.code, ran.err) == (
        2, "fabula: sound.jsonl has no rating that is asked for; it has those of m (no evaluator).\n",
    )  # fmt: skip
    averaged = cli("meta", "people.jsonl", "people.jsonl", "--json").json
    assert "people.jsonl: 2 raters are averaged (a, b); --rater takes one." in averaged["notes"]
