"""`fabula data preferences`: what an author did with the texts of a project becomes pairs, through the command line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from commandline import BRIEF, REPLIES, script_of
from fabula.engine.journal import FORMAT, CallFilter, Journal
from fabula.models.base import Message
from fabula.training.examples import read_card, read_pairs
from witnesses import all_witness

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli
    from fabula.training.examples import PreferencePair

pytestmark = pytest.mark.usefixtures("same_model")

CLIMAX = REPLIES["climax"]
MINE = "The storm broke the window, and Mara held what was left of the flame."
OTHER = "Glass flew. The flame bent flat, and Mara put both her hands around it."
THIRD = "Nobody heard the window go. Mara stood in the rain with a light in her hands."
NOTE = "climax:revise_to_note"


def pairs_of(cli: Cli, *arguments: str) -> list[PreferencePair]:
    ran = cli("data", "preferences", "lamp", "--out", "pairs", "--development", "0", *arguments)
    assert ran.code == 0, ran.err
    return list(read_pairs(cli.folder / "pairs", "train"))


def left_out(cli: Cli) -> list[dict[str, Any]]:
    lines = (cli.folder / "pairs/left-out.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def prompt_at(project: Path, path: str) -> list[tuple[str, str]]:
    with Journal(project / ".fabula/journal.db") as journal:
        return list(journal.calls.find(CallFilter(under=path), prompts=True)[0].messages)


def edited(cli: Cli, path: str, text: str) -> None:
    assert cli("edit", path, "--text", text, "-C", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0


def retaken(cli: Cli, write_script: Callable[..., None], *note: str, **replies: str) -> None:
    write_script(**replies)
    assert cli("text", "retake", "climax", *note, "-C", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0


def told(pairs: list[PreferencePair]) -> list[tuple[str, str, str]]:
    return [(pair.kind, pair.chosen, pair.rejected) for pair in pairs]


def test_an_edit_is_a_pair_under_the_prompt_that_was_asked(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("edit", MINE, CLIMAX)]
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")
    assert (pair.agent, pair.group, pair.chosen_first) == ("climax", "lamp/climax", False)
    assert pair.source["rejected_version"] == 1
    assert pair.source["chosen_version"] == 2
    assert pair.source["judge"] == "author"
    assert str(project.parent) not in json.dumps(pair.source)
    card = read_card(cli.folder / "pairs")
    assert (card.kind, card.counts["train"], card.counts["kinds"]) == ("pairs", 1, {"edit": 1})


def test_several_edits_are_one_pair_of_the_first_text_and_the_last(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    edited(cli, "climax", THIRD)
    assert told(pairs_of(cli)) == [("edit", THIRD, CLIMAX)]


def test_an_edit_that_was_taken_back_is_no_pair(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    cli("undo", "lamp")
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert ran.code != 0
    assert "No decision gives a pair. fabula makes pairs from what you do with a text after it is written:" in ran.err
    assert not (cli.folder / "pairs").exists()


def test_a_take_that_stands_is_preferred_to_each_it_replaced(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    assert told(pairs_of(cli)) == [("retake", OTHER, CLIMAX)]
    retaken(cli, write_script, climax=THIRD)
    assert told(pairs_of(cli)) == [("retake", THIRD, CLIMAX), ("retake", THIRD, OTHER)]


def test_a_take_that_was_taken_back_turns_the_pair_round(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    cli("undo", "lamp")
    (before_update,) = pairs_of(cli)
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    assert told([pair]) == told([before_update]) == [("retake", CLIMAX, OTHER)]
    assert pair.chosen_first is True


def test_an_approved_take_is_accepted_against_the_rejected_one(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    cli("text", "approve", "climax", "-C", "lamp")
    assert told(pairs_of(cli)) == [("approval", OTHER, CLIMAX)]


def test_a_note_is_a_pair_and_keeps_the_wish(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    retaken(cli, write_script, "--note", "darker", **{NOTE: OTHER})
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("note", OTHER, CLIMAX)]
    assert pair.source["note"] == "darker"
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")
    cli("undo", "lamp")
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("note", CLIMAX, OTHER)]
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")


def test_a_wish_for_a_new_draw_is_a_retake(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    retaken(cli, write_script, "--note", "darker", "--anew", climax=OTHER)
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("retake", OTHER, CLIMAX)]
    assert pair.source["note"] == "darker"


def test_a_wish_that_was_taken_back_does_not_ask_for_what_meets_another(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, "--note", "darker", **{NOTE: OTHER})
    assert cli("undo", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0
    retaken(cli, write_script, "--note", "funnier", **{NOTE: THIRD})
    pairs = pairs_of(cli)
    assert told(pairs) == [("note", THIRD, CLIMAX), ("note", THIRD, OTHER)]
    for pair in pairs:
        assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")


def test_an_edit_before_a_wish_was_met_is_an_edit(cli: Cli, project: Path) -> None:
    assert cli("text", "retake", "climax", "--note", "darker", "-C", "lamp").code == 0
    edited(cli, "climax", MINE)
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("edit", MINE, CLIMAX)]
    assert "note" not in pair.source


def test_a_part_that_was_split_is_not_preferred_to_the_whole(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    second = "She took the letter from her coat and read it to the sea, twice."
    retaken(cli, write_script, climax=f"{OTHER}\n\n{second}")
    whole = project / "story.md"
    text = whole.read_text(encoding="utf-8")
    whole.write_text(text.replace(second, f"<!-- scene: The letter -->\n\nIt rained.\n\n{second}"), encoding="utf-8")
    assert cli("update", "lamp", "--yes").code == 0
    assert second in next((project / "story").glob("*letter*")).read_text(encoding="utf-8")
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert "No pair is left: a passage of it was moved into another text (2)." in ran.err


def test_an_edit_beside_a_changed_plan_is_left_out(cli: Cli, project: Path) -> None:
    cli("edit", "setting", "--text", "A lighthouse in the south sea.", "-C", "lamp")
    cli("edit", "climax", "--text", MINE, "-C", "lamp")
    cli("update", "lamp", "--yes")
    assert [pair.source["path"] for pair in pairs_of(cli)] == ["setting"]
    assert [(one["path"], one["reason"]) for one in left_out(cli)] == [
        ("climax", "the plan was changed together with the edit")
    ]


def test_an_edit_after_the_brief_was_changed_is_left_out(cli: Cli, project: Path) -> None:
    (project / "brief.md").write_text("# The Lamp\n\nA boy lights a lighthouse.\n", encoding="utf-8")
    cli("edit", "climax", "--text", MINE, "-C", "lamp")
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert "No pair is left: the brief was changed with the edit, or before it (1)." in ran.err


def test_a_text_written_anew_for_a_changed_plan_is_no_pair(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    edited(cli, "climax", MINE)
    write_script(resolution=OTHER)
    edited(cli, "falling-action", THIRD)
    assert [(pair.source["path"], pair.kind) for pair in pairs_of(cli)] == [
        ("climax", "edit"),
        ("falling-action", "edit"),
    ]


def test_a_passage_that_was_taken_is_preferred_to_those_that_were_declined(cli: Cli, project: Path, here: Path) -> None:
    (here / "player.py").write_text(
        'def say(request):\n    return f"Mara lost the flame, and {request.sampling.seed} sparks fell."\n',
        encoding="utf-8",
    )
    settings = (project / "fabula.toml").read_text(encoding="utf-8")
    (project / "fabula.toml").write_text(
        f'{settings}\n[roles.climax]\nplay = "{here / "player.py"}:say"\n', encoding="utf-8"
    )
    cli.at_terminal()
    ran = cli("text", "rewrite", "climax", "--passage", "Mara held ... hands.", "-C", "lamp", stdin="y\na\na\ny\n")
    assert ran.code == 0, ran.err
    text = (project / "story/03-climax.md").read_text(encoding="utf-8").strip()
    pairs = [pair for pair in pairs_of(cli) if "piece" in pair.source]
    assert [(pair.kind, text.endswith(pair.chosen), pair.rejected in text) for pair in pairs] == [
        ("rewrite", True, False),
        ("rewrite", True, False),
    ]
    assert len({pair.rejected for pair in pairs}) == 2
    assert [(m.role, m.content) for m in pairs[0].messages] == prompt_at(project, "climax/rewrite/rewrite_passage")


@pytest.fixture
def read(cli: Cli) -> Path:
    """A project `lamp` whose story was read once at its end; two edits were made in its first part."""
    old = " ".join(REPLIES["exposition"].split()[:2]), "in a week"
    edits = [
        {"paragraph": 1, "old": one, "new": new, "why": "so"}
        for one, new in zip(old, ("A lamp", "all week"), strict=True)
    ]
    replies = {**REPLIES, "finalizer": json.dumps({"edits": edits})}
    (cli.folder / "script.toml").write_text(script_of(replies), encoding="utf-8")
    chosen = ("--system", "agents-room", "--set", "final_reading=true")
    assert cli("write", "brief.md", "--out", "lamp", "--model", "scripted:script.toml", *chosen).code == 0
    return cli.folder / "lamp"


def test_an_edit_of_the_final_reading_that_was_refused_is_a_pair_of_its_reader(cli: Cli, read: Path) -> None:
    first, _ = cli("text", "edits", "lamp", "--json").json["edits"]
    cli("text", "edits", "lamp", "--refuse", first["id"])
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    kept = [[edit["new"] for edit in json.loads(text)["edits"]] for text in (pair.chosen, pair.rejected)]
    assert (pair.kind, pair.agent, kept) == ("refused", "finalizer", [["all week"], ["A lamp", "all week"]])
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(read, "drafts/edits")


def test_what_was_refused_before_the_story_was_read_anew_is_still_a_pair(cli: Cli, read: Path) -> None:
    first, _ = cli("text", "edits", "lamp", "--json").json["edits"]
    cli("text", "edits", "lamp", "--refuse", first["id"])
    cli("update", "lamp", "--yes")
    before = told(pairs_of(cli))
    script = cli.folder / "script.toml"
    script.write_text(script.read_text(encoding="utf-8").replace("all week", "all night"), encoding="utf-8")
    assert cli("text", "retake", "drafts/edits", "-C", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0
    assert "all night" in (read / "drafts/edits.yaml").read_text(encoding="utf-8")
    assert before[0] in told(pairs_of(cli))


def test_what_the_final_reading_changed_is_no_edit_of_the_author(cli: Cli, read: Path) -> None:
    assert cli("data", "preferences", "lamp", "--out", "pairs").code != 0
    file = read / "story/01-exposition.md"
    before = file.read_text(encoding="utf-8").strip()
    assert before.startswith("A lamp was dark")
    file.write_text(before.replace("Mara came home", "Mara rowed home through the storm"), encoding="utf-8")
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("edit", before.replace("came home", "rowed home through the storm"), before)]
    assert 0.6 < pair.source["of_reply"] < 1
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(read, "drafts/exposition/section")


# conversations --------------------------------------------------------------------------------------------------------


def test_a_turn_that_was_drawn_anew_is_a_pair(cli: Cli, here: Path) -> None:
    story = (
        "# The Lamp\n\nOne night Mara kept the lamp. Then Tobias brought Mara a letter. Mara read it twice. She wept.\n"
    )
    (here / "lamp.md").write_text(story, encoding="utf-8")
    script = {
        "labeller": '{"characters": [{"name": "Mara"}, {"name": "Tobias"}]}',
        "labeller:witnesses": all_witness("Mara", "Tobias"),
        "planner": "#1. Tobias brings Mara a letter\n- He has run.",
        "judge": "3",
    }
    (here / "chat.toml").write_text(script_of(script), encoding="utf-8")
    (here / "npc.py").write_text(
        'def say(request):\n    return f"[Mara: (counts) There are {request.sampling.seed} boats.]"\n', encoding="utf-8"
    )
    played = (
        "--model",
        "scripted:chat.toml",
        "--play",
        "npc=npc.py:say",
        "--set",
        "sentences=4",
        "--set",
        "candidates=1",
    )
    said = "What now?\n/retry\n/retry\nAnd then?\n/retry\n/undo\n/quit\n"
    ran = cli("chat", "lamp.md", "--as", "Tobias", "--with", "Mara", *played, "--json", stdin=said)
    assert ran.code == 0, ran.err
    first, second = pairs_of(cli)
    assert first.chosen == second.chosen
    assert len({first.chosen, first.rejected, second.rejected}) == 3
    assert (first.kind, first.agent, first.group) == ("retake", "npc", "lamp/chat/tobias-mara")
    with Journal(here / "lamp/.fabula/journal.db") as journal:
        asked = {call.text: tuple(Message(*one) for one in call.messages) for call in journal.calls.find(prompts=True)}
    assert first.messages == asked[first.rejected] == asked[first.chosen]


# MAGNET's candidates (section 4.1) ------------------------------------------------------------------------------------

MAGNET = '''
import json
import shutil
import sqlite3
from hashlib import sha256


def answer(request):
    """Mara's second action is the better one in both orders; Tobias's judge takes whatever stands first."""
    *_, prompt = request.path.split("/")
    asked = request.messages[-1].content
    if prompt == "act":
        which = "second" if "/candidate/2/" in request.path else "first"
        step = request.path.split("/step/")[1].split("/")[0]
        return json.dumps({"action": f"{request.role} tries the {which} thing in step {step}."})
    if prompt == "compare":
        a, b = (asked.split(f"# Action {side}\\n")[1].split("\\n")[0] for side in "AB")
        return "B" if "Mara" in a and "second" in b else "A"
    if prompt == "criticise":
        return json.dumps({"revise": False, "feedback": "", "goal_reached": False, "world_updates": []})
    if prompt == "reread":
        return json.dumps({"world_updates": []})
    if prompt == "choose":
        return json.dumps({"order": [1, 2]})
    if prompt == "tell":
        step = request.path.split("/step/")[1].split("/")[0]
        told = f"In step {step} the lamp went out. Mara looked at the sea, and Tobias at her."
        return f"{told}\\n\\nNobody spoke in step {step}."
    if prompt == "narrate":
        return json.dumps({"order": [1, 2], "paragraph": f"It was told at {request.path}, and nobody said a word."})
    raise ValueError(request.path)
'''
PEOPLE = """\
goal: The lamp burns until morning.
personas:
  - name: Mara
    relationships:
      Tobias: the boy
  - name: Tobias
