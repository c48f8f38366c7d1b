"""A story as a capable player plays it: who is shown what, who acts, where scenes end, and what comes of its replies.

The replies are of the kind that a strong model gave to the brief below, shortened.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fabula.engine.journal import Journal
from fabula.models.base import SAMPLING_FIELDS, Capabilities
from fabula.story import Brief
from fabula.story.personas import parse_personas, write_personas
from fabula.systems.magnet.test_magnet import Written, said, write

if TYPE_CHECKING:
    from fabula.engine.methods import Preset
    from fabula.models.base import Request

BRIEF = Brief(
    "A story of about 450 words, first person, told by the postwoman Ada, past tense, in three scenes. In the second "
    "scene stands a letter, word for word, that she should not have opened. It is from Lukas, in prison, to his "
    "daughter Mila, ten, who believes that he is at sea. Ada's brother Henk takes the letters away. The secret that "
    "Ada herself sent Lukas to prison is kept until the last sentence.",
    "Return to Sender",
)
SETTING = (
    "A small harbour town. The last house on the dyke road has a green gate. The first scene is a Tuesday noon at the "
    "gate; the second the Wednesday night in Ada's kitchen, with the next letter, kept back from the round."
)
PUBLIC = "A small harbour town in a wet March. The last house on the dyke road has a green gate and a brass slot."
WRONGLY = "She believes wrongly that her father is at sea."
KITCHEN = "Ada's kitchen, Wednesday night"
DYKE = "the dyke road, Thursday afternoon"
LETTER = "Dear Mila, You were told I am at sea. I am in prison, because I took what was not mine. Greet the postwoman."
PEOPLE: dict[str, dict[str, Any]] = {
    "Ada": {"place": "at the green gate", "knows_goal": True, "there": True},
    "Henk": {"place": "in the hall", "knows_goal": True, "there": True},
    "Mila": {"place": "at the gate", "knows_goal": False, "there": True, "believes": "Her father is at sea."},
    "Lukas": {
        "place": "in prison, two hours inland",
        "place_unknown_to": ["Mila"],
        "knows_goal": False,
        "there": False,
    },
    "Mila's mother": {"place": "in the fish hall", "knows_goal": False, "there": False},
}
ACTS = {
    ("1", "Ada"): "Ada pushes the plain envelope through the brass slot and stays at the gate.",
    ("1", "Henk"): "Henk picks the envelope off the mat and slides it into the inside pocket of his coat.",
    ("1", "Mila"): 'Mila asks Ada: "Is there any post from ships?"',
    ("2", "Ada"): f'Ada holds the next envelope over the steam until the flap gives, and reads: "{LETTER}"',
    ("3", "Ada"): 'Ada puts the letter into Mila\'s hands and says: "I opened it, which I may not."',
    ("3", "Henk"): 'Henk stops on the dyke and says: "Leave it, Ada."',
    ("3", "Mila"): 'Mila plants herself before the bicycle and asks: "Was there nothing for us?"',
}
CRITICS: dict[tuple[str, str], dict[str, Any]] = {
    ("1", "Henk"): {
        "world_updates": [{"key": "letter", "value": "in Henk's coat", "unseen_by": ["Mila"]}],
        "unseen_by": ["Lukas", "Mila's mother"],
    },
    ("2", "Ada"): {
        "world_updates": [{"key": "next_letter", "value": "opened over steam, in Ada's hands"}],
        "unseen_by": ["Lukas"],
    },
    ("3", "Ada"): {"world_updates": [{"key": "next_letter", "value": "in Mila's hands, not yet read by her"}]},
}
CHOICES: dict[str, dict[str, Any]] = {
    "1": {"order": [1, 3, 2], "next_scene": KITCHEN, "acts_next": [{"name": "Ada"}]},
    "2": {"order": [1], "next_scene": DYKE, "acts_next": [{"name": "Mila"}, {"name": "Ada"}, {"name": "Henk"}]},
    "3": {"order": [1, 2, 3]},
}
CHECKS: dict[str, dict[str, Any]] = {
    "1": {"seen": [{"what": "Ada pushes an envelope through the slot.", "unseen_by": ["Lukas", "Mila's mother"]},
                   {"what": "Mila asks for post from ships.", "unseen_by": ["Lukas", "Mila's mother"]}]},
    "2": {"seen": [{"what": "Ada opens a letter and reads it.", "changes": ["next_letter"],
                    "unseen_by": ["Henk", "Mila", "Lukas", "Mila's mother"]}], "now": KITCHEN},
    "3": {"added": [{"key": "next_letter", "value": "read by Mila to the end"}]},
}  # fmt: skip
RAIN = "It rained that Tuesday as it rains in March on our dyke, from the side."


def told(request: Request, step: str) -> str:
    """As many words as are asked for."""
    number = int((re.findall(r"in about (\d+) words", request.messages[-1].content) or ["100"])[-1])
    return " ".join([*[RAIN] * (number // 15), f"So much for step {step}."])


def plays(request: Request, **otherwise: Any) -> str:  # noqa: ANN401 - replies by prompt
    """A strong model in every role; `otherwise` replaces its replies to a prompt."""
    prompt, step = request.path.rpartition("/")[2], (re.findall(r"step/(\d+)", request.path) or [""])[0]
    if prompt in otherwise:
        found = otherwise[prompt]
        return str(found(request) if callable(found) else found)
    verdict = {"revise": False, "goal_reached": False, "world_updates": []}
    return {
        "plan_conflict": "Ada wants one letter of Lukas's to reach Mila, and she sent him to prison.",
        "plan_setting": SETTING,
        "plan_cast": json.dumps({"characters": [
            {"name": name, "gender": "", "age": "", "role": "", "setup": "x", "speech": "", "personality": "plain",
             "goal": "y", "secret": "z" if name == "Ada" else "", "knows": WRONGLY if name == "Mila" else ""}
            for name in PEOPLE]}),
        "first_goal": json.dumps({"goal": "A letter from Lukas is in Mila's own hands.",
            "opening": "the green gate, Tuesday noon", "setting": PUBLIC,
            "people": [{"name": name, **one} for name, one in PEOPLE.items()]}),
        "act": ACTS.get((step, request.role), f"{request.role} counts the days at {step}."),
        "criticise": json.dumps(verdict | CRITICS.get((step, request.path.split("/")[-2]), {})),
        "choose": json.dumps(CHOICES.get(step, {"order": [1]})),
        "tell": told(request, step),
        "check": json.dumps({"contradictions": [], "untold": []} | CHECKS.get(step, {})),
        "final_reading": json.dumps({"edits": []}),
        "set_goal": json.dumps({"goal": "Mila knows who sent him there.", "transition_paragraph": "Thursday came."}),
    }[prompt]  # fmt: skip


async def played(config: dict[str, Any] | None = None, **otherwise: Any) -> Written:  # noqa: ANN401 - replies by prompt
    """The story of the brief."""
    chosen: dict[str, Any] = {"words": "450", "paragraph_words": 150, "final_reading": True} | (config or {})
    journal = Journal()
    journal.open()
    return await write(lambda request: plays(request, **otherwise), "improved", journal=journal, brief=BRIEF, **chosen)


def whole(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def of(written: Written, path: str) -> str:
    return whole(next(request for request in written.asked if request.path.endswith(path)))


def prompts(written: Written, *names: str) -> dict[str, str]:
    """The prompts of these names, by the end of their path."""
    return {r.path.partition("step/")[2]: whole(r) for r in written.asked if r.path.rpartition("/")[2] in names}


# who is shown what ----------------------------------------------------------------------------------------------------


async def test_players_are_shown_the_setting_as_everybody_there_knows_it_and_those_who_judge_and_tell_all() -> None:
    written = await played()
    acts = prompts(written, "act")
    assert all(PUBLIC in prompt for prompt in acts.values())
    assert not any("kept back" in prompt for prompt in acts.values())
    assert all(SETTING in prompt for prompt in prompts(written, "criticise", "choose", "tell").values())
    assert "what everybody there knows" in of(written, "first_goal")
    start = parse_personas(written.journal.newest("personas") or "")
    assert (start.setting, start.public_setting) == (SETTING, PUBLIC)
    assert parse_personas(write_personas(start)) == start


async def test_a_place_is_known_to_those_who_know_it() -> None:
    written = await played()
    assert "in prison" not in of(written, "1/Mila/act")
    assert "lukas_location = in prison" in of(written, "1/Henk/act")
    assert "lukas_location = in prison" in of(written, "1/Mila/criticise")


async def test_any_key_of_the_author_can_be_hidden_and_by_default_none_is() -> None:
    sheet = """
