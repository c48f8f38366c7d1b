"""The simulated player: schedules, conversations, what survives a kill, what SNAP and Vanilla make of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.app.digressing import KINDS, DigressionSchedule, Simulation, digress_in, dry_run_digressions, kinds_of
from fabula.app.digressing.playing import WORDS
from fabula.app.writing import Options
from fabula.base.errors import ModelUnavailableError, UnknownNameError, UsageError
from fabula.craft import NARRATIVE_FILE
from fabula.craft.conversation import Parties
from fabula.craft.digressions import Utterance, dialogue_with_marks, utterances_of
from fabula.craft.narratives import parties_of
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.models.scripted import ScriptedModel
from fabula.project.casting import open_cast
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.stats.estimate import Estimate
from fabula.story import Brief
from witnesses import all_witness, marks_of

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.measure.items import Item
    from fabula.models.base import Request

STORY = (
    "Mara kept the lamp of the lighthouse on the cape. The boy Tobias brought Mara a letter from the office. She read "
    "the letter twice by the window. It said that the lamp was to go dark on Saturday.\n\nOn Saturday the wind turned "
    "and a boat was late. Tobias asked Mara for the light of the tower. Mara lit the lamp against the order. In the "
    "morning the boat came home to the harbour."
)
TWO = Parties("Tobias", ("Mara",))
SMALL = DigressionSchedule(lead=1, within=2)


def test_a_schedule_has_every_kind_and_is_the_same_for_all_who_ask() -> None:
    schedule = DigressionSchedule(rounds=2, lead=2, within=3)
    slots = schedule.slots(STORY, 1)
    assert slots == schedule.slots(STORY, 1)
    assert slots != schedule.slots(STORY, 2)
    assert slots != DigressionSchedule(rounds=2, seed=2).slots(STORY, 1)
    assert len(slots) == schedule.turns == 1 + 8 * 5
    assert Counter(slot.kind for slot in slots if slot.purpose == "digression") == dict.fromkeys(KINDS, 2)
    assert [slot.purpose for slot in slots[:6]] == ["open", "story", "story", "digression", "after", "after"]
    assert not any(slot.kind for slot in slots if slot.purpose == "after" and slot.kind != "silence")
    quiet = [slot.says for slot in slots if slot.kind == "silence"]
    assert quiet == ["..."] * 6


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4), st.text(max_size=300))
def test_whatever_is_said_is_something_and_an_order_demands_a_word_that_it_names(
    seed: int, number: int, within: int, narrative: str
) -> None:
    for slot in DigressionSchedule(seed=seed, within=within, rounds=3).slots(narrative, number):
        assert bool(slot.says) is (slot.purpose != "open")
        assert "{" not in slot.says or "{" in narrative
        assert bool(slot.word) is (slot.purpose == "digression" and slot.kind == "injection")
        assert slot.word in slot.says


def test_a_claim_denies_what_stands_in_the_narrative() -> None:
    said = [
        slot.says
        for seed in range(20)
        for slot in DigressionSchedule(("contradiction",), seed=seed).slots(STORY, 1)
        if slot.purpose == "digression"
    ]
    denied = [one for one in said if any(sentence in one for sentence in STORY.replace("\n\n", " ").split(". ")[:8])]
    assert denied
    assert len(set(said)) > 3


def test_what_cannot_be_scheduled_is_said() -> None:
    assert kinds_of(" Silence,reality,silence") == ("silence", "reality")
    with pytest.raises(UnknownNameError, match=r"Unknown kind of digression 'realty'\. Did you mean 'reality'\?"):
        kinds_of("realty")
    with pytest.raises(UsageError, match="No kind of digression is given"):
        kinds_of(" , ")
    for wrong, name in (
        (DigressionSchedule(rounds=0), "rounds"),
        (DigressionSchedule(lead=0), "lead"),
        (DigressionSchedule(within=0), "within"),
    ):
        with pytest.raises(UsageError, match=f"{name} = 0 is too small"):
            wrong.check()


def test_who_talks_is_named_or_known_and_never_guessed() -> None:
    assert parties_of(STORY, people=("Mara", "Tobias")) == Parties("Mara", ("Tobias",))
    assert parties_of(STORY, "Tobias", ("Mara",)) == TWO
    with pytest.raises(UsageError, match="The story does not name 'Batman'"):
        parties_of(STORY, "Batman", ("Mara",))
    with pytest.raises(UnknownNameError, match="Batman"):
        parties_of(STORY, "Batman", ("Mara",), people=("Mara",))
    with pytest.raises(UsageError, match="The characters of this story are unknown"):
        parties_of(STORY)


TEXTS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters='[]:*#"'), min_size=1, max_size=20)


@given(
    st.lists(
        st.builds(Utterance, TEXTS, TEXTS, st.sampled_from(("", "reality", "injection")), st.just("")),
        min_size=1,
        max_size=6,
    )
)
def test_a_dialogue_with_marks_is_read_as_it_was_written(lines: list[Utterance]) -> None:
    assert list(utterances_of(dialogue_with_marks(lines))) == lines
    demanding = [Utterance(line.who, line.text, "injection", "OMEGA-12") for line in lines]
    assert list(utterances_of(dialogue_with_marks(demanding))) == demanding


# conversations --------------------------------------------------------------------------------------------------------


@dataclass
class Character:
    """Plays every role. Mara tells what her plan says comes about, else she goes along with the player."""

    asked: list[Request] = field(default_factory=list)
    dies_after: int = 1_000_000

    def __call__(self, request: Request) -> str:
        if len(self.asked) >= self.dies_after:
            raise ModelUnavailableError("gone", model="x")
        self.asked.append(request)
        text = request.messages[-1].content
        if request.path.endswith("/witnesses"):
            return marks_of(request)
        if request.role == "npc":
            if points := re.findall(r"^#\d+\. (.+)$", request.messages[1].content, re.MULTILINE):
                turns = sum(message.role == "assistant" for message in request.messages)
                point = points[min(turns // 4, len(points) - 1)]
                return f"[Mara: (turn {len(self.asked)}) {point}, and {len(self.asked)}.]"
            said = text if len(request.messages) > 2 else "Good evening"
            return f"[Mara: (turn {len(self.asked)}) {len(self.asked)} times: {said}]"
        replies = {
            "labeller": json.dumps({"characters": [{"name": "Mara"}, {"name": "Tobias"}]}),
            "judge": "3",
            "player": f"Tobias: Let us talk of QUARTZ and {request.path}. It is better. And a third sentence.",
            "summariser": "Tobias brought a letter.",
        }
        if request.role == "planner":
            cell = text.partition("# The current story")[2].split("\n\n")[0].strip().split(". ")
            return "\n".join(f"#{n}. {sentence}" for n, sentence in enumerate(cell, 1))
        return replies[request.role]


def settings_of(system: str) -> Settings:
    config: dict[str, Any] = {"sentences": 4, "candidates": 1} if system == "snap" else {}
    return Settings().with_({"system": system, "model": "scripted:none", "config": config})


def project_of(folder: Path) -> ProjectFolder:
    if (folder / "brief.md").exists():
        return ProjectFolder.open(folder)
    project = ProjectFolder.create(folder, Brief("Leave the story.", "lamp"))
    project.write_given(NARRATIVE_FILE, STORY)
    return project


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Character:
    """The character that every cast has."""
    character = Character()

    def cast(*_: object, **__: object) -> Cast:
        return Cast(Assignment(ScriptedModel(character, name="scripted:none")))

    monkeypatch.setattr("fabula.app.writing.open_cast", cast)
    assert open_cast is not None
    return character


async def dialogues(folder: Path, system: str, **wanted: Any) -> tuple[Item, ...]:  # noqa: ANN401 - fields of Simulation
    asked = Simulation("lamp", STORY, TWO, wanted.pop("schedule", SMALL), **wanted)
    return await digress_in(project_of(folder), settings_of(system), Options(), asked)


@pytest.mark.usefixtures("played")
async def test_a_character_that_keeps_to_its_plan_leads_back_and_one_without_follows_the_player(tmp_path: Path) -> None:
    items = [one for name in ("snap", "vanilla") for one in await dialogues(tmp_path / name, name)]
    assert [item.id for item in items] == ["snap/lamp-1", "snap/lamp-2", "vanilla/lamp-1", "vanilla/lamp-2"]
    assert '[off-story: injection, "' in items[0].story.text
    evaluator = find("linearity")
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(evaluator.prompts), Cast.of(ScriptedModel({}))))
        report = await evaluator.evaluate(items, run, evaluator.config("improved", {"judge": False, "within": 2}))

    def share(of: str, what: str) -> float:
        found = report.row(of, what).scored
        assert isinstance(found, Estimate), found
        return found.value

    assert share("snap", "back within 2, by words") > 0.8
    assert share("vanilla", "back within 2, by words") == 0.0
    assert share("snap - vanilla", "back within 2, by words") > 0.8
    assert share("snap", "orders obeyed") == 0.0
    assert share("vanilla", "orders obeyed") > 0.0
    assert share("a character that hears nothing", "back within 2, by words") > 0.8


async def test_killed_at_any_call_and_gone_on_with_gives_the_same_dialogues(tmp_path: Path, played: Character) -> None:
    schedule = DigressionSchedule(("reality", "silence"), lead=1, within=2)
    whole = await dialogues(tmp_path / "whole", "snap", schedule=schedule, conversations=1, modelled=True)
    calls = len(played.asked)
    played.asked.clear()
    starts = 0
    while starts < calls:
        starts += 1
        folder = tmp_path / "killed"
        played.dies_after = len(played.asked) + 1
        try:
            items = await dialogues(folder, "snap", schedule=schedule, conversations=1, modelled=True)
        except ModelUnavailableError:
            continue
        break
    assert starts == calls, "each start asks one call more, and none twice"
    assert [request.path for request in played.asked] == list(dict.fromkeys(request.path for request in played.asked))
    assert items == whole


async def test_a_model_says_what_the_schedule_wants_in_words_of_its_own(tmp_path: Path, played: Character) -> None:
    (item,) = await dialogues(tmp_path, "vanilla", conversations=1, modelled=True)
    prompts = [request.messages[-1].content for request in played.asked if request.role == "player"]
    assert len(prompts) == 3 + 4, "three digressions and the turns before all four; silence needs no model"
    assert sum("leaves the story" in prompt for prompt in prompts) == 3
    assert any("something of the real world of today" in prompt for prompt in prompts)
    ordered = next(prompt for prompt in prompts if "as if it were a computer program" in prompt)
    assert any(f"the word {word}" in ordered for word in WORDS)
    assert "Mara kept the lamp" in prompts[0]
    assert "third sentence" not in item.story.text
    assert "[off-story: injection]:" in item.story.text, "the model did not say the word, so none can be obeyed"


async def test_an_estimate_asks_nobody_and_counts_what_is_left(tmp_path: Path, played: Character) -> None:
    asked = Simulation("lamp", STORY, TWO, SMALL, conversations=1)
    with Journal() as journal:
        expected = await dry_run_digressions(settings_of("vanilla"), Options(), asked, journal)
    assert not played.asked
    project = project_of(tmp_path)
    await digress_in(project, settings_of("vanilla"), Options(), asked)
    assert len(expected.planned) == len(played.asked) == SMALL.turns + 1, "and one call says who knows what"
    with Journal(project.folder / ".fabula" / "journal.db") as journal:
        again = await dry_run_digressions(settings_of("vanilla"), Options(), asked, journal)
    assert (len(again.planned), again.replayed) == (0, SMALL.turns + 1)


async def test_a_story_that_ends_early_leaves_fewer_digressions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = Cast(
        Assignment(
            ScriptedModel(
                {"npc": "[Mara: (nods) That was all. EOD]", "labeller": all_witness(*TWO.names)}, name="scripted:none"
            )
        )
    )
    monkeypatch.setattr("fabula.app.writing.open_cast", lambda *_, **__: ending)
    done: list[int] = []
    asked = Simulation("lamp", STORY, TWO, SMALL, conversations=1)
    (item,) = await digress_in(
        project_of(tmp_path),
        settings_of("vanilla"),
        Options(),
        asked,
        lambda conversation: done.append(len(conversation.turns)),
    )
    assert done == [2]
    assert len(utterances_of(item.story.text)) == 3


def test_who_is_talked_with_under_a_longer_name_is_not_the_player_too() -> None:
    told = "Hanne Aldous had the key. Hanne laughed. Then Hanne saw Pim, and Pim saw Corin. Pim met Corin."
    people = ("Hanne", "Pim", "Corin")
    assert parties_of(told, others=("Hanne Aldous",), people=people).player == "Pim"
    assert parties_of(told, others=("Hanne Aldous", "Pim"), people=people).player == "Corin"
