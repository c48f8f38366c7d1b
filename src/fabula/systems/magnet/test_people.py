"""What is ours in MAGNET's improved preset: people who answer each other and know what they saw, and a text with W."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.engine.journal import Journal
from fabula.models.base import SAMPLING_FIELDS, Capabilities
from fabula.story import count_words
from fabula.story.personas import parse_personas, write_personas
from fabula.systems.magnet.prose import shortened
from fabula.systems.magnet.test_magnet import SYSTEM, Written, accepted, agrees, paths, said, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.models.base import Request

CHEESE = """
goal: The three have got the cheese out of the museum, or have lost it for good.
goal_hidden_from: [Pauwels]
setting: A customs museum on a border without barriers, November 2004.
opening: the ramp behind the museum, shortly before midnight
personas:
  - name: Odile
    appearance: A woman of 68 in a uniform cap.
    knows: Brandt sweats when he lies.
  - name: Brandt
    appearance: A ceremonious man of 71.
    secret: He has sold the cheese to a collector.
  - name: Pauwels
    appearance: A porter who is hard of hearing.
    location: the porter's desk
"""
LONG = (
    'Brandt lays three lumps of sugar on the dashboard. "Point one, the porter. Point two, the case. Point three, the '
    'vehicle stands at the old barrier by two." He wipes his forehead. "Point three is not open to discussion."'
)


def text(request: Request) -> str:
    return request.messages[-1].content


def the(written: Written, path: str) -> str:
    return next(text(request) for request in written.asked if request.path.endswith(path))


async def cheese(script: Callable[[Request], str], **config: Any) -> Written:  # noqa: ANN401 - fields of Config
    chosen: dict[str, Any] = {"words": "400", "max_steps": 3, "paragraph_words": 100} | config
    return await write(script, "improved", CHEESE, **chosen)


def secretly(request: Request) -> str:
    """Brandt lays out his plan in the van, where the porter neither sees nor hears him."""
    where = request.path
    if where.endswith("step/1/Brandt/act"):
        return LONG
    if "Brandt" in where and where.endswith("criticise"):
        update = {"key": "third_point", "value": "the old barrier"}
        return json.dumps(
            {"revise": False, "goal_reached": False, "world_updates": [update], "unseen_by": ["pauwels", "Nobody"]}
        )
    if where.endswith("choose"):
        return json.dumps({"order": [3, 2, 1]})
    if where.endswith("check"):
        seen = [{"what": "Odile gets out."}, {"what": "Brandt speaks of a barrier.", "unseen_by": ["Pauwels"]}]
        return json.dumps({"contradictions": [], "untold": [], "seen": seen, "now": "the hall, after midnight"})
    return said(request)


# who knows what -------------------------------------------------------------------------------------------------------


async def test_a_secret_is_shown_to_its_own_player_and_to_who_judges_and_tells_it() -> None:
    def script(request: Request) -> str:
        reached = request.path.endswith("step/1/Pauwels/criticise")
        return accepted({}, reached=True) if reached else said(request)

    written = await cheese(script)
    told = {request.path.partition("step/")[2] for request in written.asked if "sold the cheese" in text(request)}
    assert {path for path in told if path.endswith("/act")} == {f"{n}/Brandt/act" for n in (1, 2, 3)}
    assert {path for path in told if path.endswith("criticise")} == {f"{n}/Brandt/criticise" for n in (1, 2, 3)}
    assert not any("set_goal" in path for path in told), "all who know of a goal will read it"
    knows = {
        request.path.rpartition("/step/")[2] for request in written.asked if "sweats when he lies" in text(request)
    }
    assert {path for path in knows if path.endswith("/act")} == {f"{n}/Odile/act" for n in (1, 2, 3)}
    assert "Hides: He has sold the cheese" in the(written, "1/tell")


async def test_a_character_knows_what_it_saw_and_heard_and_no_goal_that_is_hidden_from_it() -> None:
    written = await cheese(secretly)
    porter, odile = the(written, "2/Pauwels/act"), the(written, "2/Odile/act")
    assert "Odile gets out. Brandt speaks of a barrier." in odile
    assert "Odile gets out." in porter
    assert "barrier." not in porter.partition("# World")[0]
    assert "third_point" not in porter
    assert "third_point = the old barrier" in odile
    assert "have lost it for good" in odile
    assert "have lost it for good" not in porter
    assert "the hall, after midnight" in odile
    assert "the hall, after midnight" not in porter, "he is not where the story is"
    assert "It was told at" not in odile, "the reader's paragraphs have what nobody sees"
    assert "A ceremonious man of 71." in odile
    assert "A customs museum on a border without barriers" in porter


async def test_who_acts_later_sees_what_was_accepted_before_unless_out_of_hearing_and_may_answer() -> None:
    written = await cheese(secretly)
    acts = [path.partition("step/")[2] for path in paths(written.asked, "act")]
    assert acts[:6] == ["1/Odile/act", "1/Brandt/act", "1/Pauwels/act", "2/Brandt/act", "2/Pauwels/act", "2/Odile/act"]
    assert "Odile does what nobody did" in the(written, "1/Brandt/act")
    porter = the(written, "1/Pauwels/act")
    assert "Odile does what nobody did" in porter
    assert "sugar" not in porter
    steps = json.loads(written.kept["steps/steps-1"])
    assert steps[0]["order"] == ["Pauwels", "Brandt", "Odile"], "as the narrator says"
    tell = the(written, "1/tell").partition("# What happens now")[2]
    assert tell.index("- Pauwels") < tell.index("- Brandt") < tell.index("- Odile")
    assert "an answer after what it answers" in the(written, "1/choose")
    assert "what answers an action that you leave out" in the(written, "1/choose")
    side = await cheese(secretly, in_turn=False)
    assert len(side.asked) == len(written.asked), "at no further call"
    assert "Odile does" not in the(side, "1/Brandt/act")


async def test_the_setting_is_the_authors_and_a_change_of_it_reaches_the_players() -> None:
    start = parse_personas(CHEESE)
    assert parse_personas(write_personas(start)) == start
    changed = await write(said, "improved", CHEESE.replace("November 2004", "March 1999"), words="300", max_steps=1)
    assert all("March 1999" in text(r) for r in changed.asked if r.path.endswith(("act", "tell")))


# goals ----------------------------------------------------------------------------------------------------------------


def planned(request: Request) -> str:
    prompt = request.path.rpartition("/")[2]
    if prompt == "plan_cast":
        return json.dumps({"characters": [{"name": n, "gender": "", "age": "", "role": "", "setup": "x", "speech": "",
                                           "personality": "", "goal": "y"} for n in ("Odile", "Pauwels")]})  # fmt: skip
    if prompt == "first_goal":
        people = [{"name": "Odile", "place": "the van", "knows_goal": True}]
        people += [{"name": "pauwels", "place": "the desk", "knows_goal": False}]
        return json.dumps(
            {"goal": "The cheese is out of the museum.", "opening": "the ramp, midnight", "people": people}
        )
    if prompt == "plan_setting":
        return "A customs museum on a border, November 2004."
    if prompt.startswith("plan_"):
        return "Odile wants the cheese of her mother, and Brandt, who has sold it, stands in her way in secret."
    return said(request)


async def test_the_first_goal_is_an_end_state_and_no_conflict_that_tells_secrets() -> None:
    with Journal() as journal:
        written = await write(planned, "improved", journal=journal, words="300", max_steps=1)
        start = parse_personas(journal.newest("personas") or "")
    assert (start.goal, start.goal_hidden_from) == ("The cheese is out of the museum.", ("Pauwels",))
    assert (start.opening, [p.location for p in start.people]) == ("the ramp, midnight", ["the van", "the desk"])
    assert start.setting
    assert "in its words" in the(written, "personas/first_goal")
    assert not any("who has sold it" in text(r) for r in written.asked if r.path.endswith("act") and "Pau" in r.path)
    small = Capabilities(sampling=SAMPLING_FIELDS, parallel=64, small=True)
    with Journal() as journal:
        asked = (await write(planned, "improved", journal=journal, capabilities=small, words="300", max_steps=1)).asked
    assert not paths(asked, "first_goal")


async def test_nobody_has_to_bring_the_goal_nearer_but_in_the_paper_everybody_has() -> None:
    written = await cheese(said)
    assert "may be for it or against it" in the(written, "1/Odile/act")
    assert "It need not bring the goal nearer" in the(written, "1/Odile/criticise")
    faithful = await write(said, personas=CHEESE, words="20000", max_steps=1)
    assert "It brings the goal nearer" in the(faithful, "1/Odile/act")
    assert "if it does not effectively bring the goal nearer" in the(faithful, "1/Odile/criticise")


async def test_the_briefs_goal_stands_to_the_end_of_a_story_that_does_not_reach_it() -> None:
    written = await cheese(said, words="900", max_steps=0)
    assert not paths(written.asked, "set_goal")
    assert "This paragraph ends the story" in [text(r) for r in written.asked if r.path.endswith("tell")][-1]


# text and W -----------------------------------------------------------------------------------------------------------


async def test_an_action_that_is_never_told_has_not_happened() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({f"by_{request.path.split('/')[-2].lower()}": "1"})
        if request.path.endswith("choose"):
            return json.dumps({"order": [1, 2]})
        if "step/1" in request.path and request.path.endswith("check"):
            return agrees("Odile acts.", untold=[2, 9])
        return said(request)

    written = await cheese(script, max_steps=2)
    step = json.loads(written.kept["steps/steps-1"])[0]
    assert step["order"] == ["Odile"]
    assert [row["key"] for row in step["commits"]] == ["by_odile"]
    again = the(written, "1/again/tell")
    assert "It does not tell that Brandt does this: Brandt does what nobody did" in again
    assert "by_brandt" not in the(written, "2/Odile/criticise").partition("# World")[2].partition("# Goal")[0]
    assert any("is not told, and so has not happened" in note for note in written.noted)


async def test_w_takes_the_value_that_the_text_keeps() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({"lissi_truth": "told"})
        if request.path.endswith("tell"):
            return "Lissi kept the truth to herself. " + said(request)
        if request.path.endswith("check"):
            return agrees("x", {"key": "lissi_truth", "value": "kept", "quote": "Lissi kept the truth to herself"})
        return said(request)

    written = await cheese(script, max_steps=2)
    assert "lissi_truth = kept" in the(written, "step/2/Odile/criticise")


async def test_two_values_for_one_key_are_named_and_a_key_can_be_retired() -> None:
    def script(request: Request) -> str:
        if "step/1/" in request.path and request.path.endswith("criticise"):
            return accepted({"lamp": "lit" if "Odile" in request.path else "dark", "alarm": "armed"})
        if "step/2/Brandt" in request.path and request.path.endswith("criticise"):
            assert "alarm = armed" in text(request)
            return accepted({"alarm": ""})
        return json.dumps({"order": [1, 2]}) if request.path.endswith("choose") else said(request)

    written = await cheese(script)
    note = "Step 1 writes 'lamp' more than once: lamp = lit (Odile), then lamp = dark (Brandt). The last one holds."
    assert note not in written.noted, "Brandt knew, and answered it"
    assert "this changes: lamp = lit" in the(written, "1/Brandt/criticise"), "who is judged later is judged after it"
    assert "alarm is no longer so" in the(written, "2/tell")
    assert "alarm" not in the(written, "3/Odile/criticise").partition("# Story")[0]
    world = the(written, "3/Pauwels/criticise").partition("# World")[2].partition("# Goal")[0]
    assert "alarm" not in world
    assert "lamp = dark" in world
    assert note in (await cheese(script, in_turn=False)).noted
    faithful = await write(script, personas=CHEESE, words="20000", max_steps=3)
    assert "alarm = armed" in the(faithful, "3/narrate"), "the paper only overwrites"


async def test_keys_alike_in_their_first_64_letters_do_not_become_one_in_silence() -> None:
    def script(request: Request) -> str:
        keys = {f"{'the_lamp_' * 8}{end}": end for end in ("on_the_stairs", "in_the_hall")}
        return accepted(keys) if request.path.endswith("Odile/criticise") else said(request)

    written = await cheese(script, max_steps=1)
    assert any("another key has the same first 64 letters" in note for note in written.noted)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_text_and_world_agree_whatever_is_chosen_left_out_and_contradicted(data: st.DataObject) -> None:
    numbers = st.lists(st.integers(0, 5), max_size=4)
    draws: dict[str, Any] = {}

    def drawn(path: str, strategy: st.SearchStrategy[Any]) -> Any:  # noqa: ANN401 - what was drawn
        if path not in draws:
            draws[path] = data.draw(strategy)
        return draws[path]

    def script(request: Request) -> str:
        where, who = request.path, request.path.split("/")[-2]
        if where.endswith("criticise"):
            number = where.split("step/")[1].split("/")[0]
            return accepted({f"{who.lower()}_{number}": "done", "lamp": who}, reached=drawn(where, st.booleans()))
        if where.endswith("choose"):
            return json.dumps({"order": drawn(where, numbers)})
        if where.endswith("check"):
            wrong = {"key": "lamp", "value": "blue", "quote": "the lamp is blue"}
            blue = "the lamp is blue" in text(request)
            return agrees("x", *[wrong] * blue, untold=drawn(where, numbers))
        if where.endswith("tell"):
            names = re.findall(r"^- (\w+): \w+ does", text(request).partition("# What happens now")[2], re.MULTILINE)
            lamp = "the lamp is blue" if drawn(where, st.booleans()) else "the lamp"
            return f"[{' '.join(names)}] {lamp}. {said(request)}"
        return said(request)

    written = asyncio.run(cheese(script, max_steps=3))
    for step in json.loads(written.kept["steps/steps-1"]):
        told = re.search(r"\[(.*?)\]", " ".join(step["paragraphs"]))
        happened = set(step["order"])
        assert happened <= set(told[1].split() if told else []), "what has happened is told"
        actors = {row["actor"] for row in step.get("commits", ()) if row["key"].endswith(f"_{step['step']}")}
        assert actors == happened, "what has changed is what has happened"
        lamp = [row["new"] for row in step.get("commits", ()) if row["key"] == "lamp"]
        assert not lamp or (lamp[-1] == "blue") == ("the lamp is blue" in " ".join(step["paragraphs"]))


@pytest.mark.parametrize("small", [False, True])
async def test_an_action_goes_whole_to_critic_narrator_and_record_and_no_speech_is_cut(small: bool) -> None:  # noqa: FBT001 - a parameter
    able = Capabilities(sampling=SAMPLING_FIELDS, parallel=64, small=small)
    written = await cheese(secretly, capabilities=able, max_steps=1, story_shown=12)
    record = json.loads(written.kept["steps/steps-1"])[0]["proposals"]
    action = next(one["final"] for one in record if one["character"] == "Brandt")
    assert action == (LONG if not small else LONG.partition(" He wipes")[0])
    for path in ("1/Brandt/criticise", "1/choose", "1/tell"):
        assert f"{action}\n" in the(written, path) or f"{action} (" in the(written, path)


@given(
    st.lists(
        st.sampled_from(['He says: "One. Two. Three."', "He waits.", "“Come. Now. Please,” she says."]), min_size=1
    )
)
def test_a_small_models_action_ends_outside_of_quotations(parts: list[str]) -> None:
    short = shortened(" ".join(parts))
    assert short
    assert short.count('"') % 2 == 0
    assert short.count("“") == short.count("”")


# length ---------------------------------------------------------------------------------------------------------------


def prose(words: int, at: str) -> str:
    return " ".join(f"word{n}" for n in range(words - 4)) + f" at {at} he stayed."


async def test_a_few_words_over_stay() -> None:
    """Paragraphs of 147 and 148 words for at most 143 lost a speech each."""

    def script(request: Request) -> str:
        if request.path.endswith("tell"):
            most = int(re.findall(r"between \d+ and (\d+)", text(request))[-1])
            return prose(int(most * 1.04), request.path.split("step/")[1][0])
        return said(request)

    written = await cheese(script, words="900", max_steps=3)
    assert not paths(written.asked, "shorten")
    tells = len(paths(written.asked, "tell"))
    assert written.story.text.count("he stayed.") == tells


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.6, 1.4), min_size=12, max_size=12), st.sampled_from(["300", "850-950", "~1200", "<=500"]))
def test_a_story_is_ended_and_has_its_words_however_long_its_paragraphs_come_out(
    shares: list[float], asked: str
) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("tell"):
            low, high = map(int, re.findall(r"between (\d+) and (\d+)", text(request))[-1])
            number = int(re.findall(r"step/(\d+)/", request.path)[0])
            middle = (low + high) / 2
            return prose(max(low, min(high, round(middle * shares[number % 12]))), str(number))
        return said(request)

    written = asyncio.run(cheese(script, words=asked, max_steps=0))
    tells = [text(request) for request in written.asked if request.path.endswith("tell")]
    assert ["This paragraph ends the story" in one for one in tells] == [False] * (len(tells) - 1) + [True]
    words = count_words(written.story.text)
    low, high = {"300": (270, 330), "850-950": (850, 950), "~1200": (1080, 1320), "<=500": (375, 500)}[asked]
    assert low <= words <= high * 1.05


async def test_much_that_is_said_and_done_has_room() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("act"):
            return LONG
        return json.dumps({"order": [1, 2, 3]}) if request.path.endswith("choose") else said(request)

    written = await cheese(script, words="900")
    low, high = map(int, re.findall(r"between (\d+) and (\d+)", the(written, "1/tell"))[-1])
    needed = 3 * count_words(LONG)
    assert low < needed < high


async def test_the_narrator_knows_how_far_the_story_is_and_what_this_step_changes() -> None:
    def script(request: Request) -> str:
        return accepted({"lamp": "lit"}) if request.path.endswith("criticise") else said(request)

    written = await cheese(script, words="900", max_steps=4)
    first, second = the(written, "1/tell"), the(written, "2/tell")
    assert "Write the story's first paragraph." in first
    assert "let the reader know where and when this is, and who is there" in first
    assert "The story has 0 words so far and is to have about 900; after this paragraph about 8 more follow." in first
    assert "(this changes: lamp = lit)" in first
    assert "Nothing has been told yet" not in second
    assert "It was told" not in second
    assert "sum it up" in second
    last = the(written, "4/tell")
    assert "nothing comes after this paragraph" in last
    assert "It settles what the writing task asks for" in last


# the final reading ----------------------------------------------------------------------------------------------------


async def test_what_the_final_reading_changes_costs_no_call_since_nothing_follows() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("tell"):
            return f"On Tuesday step {request.path.split('step/')[1][0]} began. {said(request)}"
        if request.path.endswith("final_reading"):
            edit = {"paragraph": 2, "old": "On Tuesday step 2", "new": "On Wednesday step 2", "why": "A day later."}
            return json.dumps({"edits": [edit]})
        return said(request)

    written = await cheese(script, final_reading=True)
    assert "On Wednesday step 2 began." in written.story.text
    assert "On Tuesday step 2" not in written.story.text
    assert (len(paths(written.asked, "final_reading")), len(paths(written.asked, "reread"))) == (1, 0)
    assert json.loads(written.kept["world/world-1"])["facts"]


def test_every_difference_is_a_named_field_that_is_off_in_the_paper() -> None:
    ours = SYSTEM.config("faithful").ours
    assert not any((ours.first_goal, ours.own_goals, ours.in_turn, ours.witnessed, ours.retire, ours.final_reading))