goal: Mara sleeps.
world_hidden_from: {oil_left: [Tobias], mara_tired: [Tobias]}
world: {oil_left: none, storm: near}
personas:
  - {name: Mara, state: {tired: true}}
  - {name: Tobias}
"""
    cases: list[tuple[Preset, bool]] = [("improved", True), ("faithful", False)]
    for preset, hidden in cases:
        written = await write(said, preset, sheet, words="300", max_steps=1)
        boy = of(written, "1/Tobias/act")
        assert ("oil_left" in boy, "mara_tired" in boy) == (not hidden, not hidden)
        assert "storm = near" in boy
        assert "oil_left = none" in of(written, "1/Mara/act")


async def test_a_player_is_not_told_that_what_it_believes_is_wrong() -> None:
    written = await played()
    mila = of(written, "1/Mila/act")
    assert "Believes: Her father is at sea." in mila
    assert "wrongly" not in mila
    assert "Believes wrongly: Her father is at sea." in of(written, "1/Mila/criticise")
    assert "Believes wrongly: Her father is at sea." in of(written, "1/tell")
    assert "wrongly" not in "".join(prompts(written, "act").values())


async def test_a_change_is_known_to_those_who_saw_it_by_critic_and_check() -> None:
    written = await played()
    assert "letter = in Henk's coat" in of(written, "3/Ada/act")
    assert "in Henk's coat" not in of(written, "3/Mila/act"), "she stood there, and did not see that"
    assert "opened over steam" in of(written, "3/Ada/act")
    assert "opened over steam" not in of(written, "3/Henk/act"), "the check says who saw the opening"
    assert "opened over steam" in of(written, "3/Henk/criticise")


async def test_who_did_not_see_a_change_still_knows_what_was_so_before() -> None:
    def choice(_: Request) -> str:
        turns = [{"name": "Henk"}, {"name": "Mila"}, {"name": "Lukas", "elsewhere": "his cell, the same noon"}]
        return json.dumps({"order": [1], "acts_next": turns})

    written = await played(choose=choice)
    assert "lukas_location = his cell, the same noon" in of(written, "2/Lukas/act")
    assert "lukas_location = in prison, two hours inland" in of(written, "2/Henk/act")
    assert "lukas_location" not in of(written, "2/Mila/act")
    assert "lukas_location = his cell, the same noon" in of(written, "2/Henk/criticise")


# time and place -------------------------------------------------------------------------------------------------------


async def test_the_narrator_ends_a_scene_and_says_where_the_next_one_is_at_no_further_call() -> None:
    written = await played()
    first, second = of(written, "1/tell"), of(written, "2/tell")
    assert f"The next one is this, and what happens there is not told yet: {KITCHEN}" in first
    assert "A new scene begins" not in first
    assert "A new scene begins with this paragraph" in second
    assert f"# Now\n{KITCHEN}" in of(written, "2/Ada/act")
    assert f"ada_location = {KITCHEN}" in of(written, "2/Ada/criticise")
    assert f"# Now\n{DYKE}" in of(written, "3/Mila/act")
    assert f"ada_location = {DYKE}" in of(written, "3/Mila/act")
    choose = of(written, "1/choose")
    assert "in three scenes" in choose
    assert "cannot end a scene, so that is yours" in choose
    assert [r.path for r in written.asked if r.path.endswith("choose")] == [
        f"drafts/chapter-1/step/{n}/choose" for n in (1, 2, 3)
    ]


async def test_only_those_act_who_can_matter_and_who_is_elsewhere_is_told_where() -> None:
    written = await played()
    acts = list(prompts(written, "act"))
    assert {path[2:-4] for path in acts if path[0] == "1"} == {"Ada", "Henk", "Mila"}
    assert [path for path in acts if path[0] == "2"] == ["2/Ada/act"]

    def choice(_: Request) -> str:
        elsewhere = {"name": "lukas", "elsewhere": "his cell, the same night"}
        return json.dumps({"order": [1], "next_scene": KITCHEN, "acts_next": [{"name": "Ada"}, elsewhere]})

    apart = await played(choose=choice)
    cell = of(apart, "2/Lukas/act")
    assert "# Now\nhis cell, the same night" in cell
    assert "about to begin" not in cell
    assert "Nothing of what was told last." in cell
    assert "his cell" not in of(apart, "2/Ada/act")


async def test_a_goal_can_lead_to_another_scene() -> None:
    def critic(request: Request) -> str:
        reached = request.path.endswith("1/Mila/criticise")
        return json.dumps({"revise": False, "goal_reached": reached, "world_updates": []})

    goal = {"goal": "Mila knows who sent him there.", "transition_paragraph": "Thursday came."}
    leads = goal | {"next_scene": DYKE, "acts_next": [{"name": "Mila"}]}
    written = await played({"words": "1500"}, criticise=critic, set_goal=json.dumps(leads))
    assert list(prompts(written, "act"))[3] == "2/Mila/act"
    assert f"# Now\n{DYKE}" in of(written, "2/Mila/act")


async def test_nobody_acts_after_the_goal_is_reached() -> None:
    def critic(request: Request) -> str:
        reached = request.path.endswith("1/Ada/criticise")
        return json.dumps({"revise": False, "goal_reached": reached, "world_updates": []})

    written = await played(criticise=critic)
    assert [path for path in prompts(written, "act") if path.startswith("1/")] == ["1/Ada/act"]
    assert not any("absences" in note for note in written.noted)


async def test_small_models_are_asked_for_no_course_of_the_story() -> None:
    small = Capabilities(sampling=SAMPLING_FIELDS, parallel=64, small=True)
    written = await write(said, "improved", capabilities=small, words="300", max_steps=2)
    assert not any("say how the story goes on" in whole(request) for request in written.asked)


# text and W -----------------------------------------------------------------------------------------------------------


async def test_the_order_that_the_narrator_gives_is_the_order_that_is_told_and_committed() -> None:
    written = await played()
    told = of(written, "1/tell").partition("# What happens now")[2]
    assert told.index("- Ada:") < told.index("- Mila:") < told.index("- Henk:")
    assert json.loads(written.kept["steps/steps-1"])[0]["order"] == ["Ada", "Mila", "Henk"]


async def test_what_the_ending_adds_is_no_contradiction_and_becomes_part_of_w() -> None:
    written = await played()
    assert "may tell more than the actions" in of(written, "3/check")
    assert "may tell more" not in of(written, "1/check")
    assert not any("again/tell" in request.path for request in written.asked)
    facts = json.loads(written.kept["world/world-1"])["facts"]
    assert [fact["value"] for fact in facts if fact["slot"] == "next_letter"][-1] == "read by Mila to the end"


async def test_who_writes_again_sees_the_first_version_and_what_is_wrong_with_it() -> None:
    def check(request: Request) -> str:
        wrong = {"key": "next_letter", "value": "unopened", "quote": "from the side"}
        told = "step/2/check" in request.path
        return json.dumps({"contradictions": [wrong] * told, "untold": [], "seen": []})

    written = await played(check=check)
    again = of(written, "2/again/tell").partition("# Your first version")[2]
    assert "So much for step 2." in again
    assert 'the paragraph says "from the side"' in again
    assert "Your first version" not in of(written, "2/tell")


async def test_a_note_names_values_that_nobody_answered_and_no_question_that_was_answered() -> None:
    def critic(request: Request) -> str:
        value = {"Mila": "asked", "Ada": "answered"}.get(request.path.split("/")[-2], "")
        update = [{"key": "milas_question", "value": value}] if value else []
        return json.dumps({"revise": False, "goal_reached": False, "world_updates": update})

    def choice(order: list[int]) -> str:
        return json.dumps({"order": order, "acts_next": [{"name": n} for n in ("Ada", "Henk", "Mila")]})

    quiet = await played(criticise=critic, choose=choice([1, 2, 3]))
    assert not any("more than once" in note for note in quiet.noted)
    loud = await played(criticise=critic, choose=choice([3, 2, 1]))
    assert any("Step 1 writes 'milas_question' more than once" in note for note in loud.noted)


# what prompts ask for -------------------------------------------------------------------------------------------------


async def test_the_title_of_the_brief_stands_in_the_prompts() -> None:
    written = await played()
    for path in ("plan_conflict", "first_goal", "1/choose", "1/tell", "final_reading"):
        assert "Title: Return to Sender" in of(written, path)


async def test_a_letter_may_be_given_in_full_and_a_part_may_have_paragraphs() -> None:
    written = await played()
    assert "do not count: give them in full" in of(written, "2/Ada/act")
    assert "a letter set apart" in of(written, "2/tell")
    assert "Write this paragraph alone" not in of(written, "2/tell")
    assert LETTER in of(written, "2/tell")


async def test_lines_of_speech_do_not_push_out_what_was_told_before() -> None:
    lines = "\n\n".join(["Table nine is waiting."] * 9)
    written = await played({"words": "1500"}, tell=lambda request: f"{told(request, '0')}\n\n{lines}")
    assert RAIN in of(written, "2/Ada/criticise")
    seen = of(written, "3/Mila/act").partition("seen and heard of the story so far")[2]
    assert "Ada pushes an envelope through the slot." in seen


async def test_words_so_far_and_paragraphs_to_come_make_up_the_whole() -> None:
    """About 160 of 450 words "with about 3 more to come" became "one more" after the next one."""
    long = "Ada says: " + " ".join(["word"] * 45)
    written = await played({"paragraph_words": 110}, act=long, choose=json.dumps({"order": [1, 2, 3]}))
    pattern = r"has (\d+) words so far .*?after this paragraph (?:about )?(\w+) more"
    found = [one[0] for text in prompts(written, "tell").values() if (one := re.findall(pattern, text))]
    assert len(found) > 1
    assert [1 if more == "one" else int(more) for _, more in found] == list(range(len(found), 0, -1))
