"""What MAGNET's improved preset adds: scenes, people who answer each other and know what they saw, the length asked."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.base.errors import ConfigError, PlanError, UsageError
from fabula.engine.journal import Journal
from fabula.models.base import SAMPLING_FIELDS, Capabilities
from fabula.story import Brief, count_words
from fabula.story.personas import parse_personas, write_personas
from fabula.systems.magnet.test_magnet import SYSTEM, Written, accepted, paths, said, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.engine.methods import Preset
    from fabula.models.base import Request

BRIEF = Brief("A story of about 450 words, told by the postwoman Ada, in three scenes.", "Return to Sender")
SETTING = "A small harbour town in March. In Ada's kitchen lies the next letter, kept back from the round."
PUBLIC = "A small harbour town in a wet March. The last house on the dyke road has a green gate."
SHEET = f"""
goal: A letter from Lukas is in Mila's own hands.
goal_hidden_from: [Mila, Lukas]
setting: "{SETTING}"
public_setting: {PUBLIC}
opening: the green gate, Tuesday noon
present: [Ada, Henk, Mila]
world_hidden_from: {{lukas_location: [Mila]}}
personas:
  - {{name: Ada, appearance: A postwoman of fifty., secret: She sent Lukas to prison., location: the green gate}}
  - {{name: Henk, knows: Ada sweats when she lies., location: the hall, state: {{holding_back_letters: true}}}}
  - {{name: Mila, believes: Her father is at sea., location: the green gate}}
  - {{name: Lukas, location: in prison}}