"""


@pytest.fixture
def magnet(here: Path, cli: Cli) -> Path:
    """A project of MAGNET with two candidates a draft, every role of which a program plays."""
    (here / "players.py").write_text(MAGNET, encoding="utf-8")
    settings = ("candidates=2", "max_steps=2", "words=400")
    roles = ("character", "critic", "narrator", "goal_generator", "judge", "planner")
    assert cli("new", "lamp", "--brief", "brief.md", "--system", "magnet", "--preset", "faithful").code == 0
    (here / "lamp/plan/personas.yaml").write_text(PEOPLE, encoding="utf-8")
    chosen = [part for one in settings for part in ("--set", one)]
    played = [part for role in roles for part in ("--play", f"{role}=players.py:answer")]
    ran = cli("write", "lamp", *chosen, *played, "--yes")
    assert ran.code == 0, ran.err
    return here / "lamp"


def test_magnets_candidates_are_pairs_where_the_judge_agrees_with_itself(cli: Cli, magnet: Path) -> None:
    pairs = pairs_of(cli)
    assert [(p.kind, json.loads(p.chosen)["action"], json.loads(p.rejected)["action"]) for p in pairs] == [
        ("candidates", f"Mara tries the second thing in step {n}.", f"Mara tries the first thing in step {n}.")
        for n in (1, 2)
    ]
    assert [(p.agent, p.group, p.chosen_first) for p in pairs] == [
        ("character", "lamp/chapter-1/step/1", None),
        ("character", "lamp/chapter-1/step/2", None),
    ]
    assert [(m.role, m.content) for m in pairs[0].messages] == prompt_at(magnet, "chapter-1/step/1/Mara/act")
    assert pairs[0].source["criteria"] == ["grounded", "in character", "less repetitive", "fits the scene"]
    assert [(one["path"], one["reason"]) for one in left_out(cli)] == [
        (f"chapter-1/step/{n}/Tobias", "the judge said otherwise in the other order") for n in (1, 2)
    ]


def test_an_edit_of_a_text_that_several_replies_made_is_a_pair_of_the_reply_that_was_changed(
    cli: Cli, magnet: Path
) -> None:
    told_in_two = (
        "--preset",
        "improved",
        "--set",
        "candidates=1",
        "--set",
        "words=30-60",
        "--set",
        "paragraph_words=24",
    )
    assert cli("write", "lamp", *told_in_two, "--anew", "--yes").code == 0
    file = magnet / "story/01-scene-1.md"
    before = file.read_text(encoding="utf-8")
    assert before.count("Nobody spoke") == 2
    file.write_text(before.replace("Nobody spoke in step 2.", "For once they spoke, both."), encoding="utf-8")
    assert cli("update", "lamp", "--yes").code == 0
    (pair,) = [one for one in pairs_of(cli) if one.kind == "edit"]
    start = "In step 2 the lamp went out. Mara looked at the sea, and Tobias at her.\n\n"
    assert (pair.chosen, pair.rejected) == (f"{start}For once they spoke, both.", f"{start}Nobody spoke in step 2.")
    assert (pair.agent, pair.group, pair.source["piece"]) == ("narrator", "lamp/scene-1", "scene-1/step/2/tell")
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(magnet, "scene-1/step/2/tell")


# ratings --------------------------------------------------------------------------------------------------------------


def _rating(question: str, items: list[str], answer: str | float, rater: str = "judge", **more: Any) -> str:  # noqa: ANN401 - fields of `Rating`
    return json.dumps(
        {"rater": rater, "kind": "model", "items": items, "question": question, "answer": answer, "prompt": "lamp"}
        | more
    )


STORIES = {
    "one": "Mara lit the lamp before the storm came.",
    "two": "There was a lamp, and it was lit by Mara in time.",
}


@pytest.fixture
def rated(here: Path) -> Callable[..., None]:
    """Writes stories of one brief and ratings of them."""
    lines = [
        json.dumps({"id": name, "text": text, "system": name, "prompt": "lamp", "brief": BRIEF})
        for name, text in STORIES.items()
    ]
    (here / "stories.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def write(*ratings: str) -> None:
        (here / "ratings.jsonl").write_text("\n".join(ratings), encoding="utf-8")

    return write


def from_ratings(cli: Cli, *arguments: str) -> list[PreferencePair]:
    ran = cli("data", "preferences", "ratings.jsonl", "--stories", "stories.jsonl", "--out", "pairs", *arguments)
    assert ran.code == 0, ran.err
    return list(read_pairs(cli.folder / "pairs", "train") + read_pairs(cli.folder / "pairs", "development"))


def test_verdicts_in_both_orders_make_a_pair_for_the_writer(cli: Cli, rated: Callable[..., None]) -> None:
    rated(_rating("overall", ["one", "two"], "two"), _rating("overall", ["two", "one"], "two"))
    (pair,) = from_ratings(cli)
    assert told([pair]) == [("ratings", STORIES["two"], STORIES["one"])]
    assert (pair.agent, pair.group, pair.chosen_first) == ("writer", "ratings/lamp", None)
    assert pair.source == {
        "ratings": "ratings",
        "prompt": "lamp",
        "items": ["two", "one"],
        "judge": "judge",
        "criteria": ["overall"],
        "lead": 1.0,
    }


def test_the_prompt_of_a_rated_story_is_the_one_that_end_to_end_asks(
    cli: Cli, here: Path, rated: Callable[..., None]
) -> None:
    rated(_rating("plot", ["one"], 4), _rating("plot", ["two"], 2))
    (pair,) = from_ratings(cli, "--preset", "faithful")
    assert told([pair]) == [("ratings", STORIES["one"], STORIES["two"])]
    (here / "told.py").write_text(f"def tell(request):\n    return {STORIES['one']!r}\n", encoding="utf-8")
    played = ("--system", "end-to-end", "--preset", "faithful", "--play", "writer=told.py:tell")
    assert cli("write", "brief.md", "--out", "lamp", *played, "--yes").code == 0
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(here / "lamp", "story")


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([_rating("overall", ["one", "two"], "two")], "judged in one order only"),
        (
            [_rating("overall", ["one", "two"], "two"), _rating("overall", ["two", "one"], "one")],
            "equal votes on both sides, or too small a margin",
        ),
        (
            [_rating("plot", ["one"], 3), _rating("plot", ["two"], 3)],
            "equal votes on both sides, or too small a margin",
        ),
        ([_rating("plot", ["one"], 3), _rating("plot", ["three"], 2)], "its text is not among the stories"),
    ],
)
def test_what_ratings_do_not_decide_is_no_pair(
    cli: Cli, rated: Callable[..., None], ratings: list[str], reason: str
) -> None:
    rated(*ratings)
    ran = cli("data", "preferences", "ratings.jsonl", "--stories", "stories.jsonl", "--out", "pairs")
    assert ran.code != 0
    assert f"No pair is left: {reason}" in ran.err


def test_every_question_has_a_vote_and_the_margin_says_how_many_are_wanted(
    cli: Cli, rated: Callable[..., None]
) -> None:
    marks = {"plot": (4, 2), "style": (1, 5), "people": (3, 2)}
    rated(
        *(_rating(q, [item], score) for q, scores in marks.items() for item, score in zip(STORIES, scores, strict=True))
    )
    (pair,) = from_ratings(cli)
    assert (pair.chosen, pair.source["lead"]) == (STORIES["one"], 0.3333)
    (pair,) = from_ratings(cli, "--question", "style")
    assert pair.chosen == STORIES["two"]
    ran = cli("data", "preferences", "ratings.jsonl", "--stories", "stories.jsonl", "--out", "pairs", "--margin", "0.5")
    assert "too small a margin (1)" in ran.err
    ran = cli("data", "preferences", "ratings.jsonl", "--out", "pairs", "--question", "plots")
    assert "Unknown question 'plots'. Did you mean 'plot'?" in ran.err


def test_a_person_who_read_a_pair_once_saw_one_of_the_two_first(cli: Cli, rated: Callable[..., None]) -> None:
    rated(_rating("overall", ["one", "two"], "one", kind="person"))
    assert [pair.chosen_first for pair in from_ratings(cli)] == [True]
    rated(_rating("overall", ["one", "two"], "two", kind="person"))
    assert [pair.chosen_first for pair in from_ratings(cli)] == [False]


# bad input ------------------------------------------------------------------------------------------------------------


def sentence(cli: Cli, *arguments: str) -> str:
    ran = cli("data", "preferences", *arguments)
    assert ran.code != 0
    (line,) = [line for line in ran.err.splitlines() if line.startswith("fabula: ")]
    assert not (cli.folder / "pairs").exists()
    return line


def test_a_project_without_decisions_is_told_what_gives_pairs(cli: Cli, project: Path) -> None:
    said = sentence(cli, "lamp", "--out", "pairs")
    assert said.startswith("fabula: No decision gives a pair. fabula makes pairs from what you do with a text")


def test_a_lost_journal_is_told(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    (project / ".fabula/journal.db").unlink()
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert ran.code != 0
    assert "The journal of lamp is missing" in ran.err


def test_few_pairs_are_written_and_that_is_said(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    assert (
        "This is a small number of pairs. Training needs at least 8"
        in cli("data", "preferences", "lamp", "--out", "pairs").err
    )
    assert cli("data", "preferences", "lamp", "--out", "pairs", "--json").json["pairs"] == 1


def test_a_changed_quotation_mark_is_no_preference(cli: Cli, project: Path) -> None:
    edited(cli, "climax", CLIMAX.replace(". ", ".\n\n"))
    assert "both texts are the same but for blanks and signs (1)" in sentence(cli, "lamp", "--out", "pairs")


def test_damaged_newer_and_foreign_journals_are_one_sentence(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    journal = project / ".fabula/journal.db"
    with sqlite3.connect(journal) as db:
        db.execute("UPDATE text SET body = 'Something else.' WHERE body = ?", (CLIMAX,))
    assert "is damaged (the reply at climax/section is not the one that was recorded)" in sentence(
        cli, "lamp", "--out", "pairs"
    )
    with sqlite3.connect(journal) as db:
        db.execute("PRAGMA user_version = 99")
    assert "A newer fabula wrote" in sentence(cli, "lamp", "--out", "pairs")
    for log in journal.parent.glob("journal.db-*"):
        log.unlink()
    journal.write_bytes(b"no database at all " * 100)
    assert "is damaged" in sentence(cli, "lamp", "--out", "pairs")


def test_a_project_of_an_older_fabula_gives_no_pair_and_says_how_its_texts_continue(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    with sqlite3.connect(project / ".fabula/journal.db") as db:
        db.execute(f"PRAGMA user_version = {FORMAT - 1}")
    said = sentence(cli, "lamp", "--out", "pairs")
    assert "An older fabula wrote" in said
    assert "continue from them with `fabula import story.md --out NEW`" in said
    assert not (cli.folder / "pairs").exists()


def test_another_folder_is_not_written_into(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    assert "lamp contains other files. Choose another folder with --out DIR." in sentence(cli, "lamp", "--out", "lamp")
    (cli.folder / "examples").mkdir()
    (cli.folder / "examples/data.json").write_text(
        '{"version": 1, "kind": "examples", "sources": [], "made": {}, "counts": {}}', encoding="utf-8"
    )
    assert "contains training data of another kind" in sentence(cli, "lamp", "--out", "examples")
    assert "Unknown lesson 'lenght'. Did you mean 'length'?" in sentence(
        cli, "lamp", "--out", "pairs", "--leave-out", "lenght"
    )


def test_nothing_that_a_terminal_would_obey_and_no_folder_of_the_machine_is_in_the_pairs(
    cli: Cli, project: Path
) -> None:
    edited(cli, "climax", MINE)
    journal = project / ".fabula/journal.db"
    bad = "The storm broke\x1b[2J the window.\u202e Mara held on."
    with sqlite3.connect(journal) as db:
        digest = sha256(bad.encode()).hexdigest()
        db.execute("INSERT INTO text VALUES (?, ?)", (digest, bad))
        db.execute(
            "UPDATE call SET reply = ?, performer = ? WHERE path = 'climax/section'", (digest, f"{cli.folder}/m\x07")
        )
        db.execute("UPDATE version SET text = ? WHERE path = 'climax' AND source = 'made'", (digest,))
    (pair,) = pairs_of(cli)
    assert pair.rejected == "The storm broke the window. Mara held on."
    whole = "".join(file.read_text(encoding="utf-8") for file in (cli.folder / "pairs").iterdir())
    assert "\\u001b" not in whole
    assert "\u202e" not in whole
    assert str(cli.folder) not in whole


def test_the_same_project_twice_and_its_copy_give_each_pair_once(cli: Cli, project: Path, here: Path) -> None:
    edited(cli, "climax", MINE)
    shutil.copytree(project, here / "other/lamp")
    ran = cli("data", "preferences", "lamp", "lamp/", "other/lamp", "--out", "pairs", "--development", "0")
    assert ran.code == 0, ran.err
    assert [pair.source["project"] for pair in read_pairs(here / "pairs", "train")] == ["lamp"]
    assert [(one["project"], one["reason"]) for one in left_out(cli)] == [("lamp (2)", "occurs twice")]


def test_a_text_without_measure_is_left_out(cli: Cli, project: Path) -> None:
    edited(cli, "climax", "word " * 41_000)
    assert "the texts are too large (1)" in sentence(cli, "lamp", "--out", "pairs")


def test_the_command_says_the_same_when_it_is_said_again(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    first = pairs_of(cli), (cli.folder / "pairs/data.json").read_bytes()
    assert (pairs_of(cli), (cli.folder / "pairs/data.json").read_bytes()) == first
