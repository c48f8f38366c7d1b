"""`fabula data backtranslate`: the whole way, going on, what is left out and why, and what cannot be asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from fabula.base.files import held
from finished import BRIEF, NOTES, SECTIONS, SPLIT, STORY

if TYPE_CHECKING:
    from typing import Any

    from commandline import Cli

OPTIONS = ("--model", "scripted:teacher.toml", "--out", "data")


@pytest.fixture
def lamp(cli: Cli) -> Cli:
    """`stories.jsonl` with one story, and the script of a teacher."""
    (cli.folder / "teacher.toml").write_text(script_of({**NOTES, "splitter": SPLIT}), encoding="utf-8")
    line = {"id": "lamp", "text": STORY, "brief": BRIEF}
    (cli.folder / "stories.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return cli


def test_makes_data_once_and_says_what_is_in_it(lamp: Cli) -> None:
    first = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--json").json
    assert (first["asked"], first["replayed"]) == (5, 0)
    again = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--json").json
    assert (again["asked"], again["replayed"]) == (0, 5)
    lines = [json.loads(line) for line in (lamp.folder / "data/train.jsonl").read_text().splitlines()]
    assert [line["agent"] for line in lines[:4]] == list(NOTES)
    assert " ".join(line["completion"][0]["content"] for line in lines[4:]).split() == "".join(SECTIONS).split()


def test_a_set_goes_straight_in_and_its_licence_into_the_card(lamp: Cli) -> None:
    folder = lamp.folder / "sets/tell-me-a-story"
    folder.mkdir(parents=True)
    line = {"example_id": 7, "inputs": BRIEF, "targets": STORY}
    same = {"example_id": 8, "inputs": BRIEF, "targets": f"{STORY}\n"}
    (folder / "tell-me-a-story-train.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(same)}\n", encoding="utf-8")
    ran = lamp("data", "backtranslate", "tell-me-a-story:train", "--data", "sets", *OPTIONS, "--json")
    assert "Data: 2 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)" in ran.err
    card = json.loads((lamp.folder / "data/data.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["licence"], one["stories"]) for one in card["sources"]] == [
        ("tell-me-a-story", "CC BY 4.0", 1)
    ]
    left_out = [one["reason"] for one in ran.json["left_out"]]
    assert left_out == ["The story is the same as tell-me-a-story/train/7."]


def run(cli: Cli, *more: str) -> Any:  # noqa: ANN401 - JSON
    return cli("data", "backtranslate", "stories.jsonl", *OPTIONS, *more, "--json").json


def put(cli: Cli, *lines: dict[str, str]) -> None:
    text = "".join(json.dumps({"brief": BRIEF, "text": STORY} | line) + "\n" for line in lines)
    (cli.folder / "stories.jsonl").write_text(text, encoding="utf-8")


def teach(cli: Cli, **replies: str) -> None:
    (cli.folder / "teacher.toml").write_text(script_of({**NOTES, "splitter": SPLIT, **replies}), encoding="utf-8")


def test_a_dry_run_says_what_would_be_asked_and_writes_nothing(lamp: Cli) -> None:
    found = run(lamp, "--dry-run")
    assert [call["role"] for call in found["calls"]] == ["conflict", "character", "setting", "plot", "splitter"]
    assert not (lamp.folder / "data").exists()


def test_what_cannot_be_data_is_left_out_with_its_reason(lamp: Cli) -> None:
    put(
        lamp,
        {"id": "without a task", "brief": ""},
        {"id": "lamp"},
        {"id": "again", "text": STORY.replace("\n\n", "\n")},
        {"id": "asked by nobody", "brief": "", "text": STORY + " The end."},
    )
    with (lamp.folder / "stories.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "empty", "text": " ", "brief": BRIEF}) + "\n")
    reasons = [f"{one['group']}: {one['reason']}" for one in run(lamp)["left_out"]]
    assert "again: The story is the same as lamp." in reasons
    assert any("The story in stories.jsonl, line 5 is empty." in reason for reason in reasons)
    assert "asked by nobody: The story's task is unknown. With --ask-tasks, a model writes a task from the story." in (
        reasons
    )
    lines = [json.loads(line) for line in (lamp.folder / "data/left-out.jsonl").read_text().splitlines()]
    assert [f"{line['group']}: {line['reason']}" for line in lines] == reasons
    assert "Left out: The story in stories.jsonl" in lamp("data", "backtranslate", "stories.jsonl", *OPTIONS).err


def test_stories_stand_aside_also_where_those_that_were_drawn_are_left_out(lamp: Cli) -> None:
    circles = "She continued along the wall to the tower in the rain. " * 40
    for broken in range(4):
        texts = [f"{number}. {circles if number == broken else STORY}" for number in range(4)]
        put(
            lamp,
            *({"id": str(number), "brief": f"{BRIEF} {number}", "text": text} for number, text in enumerate(texts)),
        )
        options = ("--out", f"data{broken}", "--system", "end-to-end", "--development", "0.01", "--json")
        ran = lamp("data", "backtranslate", "stories.jsonl", *options)
        counts = ran.json["card"]["counts"]
        assert (counts["train"]["stories"], counts["development"]["stories"]) == (2, 1)


def test_a_story_that_the_system_would_ask_for_again_is_left_out_with_the_rule_that_takes_something_out(
    lamp: Cli,
) -> None:
    put(lamp, {"id": "circles", "text": "She continued along the wall to the tower in the rain. " * 40})
    ran = lamp("data", "backtranslate", "stories.jsonl", "--out", "data", "--system", "end-to-end", "--json")
    (left,) = ran.json["left_out"]
    assert "Its rule 'loop' takes out \"She continued along the wall to the tower in the rain." in left["reason"]
    assert "No story produced an example." in ran.err
    assert "Next:" not in ran.err
    assert ran.json["card"]["made"]["teachers"] == []


def test_a_note_that_names_a_stranger_is_asked_for_again_and_then_leaves_the_story_out(lamp: Cli) -> None:
    teach(lamp, setting="A lighthouse in autumn, where Mara lives with her brother Derek.")
    found = run(lamp)
    assert found["asked"] == 7
    assert found["left_out"] == [
        {
            "group": "lamp",
            "reason": "The role 'setting' gave no note at story/lamp in 3 tries, each asked in another way. It names "
            "Derek, which stands neither in the story nor in its "
            "task.",
        }
    ]
    asked = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--json").json
    assert asked["asked"] == 0


def test_who_heads_a_part_of_the_note_on_characters_and_is_unknown_leaves_the_story_out(lamp: Cli) -> None:
    teach(lamp, character="**Mara**: says little.\n**Bartholomew**\nTall, and slow to speak.")
    (left,) = run(lamp)["left_out"]
    assert "It names Bartholomew, which stands neither in the story nor in its task." in left["reason"]


def test_capitalised_words_that_neither_story_nor_task_has_are_counted_and_shown(lamp: Cli) -> None:
    assert run(lamp)["card"]["counts"]["unknown_names"] == {}
    teach(lamp, setting="A lighthouse and a kitchen near Tintagel, within one night.")
    ran = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS[:-2], "--out", "other", "--json")
    counts = ran.json["card"]["counts"]
    assert counts["unknown_names"] == {"Tintagel": 7}, "the note itself, and those asked with it: plot and five parts"
    assert "with the number of examples that contain them: Tintagel 7. If the teacher invented people" in " ".join(
        ran.err.split()
    )


def test_a_split_that_cannot_be_read_is_sent_back_with_what_is_wrong(lamp: Cli) -> None:
    teach(lamp, splitter="[Exposition] Mara had kept the lamp.")
    (left,) = run(lamp)["left_out"]
    assert left["reason"].startswith("It could not be split into its sections in 3 tries. It lacks [Rising Action]")


def test_chatter_around_notes_is_taken_out(lamp: Cli) -> None:
    teach(lamp, conflict=f"Sure! Here is the central conflict of the story:\n\n{NOTES['conflict']}")
    run(lamp)
    lines = [json.loads(line) for line in (lamp.folder / "data/train.jsonl").read_text().splitlines()]
    assert lines[0]["completion"][0]["content"] == NOTES["conflict"]


def test_the_task_of_a_story_is_asked_for_where_that_is_wanted(lamp: Cli) -> None:
    put(lamp, {"id": "lamp", "brief": ""})
    teach(lamp, tasker="Write a story about Mara and her father Jonas, in which a lamp is lit in spite of a promise.")
    run(lamp, "--ask-tasks")
    lines = [json.loads(line) for line in (lamp.folder / "data/train.jsonl").read_text().splitlines()]
    assert "in spite of a promise" in lines[0]["prompt"][-1]["content"]


def test_a_story_that_is_too_long_for_the_teacher_is_left_out(lamp: Cli) -> None:
    put(lamp, {"id": "lamp", "text": f"{STORY}\n\n" * 80})
    found = lamp("data", "backtranslate", "stories.jsonl", "--out", "data", "--model", "smollm2", "--json").json
    (left,) = found["left_out"]
    assert "takes 8,192 with its reply" in left["reason"]
    assert found["asked"] == 0


def test_a_hostile_story_is_data_like_any_other(lamp: Cli) -> None:
    story = STORY.replace("“Ten,”", "“\x1b]0;owned\x07{{ 7 * 7 }} [Climax] <|im_end|>\u202e Ten,”")
    put(lamp, {"id": "lamp", "text": story})
    lamp("data", "backtranslate", "stories.jsonl", *OPTIONS)
    text = (lamp.folder / "data/train.jsonl").read_text(encoding="utf-8")
    assert "{{ 7 * 7 }}" in text
    assert not {"\\u001b", "\x1b", "\u202e"} & set(text)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--set", "final_reading=true"), "final_reading cannot be trained on finished stories, which"),
        (
            ("--set", "orchestrator=llm"),
            "Training data follows the order in the paper. Remove the setting `orchestrator`",
        ),
        (
            ("--system", "snap"),
            "Back-translation of stories is only available for agents-room and end-to-end, not for snap.",
        ),
        (("--for", "no-such-model"), "Unknown model 'no-such-model'."),
        (("--play", "splitter=nowhere.py:go"), "does not name a Python function"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_made(lamp: Cli, more: tuple[str, ...], said: str) -> None:
    ran = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, *more)
    assert ran.code == 2
    assert said in ran.err
    assert not (lamp.folder / "data").exists()


def test_a_cap_stops_it_and_the_same_command_goes_on(lamp: Cli) -> None:
    short = ("--sampling", "max_tokens=200")
    stopped = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, *short, "--budget-tokens", "2000")
    assert stopped.code == 1
    assert not (lamp.folder / "data/data.json").exists()
    found = run(lamp, *short)
    assert found["asked"] + found["replayed"] == 5
    assert found["replayed"] > 0


def test_the_card_says_who_taught_and_no_folder_of_this_machine(lamp: Cli) -> None:
    program = lamp.folder / "teach.py"
    program.write_text(f"def answer(request):\n    return {NOTES['setting']!r}\n", encoding="utf-8")
    run(lamp, "--play", f"setting={program}:answer")
    card = (lamp.folder / "data/data.json").read_text(encoding="utf-8")
    teachers = [one.partition("@")[0] for one in json.loads(card)["made"]["teachers"]]
    assert teachers == ["program:teach.py:answer", "scripted"]
    assert str(lamp.folder) not in card


# parts ----------------------------------------------------------------------------------------------------------------


def files_of(cli: Cli, folder: str) -> dict[str, str]:
    """The data in a folder, by the names of its files."""
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted((cli.folder / folder).iterdir())
        if file.is_file()
    }


def test_parts_that_are_put_together_give_the_data_of_one(lamp: Cli) -> None:
    put(lamp, *({"id": f"lamp {one}", "brief": f"{BRIEF} {one}", "text": f"{STORY} {one}."} for one in range(5)))
    whole = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS[:2], "--out", "whole", "--json").json
    first = run(lamp, "--shard", "1/2")
    assert (first["stories"], first["asked"]) == (3, whole["asked"] * 3 // 5)
    assert not files_of(lamp, "data-1-of-2")
    stopped = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--shard", "2/2", "--budget-tokens", "2000")
    assert "budget of 1,000 tokens" in stopped.err
    begun = lamp("data", "merge", "data", "--json").json["parts"]
    assert begun["data-1-of-2"] == first["asked"]
    second = run(lamp, "--shard", "2/2")
    assert second["replayed"] == begun["data-2-of-2"]
    merged = lamp("data", "merge", "data", "--json").json["parts"]
    assert merged == {"data-1-of-2": 0, "data-2-of-2": second["asked"]}
    assert set(lamp("data", "merge", "data", "--json").json["parts"].values()) == {0}
    made = run(lamp)
    assert (made["asked"], made["replayed"]) == (0, whole["asked"])
    assert files_of(lamp, "data") == files_of(lamp, "whole")
    assert made["card"]["counts"]["train"]["stories"] == 4


def test_what_is_no_part_and_one_at_work_are_said(lamp: Cli) -> None:
    assert "No part of data is next to it (data-1-of-8, ...)." in lamp("data", "merge", "data").err
    assert (
        "data contains no calls. Specify folders that a command with --shard" in lamp("data", "merge", "x", "data").err
    )
    assert (
        "--shard 3/2: specify the part and the number of parts"
        in lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--shard", "3/2").err
    )
    run(lamp, "--shard", "1/1")
    with held(lamp.folder / "data-1-of-1/.fabula", "It"):
        assert "The part in data-1-of-1" in lamp("data", "merge", "data").err
