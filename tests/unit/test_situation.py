"""What a scene's prompts are shown: all of its situation for who knows all, and one character's share of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabula.base.errors import UnknownNameError
from fabula.craft import PROMPTS
from fabula.engine.prompts import SystemPrompts
from fabula.story.cards.mapping import card_of, character_of, persona_of
from fabula.story.personas import Persona, Personas, parse_personas, write_personas
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan, ordinal
from fabula.story.plan_file import parse_plan, write_plan
from fabula.story.situation import situation_of

CONFESSES, COMES = (
    Event("Aksel tells Ruben that he was at the wheel.", present=("Aksel", "Ruben")),
    Event("Marta comes."),
)
AKSEL = Character(
    "Aksel",
    "protagonist",
    "man",
    "52",
    "A skipper about to sign away the boat.",
    speech="Slow.",
    goal="to be rid of her",
    secret="He was at the wheel.",
)
RUBEN = Character("Ruben", age="60", personality="Dry.", knows="Aksel was at the wheel.", secret="He drinks.")
STORM = ScenePlan(
    "The storm",
    (Event("Aksel takes the wheel."),),
    place="The wheelhouse of the Hanna",
    time="1962-11-03",
    date="the night of 3 November 1962, six years before the first scene",
    characters=(Presence("Aksel", "to bring her home", "46", "mate on his father's ferry"), Presence("Ruben")),
)
NIGHT = ScenePlan(
    "The night",
    (CONFESSES, COMES),
    place="The quay",
    time="1968-11-03",
    characters=tuple(map(Presence, ("Aksel", "Ruben", "Marta"))),
)
PLAN = Plan((NIGHT, STORM), (AKSEL, RUBEN, Character("Marta", age="50", personality="Warm.", secret="She is ill.")))


def rendered(name: str, **fields: object) -> str:
    environment = SystemPrompts(PROMPTS)._environment
    return environment.get_template(f"{name}.jinja").render(fields)


def test_a_character_knows_its_own_secret_and_of_others_what_anybody_notices() -> None:
    own = situation_of(PLAN, NIGHT, "Ruben")
    assert (own.character, own.date, own.place) == (RUBEN.own, "1968-11-03", "The quay")
    who = "Who they are: A skipper about to sign away the boat."
    assert own.others == (f"Aksel (man, 52) - Way of speaking: Slow. {who}", "Marta (50) - Personality: Warm.")
    assert situation_of(PLAN, NIGHT, "Ruben", [CONFESSES]).others == own.others[:1]
    then = situation_of(PLAN, STORM, "Aksel")
    assert (then.character.age, then.character.setup) == ("46", "mate on his father's ferry")
    assert (then.character.goal, then.character.secret) == ("", "")
    shown = rendered("_own_situation", situation=then)
    assert shown.startswith("When: the night of 3 November 1962")
    assert "- Ruben (60)" in shown
    assert "wheel" not in rendered("_own_situation", situation=own)
    with pytest.raises(UnknownNameError, match="Marta"):
        situation_of(PLAN, STORM, "Marta")


MAES = Character(
    "Maes",
    "the one who must not learn",
    age="71",
    setup="The priest, half deaf.",
    personality="Half deaf, happy.",
    speech="Too loud, because of his deafness.",
    knows="Believes that only the bell was buried.",
    truth="There is a pistol in it.",
)
JAN = Character("Jan", "Griet's obstacle", age="21", setup="The mayor's son.", secret="He hid a pistol in the bell.")
BELL = ScenePlan(
    "The bell",
    (
        Event("Maes prays."),
        Event("Jan hides it.", "", ("Griet", "Jan"), ("Maes",), "that somebody kneels", "at the mouth of the bell"),
    ),
    place="The churchyard, by the wall",
    characters=(
        Presence("Griet", age="42", then="The baker."),
        Presence(
            "Jan", age="17", then="The mayor's son; his brother has fallen.", secret="He has the pistol with him."
        ),
        Presence("Maes", age="67", then="The priest.", personality="Strict.", speech="Low."),
    ),
)
NIGHT_OF_MAES = ScenePlan("Later", (Event("Maes rests."),), characters=(Presence("Maes"),))
GRAVE = Plan((BELL,), (Character("Griet", "protagonist"), JAN, MAES))


def test_no_player_sees_its_role_in_the_story_or_what_it_is_wrong_about() -> None:
    own = situation_of(replace(GRAVE, scenes=(NIGHT_OF_MAES,)), NIGHT_OF_MAES, "Maes").character
    assert (own.role, own.truth, own.knows) == ("", "", "Believes that only the bell was buried.")
    assert "In truth: There is a pistol in it." in MAES.introduction()
    assert "the one who must not learn" in MAES.introduction()


def test_who_is_there_without_seeing_can_be_spoken_to() -> None:
    own = situation_of(GRAVE, BELL, "Jan", BELL.outline[1:])
    assert [line.split()[0] for line in own.others] == ["Griet"]
    assert [line.split()[0] for line in own.unaware] == ["Maes"]
    shown = rendered("_own_situation", situation=own)
    assert "Where: at the mouth of the bell" in shown
    assert "neither sees nor hears what is done and said now:\n- Maes (67) - Personality: Strict. Way of" in shown
    assert BELL.missed(BELL.outline[1]) == (
        "There, but neither seeing nor hearing it: Maes. What they notice instead: that somebody kneels"
    )
    assert parse_plan(write_plan(GRAVE)) == GRAVE


def test_in_an_earlier_scene_everybody_is_as_they_were_and_others_know_what_is_public() -> None:
    own = situation_of(GRAVE, BELL, "Jan")
    assert own.character.secret.startswith("He has the pistol")
    assert "deaf" not in " ".join(own.others)
    others = " ".join(situation_of(GRAVE, BELL, "Griet").others)
    assert "Who they are: The mayor's son; his brother has fallen." in others
    assert "pistol" not in others
    mixed = replace(BELL, characters=tuple(replace(one, secret="") for one in BELL.characters))
    plan = replace(GRAVE, scenes=(mixed,))
    assert "brother" not in " ".join(situation_of(plan, mixed, "Griet").others), "what is not said apart stays private"


def test_a_scene_is_named_with_its_place_in_both_orders() -> None:
    assert PLAN.position("The storm") == "scene 2 of 2 in the order of telling; it happens first in time"
    assert Plan((STORM, NIGHT)).position("The night") == "scene 2 of 2"
    assert [ordinal(n) for n in (1, 10, 11, 12, 21, 22, 23, 113)] == [
        "first", "tenth", "11th", "12th", "21st", "22nd", "23rd", "113th",
    ]  # fmt: skip


def test_secrets_come_through_personas_and_cards() -> None:
    persona = Persona.of(RUBEN)
    assert persona.block.endswith("Hides from the others: He drinks.\nKnows of the others: Aksel was at the wheel.")
    assert parse_personas(write_personas(Personas("x", (persona,)))).people == (persona,)
    assert persona_of(card_of(persona)) == persona
    assert character_of(card_of(RUBEN)) == RUBEN


def test_a_brief_made_of_a_plan_holds_its_form_and_demands() -> None:
    plan = Plan((NIGHT,), form="Five letters.", demands=("Tobias must never learn it.",))
    assert "Its form is this: Five letters.\n\nIt keeps to this:\n- Tobias must never learn it." in plan.as_brief()
