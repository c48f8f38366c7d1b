"""The phrases are those of Agents' Room, appendices B and C."""

from __future__ import annotations

import pytest

from fabula.story import Brief
from fabula.story.scratchpad import Contribution, Scratchpad, listed

PLAN = ("Central Conflict", "Character Descriptions", "Setting", "Key Plot Points")
PARTS = ("Exposition", "Rising Action", "Climax")


def pad(*, plan: tuple[str, ...] = (), parts: tuple[str, ...] = ()) -> Scratchpad:
    scratchpad = Scratchpad.of(Brief("Write about a lighthouse."))
    for label in plan:
        scratchpad = scratchpad.add(label, f"text of {label}", "planning")
    for label in parts:
        scratchpad = scratchpad.add(label, f"text of {label}", "writing")
    return scratchpad


@pytest.mark.parametrize(
    ("plan", "phrase"),
    [
        ((), "a Creative Writing Task"),
        (PLAN[:1], "a Creative Writing Task and the Central Conflict"),
        (PLAN[:2], "a Creative Writing Task, the Central Conflict, and the Character Descriptions"),
        (PLAN[:3], "a Creative Writing Task, the Central Conflict, the Character Descriptions, and the Setting"),
    ],
)
def test_identifiers_as_planning_agents_name_them(plan: tuple[str, ...], phrase: str) -> None:
    assert pad(plan=plan).identifiers() == phrase


def test_identifiers_of_the_synthetic_data_prompts() -> None:
    scratchpad = pad().add("User-Written Response", "Once.", "task")
    assert scratchpad.identifiers() == "a Creative Writing Task and a User-Written Response"


@pytest.mark.parametrize(
    ("plan", "parts", "phrase"),
    [
        (
            PLAN,
            PARTS,
            (
                "a Creative Writing Task, the Content Plan (Central Conflict, Character Descriptions, Setting, "
                "Key Plot Points), and the Previous Parts of the Story (Exposition, Rising Action, Climax)"
            ),
        ),
        (
            PLAN,
            (),
            (
                "a Creative Writing Task and the Content Plan (Central Conflict, Character Descriptions, Setting, "
                "Key Plot Points)"
            ),
        ),
        ((), PARTS[:1], "a Creative Writing Task and the Previous Parts of the Story (Exposition)"),
        ((), (), "a Creative Writing Task"),
    ],
)
def test_identifiers_as_writing_agents_name_them(plan: tuple[str, ...], parts: tuple[str, ...], phrase: str) -> None:
    assert pad(plan=plan, parts=parts).grouped_identifiers() == phrase


def test_groups_do_not_depend_on_the_order_of_entries() -> None:
    scratchpad = pad(parts=PARTS[:1]).add("Setting", "A rock.", "planning")
    assert scratchpad.grouped_identifiers() == (
        "a Creative Writing Task, the Content Plan (Setting), and the Previous Parts of the Story (Exposition)"
    )


def test_the_scratchpad_renders_as_labels_in_brackets() -> None:
    assert pad(plan=PLAN[:1]).render() == (
        "[Creative Writing Task] Write about a lighthouse.\n\n[Central Conflict] text of Central Conflict"
    )
    assert Scratchpad().render() == ""


def test_adding_leaves_the_earlier_state_as_it_was() -> None:
    before = pad()
    after = before.add("Setting", "A rock.", "planning")
    assert (before.has("Setting"), after.has("Setting"), len(before.entries)) == (False, True, 1)
    assert after.of_kind("planning") == (Contribution("Setting", "A rock.", "planning"),)
    assert after.of_kind("writing") == ()


def test_the_task_may_have_another_label() -> None:
    assert Scratchpad.of(Brief("x"), label="Writing Prompt").identifiers() == "a Writing Prompt"


@pytest.mark.parametrize(
    ("names", "phrase"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b, and c")]
)
def test_listed(names: list[str], phrase: str) -> None:
    assert listed(names) == phrase