"""
KITCHEN = "Ada's kitchen, Wednesday night"
DYKE = "the dyke road, Thursday afternoon"
LETTER = "Dear Mila, You were told I am at sea. I am in prison, because I took what was not mine. Greet the postwoman."
ACTS = {
    ("1", "Ada"): "Ada pushes the plain envelope through the brass slot and stays at the gate.",
    ("1", "Henk"): "Henk picks the envelope off the mat and slides it into the inside pocket of his coat.",
    ("1", "Mila"): 'Mila asks Ada: "Is there any post from ships?"',
    ("2", "Ada"): f'Ada holds the next envelope over the steam until the flap gives, and reads: "{LETTER}"',
    ("3", "Ada"): 'Ada puts the letter into Mila\'s hands and says: "I opened it, which I may not."',
}
CRITICS: dict[tuple[str, str], dict[str, Any]] = {
    ("1", "Henk"): {"world_updates": [{"key": "letter", "value": "in Henk's coat"}], "unseen_by": ["mila", "Nobody"]},
    ("2", "Ada"): {"world_updates": [{"key": "next_letter", "value": "opened"}], "unseen_by": ["Lukas", "Henk"]},
}
CHOICES: dict[str, dict[str, Any]] = {
    "1": {"order": [1, 3, 2], "next_scene": KITCHEN, "acts_next": [{"name": "Ada"}]},
    "2": {"order": [1], "next_scene": DYKE, "acts_next": [{"name": "Mila"}, {"name": "Ada"}, {"name": "Henk"}]},
    "3": {"order": [1, 2, 3]},
}
RAIN = "It rained that Tuesday as it rains in March on our dyke, from the side."


def told(request: Request) -> str:
    """As many words as are asked for."""
    number = int((re.findall(r"in about (\d+) words", request.messages[-1].content) or ["100"])[-1])
    return " ".join([*[RAIN] * (number // 15), f"So much for step {step_of(request)}."])


def step_of(request: Request) -> str:
    return str((re.findall(r"step/(\d+)", request.path) or [""])[0])


def plays(request: Request, **otherwise: Any) -> str:  # noqa: ANN401 - replies by prompt
    """A strong model in every role; `otherwise` replaces its replies to a prompt."""
    prompt, step = request.path.rpartition("/")[2], step_of(request)
    if prompt in otherwise:
        found = otherwise[prompt]
        return str(found(request) if callable(found) else found)
    verdict = {"revise": False, "goal_reached": False, "world_updates": []}
    replies: dict[str, str] = {
        "act": ACTS.get((step, request.role), f"{request.role} counts the days at {step}."),
        "criticise": json.dumps(verdict | CRITICS.get((step, request.path.split("/")[-2]), {})),
        "choose": json.dumps(CHOICES.get(step, {"order": [1]})),
        "tell": told(request),
        "extend": "Nobody said a word for a while after that, and the rain went on.",
        "set_goal": json.dumps({"goal": "Mila knows who sent him there.", "transition_paragraph": "Thursday came."}),
    }
    return replies[prompt]


async def played(config: dict[str, Any] | None = None, sheet: str = SHEET, **otherwise: Any) -> Written:  # noqa: ANN401 - replies by prompt
    """The story of the brief."""
    chosen: dict[str, Any] = {"words": "450", "paragraph_words": 150} | (config or {})
    return await write(lambda request: plays(request, **otherwise), "improved", sheet, brief=BRIEF, **chosen)


def whole(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def of(written: Written, path: str) -> str:
    return whole(next(request for request in written.asked if request.path.endswith(f"/{path}")))


def prompts(written: Written, *names: str) -> dict[str, str]:
    """The prompts of these names, by the end of their path."""
    return {r.path.partition("step/")[2]: whole(r) for r in written.asked if r.path.rpartition("/")[2] in names}


def reached_by(name: str, step: str = "1") -> Callable[[Request], str]:
    return lambda request: accepted({}, reached=request.path.endswith(f"step/{step}/{name}/criticise"))


# who knows what -------------------------------------------------------------------------------------------------------


async def test_a_secret_is_shown_to_its_own_player_and_to_who_judges_and_tells_it() -> None:
    written = await played({"words": "900", "max_steps": 3}, criticise=reached_by("Mila"))
    shown = {
        request.path.partition("step/")[2] for request in written.asked if "sent Lukas to prison" in whole(request)
    }
    assert {path.split("/")[1] for path in shown if path.endswith(("act", "criticise"))} == {"Ada"}
    assert any(path.endswith("tell") for path in shown)
    assert not any("set_goal" in path for path in shown), "all who know of a goal will read it"
    knows = {path for path, prompt in prompts(written, "act").items() if "sweats when she lies" in prompt}
    assert {path.split("/")[1] for path in knows} == {"Henk"}


async def test_a_player_is_not_told_that_what_it_believes_is_wrong() -> None:
    written = await played()
    assert "Believes: Her father is at sea." in of(written, "1/Mila/act")
    assert "Believes wrongly: Her father is at sea." in of(written, "1/Mila/criticise")
    assert "Believes wrongly: Her father is at sea." in of(written, "1/tell")
    assert "wrongly" not in "".join(prompts(written, "act").values())


async def test_players_are_shown_the_setting_as_everybody_there_knows_it_and_those_who_judge_and_tell_all() -> None:
    written = await played()
    acts = prompts(written, "act")
    assert all(PUBLIC in prompt for prompt in acts.values())
    assert not any("kept back" in prompt for prompt in acts.values())
    assert all(SETTING in prompt for prompt in prompts(written, "criticise", "choose", "tell").values())
    start = parse_personas(SHEET)
    assert parse_personas(write_personas(start)) == start


async def test_a_character_knows_what_it_saw_and_heard_and_no_goal_that_is_hidden_from_it() -> None:
    written = await played()
    ada, mila = of(written, "3/Ada/act"), of(written, "3/Mila/act")
    assert "Henk: Henk picks the envelope off the mat" in ada
    assert "picks the envelope" not in mila, "she could not see it"
    assert "Ada: Ada pushes the plain envelope" in mila
    assert "letter = in Henk's coat" in ada
    assert "in Henk's coat" not in mila
    assert "in Mila's own hands" in ada
    assert "in Mila's own hands" not in mila
    assert RAIN not in mila, "the reader's paragraphs have what nobody sees"
    assert "A postwoman of fifty." in mila
    assert "next_letter = opened" in of(written, "3/Henk/criticise")
    assert "next_letter" not in of(written, "3/Henk/act")


async def test_a_personas_own_state_is_known_to_itself_alone_but_in_the_paper_to_all() -> None:
    written = await played()
    assert "henk_holding_back_letters = true" in of(written, "1/Henk/act")
    assert "henk_holding_back_letters = true" in of(written, "1/Mila/criticise")
    assert "holding_back_letters" not in of(written, "1/Mila/act")
    faithful = await write(said, personas=SHEET, words="20000", max_steps=1)
    assert "henk_holding_back_letters = true" in of(faithful, "1/Mila/act")


async def test_a_place_is_known_to_those_who_know_it_and_any_key_can_be_hidden() -> None:
    written = await played()
    assert "in prison" not in of(written, "1/Mila/act")
    assert "lukas_location = in prison" in of(written, "1/Henk/act")
    assert "lukas_location = in prison" in of(written, "1/Mila/criticise")
    sheet = "goal: g\nworld_hidden_from: {oil_left: [Tobias]}\nworld: {oil_left: none, storm: near}\n"
    sheet += "personas: [{name: Mara}, {name: Tobias}]\n"
    cases: list[tuple[Preset, bool]] = [("improved", True), ("faithful", False)]
    for preset, hidden in cases:
        made = await write(said, preset, sheet, words="300", max_steps=1)
        assert ("oil_left" in of(made, "1/Tobias/act")) is not hidden
        assert "storm = near" in of(made, "1/Tobias/act")
        assert "oil_left = none" in of(made, "1/Mara/act")


async def test_a_conflict_that_tells_secrets_is_the_goal_of_a_plan_and_shown_to_no_player() -> None:
    conflict = "Ada wants one letter to reach Mila, and she sent Mila's father to prison."

    def script(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        if prompt == "plan_cast":
            blank = dict.fromkeys(("gender", "age", "role", "speech", "personality"), "")
            people = [{"name": name, "setup": "x", "goal": "y", **blank} for name in ("Ada", "Mila")]
            return json.dumps({"characters": people})
        return conflict if prompt == "plan_conflict" else "A town." if prompt.startswith("plan_") else said(request)

    for preset, hidden in (("improved", ("Ada", "Mila")), ("faithful", ())):
        journal = Journal()
        journal.open()
        written = await write(script, preset, journal=journal, words="300", max_steps=1)  # type: ignore[arg-type] # a literal
        start = parse_personas(journal.artefacts.newest("personas") or "")
        assert (start.goal, start.goal_hidden_from) == (conflict, hidden)
        assert any(conflict in prompt for prompt in prompts(written, "act").values()) is not bool(hidden)
        assert all(conflict in prompt for prompt in prompts(written, "criticise").values())


# who acts -------------------------------------------------------------------------------------------------------------


async def test_who_acts_later_sees_what_was_accepted_before_unless_out_of_hearing_and_may_answer() -> None:
    written = await played()
    acts = list(prompts(written, "act"))
    assert acts[:3] == ["1/Ada/act", "1/Henk/act", "1/Mila/act"]
    assert acts[3:] == ["2/Ada/act", "3/Mila/act", "3/Ada/act", "3/Henk/act"], "another one begins"
    assert "Ada pushes the plain envelope" in of(written, "1/Henk/act")
    mila = of(written, "1/Mila/act").partition("at this moment")[2]
    assert "Ada pushes the plain envelope" in mila
    assert "picks the envelope" not in mila
    assert "(this changes: letter = in Henk's coat)" in of(written, "1/Mila/criticise")
    assert json.loads(written.kept["steps/steps-1"])[0]["order"] == ["Ada", "Mila", "Henk"], "as the narrator says"
    tell = of(written, "1/tell").partition("# What happens now")[2]
    assert tell.index("- Ada:") < tell.index("- Mila:") < tell.index("- Henk:")


async def test_nobody_acts_after_the_goal_is_reached_and_nobody_has_to_bring_it_nearer() -> None:
    written = await played(criticise=reached_by("Ada"))
    assert [path for path in prompts(written, "act") if path.startswith("1/")] == ["1/Ada/act"]
    assert "may be for it or against it" in of(written, "1/Ada/act")
    assert "It need not bring the goal nearer" in of(written, "1/Ada/criticise")
    faithful = await write(said, personas=SHEET, words="20000", max_steps=1)
    assert "It brings the goal nearer" in of(faithful, "1/Ada/act")
    assert "if it does not effectively bring the goal nearer" in of(faithful, "1/Ada/criticise")


@pytest.mark.parametrize("small", [False, True])
async def test_an_action_goes_whole_to_critic_narrator_and_record(small: bool) -> None:  # noqa: FBT001 - a parameter
    able = Capabilities(sampling=SAMPLING_FIELDS, parallel=64, small=small)
    long = 'Mara lays three lumps of sugar on the board. "Point one, the porter. Point two, the case. Point three."'

    def script(request: Request) -> str:
        return long if request.path.endswith("Mara/act") else said(request)

    written = await write(script, "improved", capabilities=able, words="300", max_steps=1)
    record = json.loads(written.kept["steps/steps-1"])[0]["actions"]
    assert next(one["action"] for one in record if one["character"] == "Mara") == long
    assert all(f"{long}\n" in of(written, path) or f"{long} (" in of(written, path) for path in ("1/choose", "1/tell"))


async def test_what_the_paper_takes_away_is_not_taken_from_ours_and_ours_is_not_added_to_the_paper() -> None:
    with pytest.raises(UsageError, match="Use --preset faithful"):
        await played({"critic": False})
    with pytest.raises(ConfigError, match="paragraph_words is a setting of fabula's additions"):
        SYSTEM.config("faithful", {"paragraph_words": 90})


# scenes ---------------------------------------------------------------------------------------------------------------


async def test_the_narrator_ends_a_scene_and_says_where_the_next_one_is_at_no_further_call() -> None:
    written = await played()
    first, second = of(written, "1/tell"), of(written, "2/tell")
    assert f"The next one is this, and what happens there is not told yet: {KITCHEN}" in first
    assert "A new scene begins" not in first
    assert "A new scene begins with this paragraph" in second
    assert f"# Now\n{KITCHEN}" in of(written, "2/Ada/act")
    assert f"ada_location = {KITCHEN}" in of(written, "2/Ada/criticise")
    assert f"# Now\n{DYKE}" in of(written, "3/Mila/act")
    assert "cannot end a scene, so that is yours" in of(written, "1/choose")
    assert paths(written.asked, "choose") == [f"scene-{n}/step/{n}/choose" for n in (1, 2, 3)]


async def test_scenes_have_a_break_in_the_text_and_are_scenes_of_the_world() -> None:
    written = await played()
    assert [scene.label for scene in written.story.scenes] == ["Scene 1", "Scene 2", "Scene 3"]
    assert written.story.text.count("\n\n* * *\n\n") == 2
    worlds = [json.loads(written.kept[f"world/world-{n}"]) for n in (1, 2, 3)]
    assert [world["scenes"][-1] for world in worlds] == [{"no": n, "title": f"Scene {n}"} for n in (1, 2, 3)]
    places = {(f["scene"], f["value"]) for world in worlds for f in world["facts"] if f["slot"] == "ada_location"}
    assert places == {(0, "the green gate"), (2, KITCHEN), (3, DYKE)}, "she is in the kitchen when that scene begins"


async def test_what_a_transition_tells_is_in_the_world_from_then_on_and_known_to_all() -> None:
    burned = {"key": "letter", "value": "burned"}
    told = {"goal": "Mila knows.", "transition_paragraph": "Henk burned it.", "world_updates": [burned]}
    written = await played({"words": "900"}, criticise=reached_by("Mila"), set_goal=json.dumps(told))
    assert "letter = burned" not in of(written, "1/set_goal")
    assert "letter = burned" in of(written, "2/Ada/criticise")
    assert "letter = burned" in of(written, "3/Mila/act")
    goal = json.loads(written.kept["steps/steps-1"])[0]["goal"]
    assert [(one["key"], one["value"], one["actor"]) for one in goal["updates"]] == [
        ("letter", "burned", "goal_generator")
    ]


async def test_a_dated_story_has_its_times_in_the_world_and_in_prompts() -> None:
    sheet = SHEET.replace("present:", "begins: 1962-03-06 12:00\npresent:")
    dated = {"order": [1, 3, 2], "next_scene": KITCHEN, "next_date": "1962-03-07 22:00", "acts_next": [{"name": "Ada"}]}
    undated = {"order": [1], "next_scene": DYKE, "next_date": "soon"}
    written = await played(
        sheet=sheet, choose=lambda request: json.dumps(dated if step_of(request) == "1" else undated),
    )  # fmt: skip
    assert "# Now\nthe green gate, Tuesday noon, 1962-03-06 12:00\n" in of(written, "1/Ada/act")
    assert f"# Now\n{KITCHEN}, 1962-03-07 22:00\n" in of(written, "2/Ada/act")
    assert f"# Now\n{DYKE}\n" in of(written, "3/Ada/act"), "what is no date is none"
    worlds = [json.loads(written.kept[f"world/world-{n}"]) for n in (1, 2, 3)]
    times = {(fact["slot"], fact["scene"]): fact.get("from") for world in worlds for fact in world["facts"]}
    assert times["letter", 1] == "1962-03-06 12:00"
    assert times["ada_location", 2] == times["next_letter", 2] == "1962-03-07 22:00"
    assert times["ada_location", 3] is None
    with pytest.raises(PlanError, match="is not a story time"):
        parse_personas(sheet.replace("1962-03-06 12:00", "soon"))


async def test_all_move_to_another_scene_where_nobody_is_named() -> None:
    written = await played(choose=json.dumps({"order": [1], "next_scene": DYKE}))
    world = of(written, "2/Henk/criticise")
    assert all(f"{name}_location = {DYKE}" in world for name in ("ada", "henk", "mila", "lukas"))
    assert {path.split("/")[1] for path in prompts(written, "act") if path[0] == "2"} == {
        "Ada",
        "Henk",
        "Mila",
        "Lukas",
    }
    led = await played(
        {"words": "900"},
        criticise=reached_by("Mila"),
        choose=json.dumps({"order": [1, 2, 3]}),
        set_goal=json.dumps({"goal": "Mila knows.", "transition_paragraph": "Thursday came.", "next_scene": DYKE}),
    )
    world = of(led, "2/Henk/criticise")
    assert all(f"{name}_location = {DYKE}" in world for name in ("ada", "henk", "mila", "lukas"))
    assert led.story.scenes[0].text.endswith("Thursday came.")


async def test_who_is_elsewhere_acts_there_and_who_did_not_see_that_knows_what_was_so_before() -> None:
    elsewhere = {"name": "lukas", "elsewhere": "his cell, the same night"}
    choice = {"order": [1], "next_scene": KITCHEN, "acts_next": [{"name": "Ada"}, elsewhere]}
    written = await played(choose=json.dumps(choice))
    cell = of(written, "2/Lukas/act")
    assert "# Now\nhis cell, the same night" in cell
    assert "lukas_location = his cell, the same night" in cell
    ada = of(written, "2/Ada/act")
    assert "his cell" not in ada.partition("# What the others do")[0]
    assert "lukas_location = in prison" in ada
    assert f"mila_location = {KITCHEN}" not in of(written, "2/Ada/criticise"), "she does not act there"


async def test_only_those_act_whom_the_narrator_or_the_goal_generator_names() -> None:
    written = await played()
    assert {path[2:-4] for path in prompts(written, "act") if path[0] == "1"} == {"Ada", "Henk", "Mila"}
    assert [path for path in prompts(written, "act") if path[0] == "2"] == ["2/Ada/act"]
    leads = {"goal": "Mila knows who sent him.", "transition_paragraph": "Thursday came.", "next_scene": DYKE,
             "acts_next": [{"name": "Mila"}], "hidden_from": ["Mila"]}  # fmt: skip
    led = await played({"words": "1500"}, criticise=reached_by("Mila"), set_goal=json.dumps(leads))
    assert list(prompts(led, "act"))[3] == "2/Mila/act"
    assert f"# Now\n{DYKE}" in of(led, "2/Mila/act")
    assert "Thursday came." in of(led, "2/Mila/act")
    assert "Mila knows who sent him." not in of(led, "2/Mila/act")
    assert "Mila knows who sent him." in of(led, "2/Mila/criticise")


async def test_an_edited_scene_is_what_all_have_seen() -> None:
    first = await played()
    first.journal.decisions.add("scene-1", "edit", "Ada burned the letter before everybody's eyes.")
    burned = '{"world_updates": [{"key": "letter", "value": "burned"}]}'
    again = await write(
        lambda request: plays(request, reread=burned),
        "improved", journal=first.journal, brief=BRIEF, words="450", paragraph_words=150,
    )  # fmt: skip
    assert again.asked[0].path == "scene-1/reread"
    assert {r.path.split("/")[0] for r in again.asked[1:]} == {"scene-2", "scene-3"}
    mila = of(again, "3/Mila/act")
    assert "Ada burned the letter" in mila
    assert "pushes the plain envelope" not in mila
    assert "letter = burned" in mila


# goals and words ------------------------------------------------------------------------------------------------------


async def test_near_its_end_a_long_story_has_a_goal_that_closes_it() -> None:
    written = await write(
        lambda r: accepted({}, reached=True) if r.path.endswith("step/3/Mara/criticise") else said(r),
        "improved", words="1500-1600", paragraph_words=100,
    )  # fmt: skip
    assert 1500 <= written.story.words <= 1600
    assert "This paragraph ends the story" in whole([r for r in written.asked if r.path.endswith("tell")][-1])
    goals = [whole(request) for request in written.asked if request.path.endswith("set_goal")]
    assert "story is coming to its end" in goals[-1]
    assert len([goal for goal in goals if "coming to its end" in goal]) == 1


async def test_the_first_goal_stands_to_the_end_of_a_story_that_does_not_reach_it() -> None:
    written = await played({"words": "1500"})
    assert not paths(written.asked, "set_goal")
    assert "This paragraph ends the story" in list(prompts(written, "tell").values())[-1]


async def test_a_goal_reached_as_it_stalls_is_complete() -> None:
    written = await played(
        {"words": "3000", "stall_steps": 2}, criticise=reached_by("Ada", "2"), choose='{"order": [1, 2, 3, 4]}'
    )
    assert "The goal above is reached." in of(written, "2/set_goal")


async def test_the_last_paragraph_of_a_long_story_is_a_paragraph() -> None:
    asked = (await write(said, "improved", words="~6000", paragraph_words=100)).asked
    last = whole([request for request in asked if request.path.endswith("tell")][-1])
    assert "This paragraph ends the story" in last
    bounds = re.findall(r"about (\d+) words, between (\d+) and (\d+)", last)[-1]
    assert all(40 <= int(words) <= 250 for words in bounds), "not all that is left of the story's range"


async def test_prompts_do_not_grow_with_the_story() -> None:
    asked = (await write(said, "improved", words="5000", paragraph_words=150, chapter_words=1500)).asked
    sizes = [len(whole(request)) for request in asked if request.path.endswith("criticise")]
    assert max(sizes[-10:]) < 1.2 * max(sizes[10:30])


def prose(words: int, at: str) -> str:
    return " ".join(f"word{n}" for n in range(words - 4)) + f" at {at} he stayed."


async def test_a_few_words_over_stay() -> None:
    """Paragraphs of 147 and 148 words for at most 143 lost a speech each."""

    def longer(request: Request) -> str:
        most = int(re.findall(r"between \d+ and (\d+)", whole(request))[-1])
        return prose(int(most * 1.04), step_of(request))

    written = await played({"words": "900", "max_steps": 3}, tell=longer)
    assert not paths(written.asked, "shorten")
    assert written.story.text.count("he stayed.") == len(paths(written.asked, "tell"))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.6, 1.4), min_size=12, max_size=12), st.sampled_from(["300", "850-950", "~1200", "<=500"]))
def test_a_story_is_ended_and_has_its_words_however_long_its_paragraphs_come_out(
    shares: list[float], asked: str
) -> None:
    def drawn(request: Request) -> str:
        low, high = map(int, re.findall(r"between (\d+) and (\d+)", whole(request))[-1])
        number = int(step_of(request))
        return prose(max(low, min(high, round((low + high) / 2 * shares[number % 12]))), str(number))

    written = asyncio.run(played({"words": asked, "paragraph_words": 100}, tell=drawn))
    tells = list(prompts(written, "tell").values())
    assert ["This paragraph ends the story" in one for one in tells] == [False] * (len(tells) - 1) + [True]
    words = count_words(written.story.text)
    low, high = {"300": (270, 330), "850-950": (850, 950), "~1200": (1080, 1320), "<=500": (375, 500)}[asked]
    assert low <= words <= high * 1.05


async def test_much_that_is_said_and_done_has_room() -> None:
    long = "Ada says: " + " ".join(["word"] * 45)
    written = await played({"words": "900", "paragraph_words": 110}, act=long, choose='{"order": [1, 2, 3]}')
    low, high = map(int, re.findall(r"between (\d+) and (\d+)", of(written, "1/tell"))[-1])
    assert low < 3 * count_words(long) < high


async def test_the_narrator_knows_how_far_the_story_is_and_what_this_step_changes() -> None:
    written = await played({"words": "900", "paragraph_words": 100, "max_steps": 4})
    first, second, last = of(written, "1/tell"), of(written, "2/tell"), of(written, "4/tell")
    assert "Write the story's first paragraph." in first
    assert "let the reader know where and when this is, and who is there" in first
    assert "The story has 0 words so far and is to have about 900; after this paragraph about 8 more follow." in first
    assert "(this changes: letter = in Henk's coat)" in first
    assert "Title: Return to Sender" in first
    assert "Nothing has been told yet" not in second
    assert LETTER in second
    assert "nothing comes after this paragraph" in last
    assert "It settles what the writing task asks for" in last


async def test_lines_of_speech_do_not_push_out_what_was_told_before() -> None:
    lines = "\n\n".join(["Table nine is waiting."] * 9)
    written = await played({"words": "1500"}, tell=lambda request: f"{told(request)}\n\n{lines}")
    assert RAIN in of(written, "2/Ada/criticise")


async def test_words_so_far_and_paragraphs_to_come_make_up_the_whole() -> None:
    """About 160 of 450 words "with about 3 more to come" became "one more" after the next one."""
    long = "Ada says: " + " ".join(["word"] * 45)
    written = await played({"paragraph_words": 110}, act=long, choose='{"order": [1, 2, 3]}')
    pattern = r"has (\d+) words so far .*?after this paragraph (?:about )?(\w+) more"
    found = [one[0] for text in prompts(written, "tell").values() if (one := re.findall(pattern, text))]
    assert len(found) > 1
    assert [1 if more == "one" else int(more) for _, more in found] == list(range(len(found), 0, -1))
