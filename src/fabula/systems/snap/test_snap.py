"""SNAP against its paper: cells, the filter's arithmetic, the nine rules, summaries from cell to cell."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabula.base.errors import ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.bertscore.embedders import Letters
from fabula.craft.conversation import Conversation, Parties, open_conversation
from fabula.engine.events import Noted
from fabula.engine.journal import CallFilter, Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Reply
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.systems import find
from fabula.systems.snap import algorithm
from fabula.systems.snap.algorithm import Characters, opened, weighted_sums
from fabula.systems.snap.config import PUBLISHED, Paper
from fabula.systems.snap.improved import narrative_for
from fabula.systems.snap.learning import rank_one
from fabula.systems.snap.scores import min_max
from ground_truth import data_folder
from witnesses import marks_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.craft.bertscore.scoring import Embedder
    from fabula.craft.conversation import Talk, Turn
    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset
    from fabula.models.base import Request
    from fabula.story.personas import Personas

SYSTEM = find("snap")
TWO = Parties("Tobias", ("Mara",))
STORY = (
    "Mara kept the lamp of the lighthouse. The boy Tobias brought her a letter. She read it twice. It said the lamp "
    "was to go dark.\n\nOn Saturday the wind turned. Tobias asked Mara for the light. Mara lit the lamp. "
    "The boat came home."
)
PLANS = {
    1: "#1. Tobias brings Mara a letter\n- He has run.\n#2. Mara reads the letter twice\n- The lamp is to go dark.",
    2: "#1. The wind turns and Tobias asks for the light\n#2. Mara lights the lamp and the boat comes home",
}
LABELS = json.dumps(
    {
        "characters": [
            {"name": "Tobias", "traits": ["quick"], "background": "A boy of ten."},
            {"name": "Mara", "traits": ["stubborn"], "background": "She keeps the lamp."},
            {"name": "Neptune", "traits": [], "background": "A god of another story."},
        ]
    }
)


PRESETS: tuple[tuple[Preset, bool], ...] = (("faithful", False), ("improved", True))


def cell_of(request: Request) -> int:
    return int(request.path.split("cell-")[1][0])


def text_of(request: Request) -> str:
    return "\n\n".join(message.content for message in request.messages if message.role != "system")


@dataclass
class Troupe:
    """A model that plays all roles; `turns` are what Mara says, in turn, by cell."""

    turns: dict[int, list[str]] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    plan: Callable[[Request], str] = lambda request: PLANS[cell_of(request)]
    rate: Callable[[Request], str | Reply] = lambda _: "3"
    marks: Callable[[Request], str] = marks_of

    def __call__(self, request: Request) -> str | Reply:
        self.asked.append(request)
        prompt = request.path.rpartition("/")[2]
        if prompt == "answer":
            said = self.turns.get(cell_of(request), [])
            number = int(request.path.split("/turn/")[1].split("/")[0])
            draw = int(request.path.split("/again/")[1].split("/")[0]) if "/again/" in request.path else 0
            return said[number - 1 + draw] if number - 1 + draw < len(said) else f"(waits) Turn {request.path[-40:]}."
        if prompt == "plan":
            return self.plan(request)
        if request.role == "judge":
            return self.rate(request)
        if prompt == "witnesses":
            return self.marks(request)
        replies = {
            "label": LABELS,
            "summarise": f"Summary of cell {cell_of(request)}.",
            "play": "[Tobias: (nods) Go on, Mara, with the story.]",
        }
        return replies[prompt]

    def prompts(self, name: str) -> list[str]:
        """The messages of a prompt's calls without the system's."""
        return [text_of(request) for request in self.asked if request.path.endswith(f"/{name}")]


def prompts_of(preset: Preset) -> SystemPrompts:
    return SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)


async def open_talk(story: str, run: Run, config: Any, parties: Parties | None = None) -> Talk:  # noqa: ANN401 - its Config
    talk: Talk = await SYSTEM.program(config).open_talk(story, run, config, parties)
    return talk


async def conversation_of(
    troupe: Troupe,
    preset: Preset = "improved",
    story: str = STORY,
    parties: Parties = TWO,
    *,
    capabilities: Capabilities | None = None,
    aids: Aids = "auto",
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Conversation:
    journal = Journal()
    journal.open()
    context = RunContext(
        journal, prompts_of(preset), Cast.of(ScriptedModel(troupe, capabilities=capabilities)), aids=aids
    )
    settings_ = SYSTEM.config(preset, {"sentences": 4, "samples": 2, "candidates": 1} | config)
    return open_conversation(None, await open_talk(story, Run(context), settings_, parties), context)


# the filter ---------------------------------------------------------------------------------------------------------

TABLES = arrays(np.float64, st.tuples(st.integers(2, 12), st.just(3)), elements=st.floats(0, 1, width=32))


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_weights_are_the_first_right_singular_vector(table: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    _, values, right = np.linalg.svd(table)
    if values[0] < 1e-3 or values[1] > 0.99 * values[0]:  # no first one, or two that share the first place
        return
    expected = np.abs(right[0]) / np.abs(right[0]).sum()
    assert np.allclose(rank_one(table), expected, atol=1e-6)


def test_min_max_of_a_constant_column_is_zero() -> None:
    scores = np.array([[0.99, 3.0, 5.0], [0.97, 3.0, 1.0], [0.98, 3.0, 2.0]])
    assert np.allclose(min_max(scores), np.array([[1, 0, 1], [0, 0, 0], [0.5, 0, 0.25]]))


def test_the_sum_is_equation_1() -> None:
    scores = np.array([[0.99, 3.0, 5.0], [0.97, 4.0, 1.0]])
    assert np.allclose(weighted_sums(scores, PUBLISHED), [1.1618 + 1.4323, 1.4210])


def test_the_published_constants_are_the_preset() -> None:
    told = json.loads((data_folder("snap") / "published_seed003.json").read_text())
    component = np.array(told["nmf_first_component"], dtype=float)
    assert list(SYSTEM.config("faithful").paper.weights) == component.tolist()
    # Any table of rank one along the published component gives its shares back.
    table = np.outer(np.linspace(0.1, 1, 9), component)
    assert np.allclose(rank_one(table), np.array(told["sum_normalised"], dtype=float), atol=5e-5)


def test_weights_cannot_be_learned_from_plans_that_are_all_alike() -> None:
    with pytest.raises(UsageError, match="Weights need a table of scores, none below 0 and not all 0"):
        rank_one(min_max(np.ones((4, 3))))


async def test_the_plan_with_the_highest_sum_is_chosen() -> None:
    def plan(request: Request) -> str:
        number = int(request.path.split("/candidate/")[1].split("/")[0])
        return f"#1. Tobias brings the letter to Mara, plan {number}\n#2. Mara reads it"

    def rate(request: Request) -> str:
        best = "plan 2" in request.messages[-1].content
        return "5" if best else "2" if request.path.endswith("connectivity") else "not a score"

    troupe = Troupe(plan=plan, rate=rate)
    conversation = await conversation_of(troupe, "faithful", candidates=3, samples=20)
    await conversation.begin()
    assert conversation.plan[0].title.endswith("plan 2")
    judged = [request for request in troupe.asked if request.role == "judge"]
    assert len(judged) == 3 * 2 * 20
    sampling = judged[0].sampling
    assert (sampling.temperature, sampling.max_tokens, sampling.top_p) == (1.0, 1, 1.0)
    assert len({request.sampling.seed for request in judged}) == len(judged)


async def test_log_probabilities_stand_for_samples_where_the_engine_tells_them() -> None:
    def plan(request: Request) -> str:
        return f"#1. Tobias brings the letter, plan {request.path.split('/candidate/')[1][0]}\n#2. Mara reads it"

    def rate(request: Request) -> Reply:
        high = 0.9 if "plan 3" in request.messages[-1].content else 0.4
        return Reply("4", logprobs={"5": float(np.log(high)), "1": float(np.log(1 - high))})

    troupe = Troupe(plan=plan, rate=rate)
    able = Capabilities(logprobs=True, choices=True)
    conversation = await conversation_of(troupe, "faithful", candidates=3, scoring="auto", capabilities=able)
    await conversation.begin()
    assert conversation.plan[0].title.endswith("plan 3")
    judged = [request for request in troupe.asked if request.role == "judge"]
    assert len(judged) == 3 * 2
    assert all(request.logprobs and request.choices == ("1", "2", "3", "4", "5") for request in judged)


async def test_a_faithful_conversation_chooses_among_three_plans_where_weights_can_decide() -> None:
    troupe = Troupe(plan=lambda request: f"#1. Tobias brings it, in way {request.path.split('/candidate/')[1][0]}")
    candidates = SYSTEM.config("faithful").paper.candidates
    await (await conversation_of(troupe, "faithful", candidates=candidates)).begin()
    assert len(troupe.prompts("plan")) == 3
    assert len(set(troupe.prompts("plan"))) == 1, "drawn from one prompt"


async def test_a_person_who_talks_waits_for_one_plan_and_no_scores() -> None:
    troupe = Troupe()
    await (await conversation_of(troupe, candidates=3, samples=20)).say("Here is a letter.")
    assert len(troupe.prompts("plan")) == 1
    assert not [request for request in troupe.asked if request.role == "judge"]


def test_weights_decide_among_three_plans_and_hardly_ever_between_two() -> None:
    """Of two plans each score is 0 or 1 once it is normalised, so two criteria beat one whatever their weights."""
    rng = np.random.default_rng(1)
    for plans, least, most in ((2, 0, 100), (3, 300, 10_000)):
        near = rng.beta(8, 4, (10_000, plans, 1))
        judged = np.clip(rng.normal(4.2, 0.3, (10_000, 1, 1)) + rng.normal(0, 0.4, (10_000, plans, 2)), 1, 5)
        cells = np.concatenate([near, judged], axis=2)
        changed = sum(
            int(np.argmax(weighted_sums(cell, PUBLISHED)) != np.argmax(weighted_sums(cell, (1, 1, 1))))
            for cell in cells
        )
        assert least <= changed <= most, (plans, changed)


# a cell -------------------------------------------------------------------------------------------------------------


async def test_a_cell_sees_its_segment_its_persona_and_the_summary_before_and_no_more() -> None:
    troupe = Troupe({1: ["(looks) You ran.", "(reads) It goes dark. EOD"], 2: ["(counts) One is late."]})
    conversation = await conversation_of(troupe)
    await conversation.begin()
    await conversation.go_on()
    await conversation.go_on()
    assert conversation.where.cell == 2
    (first, *_), (*_, last) = troupe.prompts("answer"), troupe.prompts("answer")
    assert "# The story now, as far as Mara witnesses it\nMara kept" in first
    assert "brought her a letter" in first
    assert "the wind turned" not in first
    assert "# Before this" not in first
    assert "the wind turned" in last
    assert "brought her a letter" not in last
    assert "Summary of cell 1." in last
    assert "stubborn" in last
    assert "Summary of cell 1." in troupe.prompts("plan")[-1]


async def test_a_dry_run_counts_the_plans_of_those_whose_names_have_two_words() -> None:
    story = STORY.replace("Mara", "Mara Quist").replace("Tobias", "Tobias Holm")
    for preset, _ in PRESETS:
        with Journal() as journal:
            context = RunContext(journal, prompts_of(preset), Cast.of(ScriptedModel({})), mode="dry")
            config = SYSTEM.config(preset, {"sentences": 8, "player": "Tobias Holm", "npc": "Mara Quist", "samples": 1})
            await SYSTEM.write(Brief(story), Run(context), config)
        plans = [call.path for call in context.dry_run.planned if call.path.endswith("/plan")]
        assert len(plans) == 2 * 3, preset


async def test_two_conversations_share_labels_and_make_plans_of_their_own() -> None:
    troupe = Troupe()
    conversation = await conversation_of(troupe)
    other = open_conversation(None, conversation.talk, conversation.context)
    await conversation.begin()
    await other.begin()
    assert len(troupe.prompts("label")) == 1, "of the first cell; no cell is read ahead"


async def test_the_faithful_summary_holds_its_own_cell_and_the_improved_one_what_was_before_too() -> None:
    story = f"{STORY}\n\nOn Sunday it was calm. Mara slept. Tobias slept. The office wrote."
    PLANS[3] = "#1. Mara sleeps"
    for preset, held in PRESETS:
        troupe = Troupe()
        conversation = await conversation_of(troupe, preset, story)
        await conversation.begin()
        for _ in range(4):
            await conversation.go_on()
        assert ("Summary of cell 1." in troupe.prompts("summarise")[1]) is held


class Trained:
    """A summary model that follows no instructions, with DialogSum's tags in what it writes."""

    def __init__(self, context: int | None = 1024, unread: int = 0) -> None:
        self.able = Capabilities(instructed=False, context=context, sampling=frozenset({"max_tokens"}))
        self.read: list[Request] = []
        self.unread = unread
        self.model = ScriptedModel(self._summed, name="seq2seq:bart", capabilities=self.able)

    def _summed(self, request: Request) -> Reply:
        self.read.append(request)
        sent = {"unread": self.unread} if self.unread else {}
        return Reply("#Person1# tells #Person2# of the letter. #Person9# left.", sent=sent)


async def summed_by(trained: Trained, preset: Preset, troupe: Troupe, said: str) -> list[str]:
    """Three cells are talked through with this summary model; the notes that were left."""
    story = f"{STORY}\n\nOn Sunday it was calm. Mara slept. Tobias slept. The office wrote."
    PLANS[3] = "#1. Mara sleeps"
    noted: list[str] = []
    with Journal() as journal:
        cast = Cast(Assignment(ScriptedModel(troupe)), {"summariser": Assignment(trained.model)})
        listener = lambda event: noted.append(event.text) if isinstance(event, Noted) else None  # noqa: E731 - one line
        context = RunContext(journal, prompts_of(preset), cast, listeners=(listener,))
        config = SYSTEM.config(preset, {"sentences": 4, "samples": 2, "candidates": 1})
        conversation = open_conversation(None, await open_talk(story, Run(context), config, TWO), context)
        await conversation.begin()
        await conversation.say(said)
        for _ in range(3):
            await conversation.go_on()
    return noted


async def test_a_trained_summary_model_reads_the_dialogue_alone_and_tags_get_their_names() -> None:
    for preset, held in PRESETS:
        trained, troupe = Trained(), Troupe({1: ["(looks) You ran.", "(reads) Dark. EOD"], 2: ["(counts) One. EOD"]})
        await summed_by(trained, preset, troupe, "What\nletter?")
        first, second, *_ = trained.read
        assert [message.role for message in first.messages] == ["user"], "no system prompt"
        assert first.messages[0].content == "Mara: (looks) You ran.\nTobias: What letter?\nMara: (reads) Dark."
        summary = "Mara tells Tobias of the letter. #Person9# left."
        assert summary in troupe.prompts("answer")[-1]
        lines = second.messages[0].content.split("\n")
        assert (lines[0] == summary) is held
        assert "Mara: (counts) One." in lines
        assert not any("Sum up" in request.messages[0].content for request in trained.read)


async def test_a_trained_summary_model_without_room_reads_the_last_lines_and_says_so() -> None:
    notes = ""
    for context, unread in ((40, 0), (None, 7)):
        troupe = Troupe({1: ["(looks) You ran.", "(reads) It goes dark. EOD"], 2: ["(counts) One. EOD"]})
        trained = Trained(context, unread)
        notes += " ".join(await summed_by(trained, "improved", troupe, "What letter? " * 9))
        assert ("You ran" in trained.read[0].messages[0].content) is (context is None)
    assert "The summary model has room for the last 1 of 3 lines at" in notes
    assert "The summary model had no room for the first 7 tokens at" in notes


async def test_a_plan_reply_without_any_word_is_an_error_or_the_segment_stands_in() -> None:
    with pytest.raises(ReplyError, match=r"No plan could be read at .*cell-1/plan in 1 replies"):
        await (await conversation_of(Troupe(plan=lambda _: "---"), "faithful")).begin()
    conversation = await conversation_of(Troupe(plan=lambda _: "---"))
    await conversation.begin()
    assert conversation.plan[0].title == "Mara kept the lamp of the lighthouse. The boy Tobias brought her a letter."


async def test_a_plan_in_words_of_its_own_is_kept_whatever_words_the_segment_has() -> None:
    own = "#1. The lad turns up with mail for the keeper\n#2. She goes over it once more: no beacon any longer"
    conversation = await conversation_of(Troupe(plan=lambda _: own), aids="on")
    await conversation.begin()
    assert [step.title for step in conversation.plan] == [line[4:] for line in own.splitlines()]


async def test_a_plan_without_numbers_is_read() -> None:
    conversation = await conversation_of(
        Troupe(plan=lambda _: "Tobias brings Mara the letter. Mara reads the letter twice.")
    )
    await conversation.begin()
    assert [step.title for step in conversation.plan] == [
        "Tobias brings Mara the letter.",
        "Mara reads the letter twice.",
    ]


# turns --------------------------------------------------------------------------------------------------------------


async def test_eod_in_the_first_turn_does_not_end_the_cell() -> None:
    for preset, _ in PRESETS:
        conversation = await conversation_of(Troupe({1: ["(looks) You ran. EOD"]}), preset)
        turn = await conversation.begin()
        assert not turn.ends_cell
        assert turn.line is not None
        assert turn.line.text == "(looks) You ran."


async def test_eod_ends_a_cell_wherever_the_plan_stands() -> None:
    said = {1: ["(looks) You ran.", "(nods) So it is said. EOD"]}
    for preset, _ in PRESETS:
        assert (await after(await conversation_of(Troupe(said), preset), "Hm, what now?")).ends_cell


async def after(conversation: Conversation, message: str) -> Turn:
    await conversation.begin()
    return await conversation.say(message)


async def test_the_plan_goes_on_by_the_words_of_a_turn_and_a_plan_that_stalls_moves_on() -> None:
    conversation = await conversation_of(
        Troupe({1: ["(looks) You ran.", "(reads the letter twice) The lamp is to go dark."]})
    )
    turn = await after(conversation, "Read the letter, Mara!")
    assert (turn.step, conversation.where.step) == (1, 2)
    conversation = await conversation_of(Troupe({1: ["(looks) Hm.", "(smiles) Ha."]}), turns_per_step=2)
    await after(conversation, "Cats.")
    assert conversation.where.step == 2
    for _ in range(2):
        await conversation.say("Cats.")
    assert conversation.turns[-1].ends_cell


async def test_freedom_changes_the_first_rule() -> None:
    rules = {"rails": "you set aside", "guided": "you bring it back to the story", "loose": "You may follow the player"}
    for freedom, rule in rules.items():
        troupe = Troupe()
        await (await conversation_of(troupe, freedom=freedom)).begin()
        assert rule in troupe.prompts("answer")[0]


async def test_what_cannot_be_used_is_drawn_again_warmer_and_at_last_nobody_else_s_deed_stands_in() -> None:
    troupe = Troupe({1: ["As a language model I do not play.", "(looks) You ran up all the stairs."]})
    conversation = await conversation_of(troupe)
    turn = await conversation.begin()
    assert turn.line is not None
    assert turn.line.message == "You ran up all the stairs."
    draws = [request.sampling.temperature for request in troupe.asked if request.role == "npc"]
    assert draws == [0.3, 0.6]
    conversation = await conversation_of(Troupe({1: ["", "", "", ""]}))
    turn = await conversation.begin()
    assert turn.line is not None
    assert turn.line.text == "(listens)", "what the plan says next is what Tobias does"


async def test_a_turn_that_leaves_its_part_ends_there_and_was_shown_so() -> None:
    troupe = Troupe({1: ["[Mara: (looks up) You ran up. As an AI I do not play.]", "[Mara: It is another.]"]})
    shown: list[str] = []
    turn = await (await conversation_of(troupe)).begin(shown.append)
    assert turn.line is not None
    assert turn.line.text == "(looks up) You ran up." == "".join(shown)
    assert len([request for request in troupe.asked if request.role == "npc"]) == 1


async def test_a_model_that_cannot_tell_a_deed_is_led_into_speech() -> None:
    leads: list[str] = []

    def said(request: Request) -> str:
        if request.role != "npc":
            return str(Troupe()(request))
        leads.append(request.messages[-1].content)
        replies = (
            "1) 7/8]",
            'You ran, Tobias." she said.\n[Tobias: (nods) Yes.]',
            "It goes dark\u201d",
            'Dark." EOD',
        )
        return replies[len(leads) - 1]

    conversation = await conversation_of(said, capabilities=Capabilities(continues=True), aids="on")  # type: ignore[arg-type] # a troupe of one
    turns = [await conversation.begin(), await conversation.say("What letter?"), await conversation.say("Why?")]
    assert [turn.line.text for turn in turns if turn.line] == ["You ran, Tobias.", "It goes dark", "Dark."]
    assert leads == ["[Mara: (", 'Mara: "', 'Mara: "', 'Mara: "']
    assert turns[-1].ends_cell, "EOD behind the mark counts"


async def test_a_turn_is_whole_and_with_aids_one_sentence() -> None:
    said = {1: ["(looks) You ran up all the stairs. Sit down. What is it?"]}
    texts: dict[Aids, str] = {"on": "You ran up all the stairs.", "off": said[1][0].partition(") ")[2]}
    for aids, text in texts.items():
        troupe = Troupe(said)
        turn = await (await conversation_of(troupe, aids=aids)).begin()
        assert turn.line is not None
        assert turn.line.message == text
        assert {r.sampling.max_tokens for r in troupe.asked if r.role == "npc"} == {96 if aids == "on" else None}


async def test_a_capable_model_may_repeat_itself_act_without_words_and_plan_at_length() -> None:
    long = "Night after night the lamp burned, and night after night I counted the boats. " * 9
    turns = [f"(counts) {long}", f"(counts) {long}", "(looks out at the sea for a long time)"]
    points = "\n".join(f"#{n}. What happens in point {n}\n- It is the dragon." for n in range(1, 13))
    troupe = Troupe({1: turns}, plan=lambda _: points)
    conversation = await conversation_of(troupe, turns_per_step=0)
    found = [await conversation.begin(), await conversation.say("And?"), await conversation.say("And then?")]
    assert [turn.line.text for turn in found if turn.line] == [" ".join(turn.split()) for turn in turns]
    assert len(conversation.plan) == 12
    assert not [request for request in troupe.asked if "/again/" in request.path]
    assert {r.sampling.max_tokens for r in troupe.asked} == {None}


async def test_prompts_of_a_cell_begin_alike_and_are_bounded() -> None:
    troupe = Troupe()
    conversation = await conversation_of(troupe, aids="on", turns_per_step=0)
    await conversation.begin()
    for number in range(70):
        await conversation.say(f"{number} " + "I ask you about the light on the cape once more. " * 3)
    prompts = troupe.prompts("answer")
    assert max(map(len, prompts)) < 10_000
    assert len("".join(turn.said for turn in conversation.turns)) > 10_000
    asked = [request.messages for request in troupe.asked if request.role == "npc"]
    assert len({messages[0] for messages in asked}) == 1
    heads = {messages[1].content.partition("You speak first.")[0] for messages in asked}
    assert len(heads) == 1


# who talks ----------------------------------------------------------------------------------------------------------


async def test_who_is_not_in_the_story_cannot_talk() -> None:
    with pytest.raises(UsageError, match="The story does not name 'Batman'"):
        await conversation_of(Troupe(), parties=Parties("Batman", ("Mara",)))


async def test_a_narrative_without_characters_has_nobody_to_talk_with() -> None:
    model = ScriptedModel(lambda _: '{"people": [], "characters": [{"name": "Batman"}]}')
    journal = Journal()
    with journal:
        context = RunContext(journal, prompts_of("improved"), Cast.of(model), aids="on")
        with pytest.raises(UsageError, match=r"characters of this story are unknown.*--as and --with"):
            await open_talk("It rained. The sea rose.", Run(context), SYSTEM.config("improved"))
        with pytest.raises(UsageError, match="The narrative has no sentence"):
            await open_talk("  ", Run(context), SYSTEM.config("improved"))


async def test_a_father_and_his_daughter_of_one_name_talk_with_each_other() -> None:
    troupe = Troupe()
    story = "Mr. Bennet reads alone. Elizabeth Bennet hides a letter. Mr. Bennet calls. Elizabeth Bennet comes."
    conversation = await conversation_of(
        troupe, story=story, parties=Parties("Elizabeth Bennet", ("Mr. Bennet",)), aids="on"
    )
    await conversation.begin()
    assert "hides a letter" not in troupe.prompts("answer")[0], "he is not named where she is"
    with pytest.raises(UsageError, match="are the same"):
        await conversation_of(Troupe(), parties=Parties("Mara", ("the Mara",)))


async def test_labels_of_one_family_are_all_kept() -> None:
    names = ("Elizabeth Bennet", "Mr. Bennet", "Elizabeth Bennet")
    people = [{"name": name, "traits": [], "background": "of Longbourn" * 9} for name in names]
    model = ScriptedModel({"labeller:label": json.dumps({"characters": people})})
    with Journal() as journal:
        run = Run(RunContext(journal, prompts_of("faithful"), Cast.of(model)))
        found = await Characters(["They met."]).of(run, 1)
    assert list(found.names) == ["Elizabeth Bennet", "Mr. Bennet"]


async def labelled(journal: Journal, people: list[dict[str, Any]]) -> Personas:
    """The characters of a cell, from a labeller's reply, read again from the journal."""
    for _ in range(2):
        model = ScriptedModel({"labeller:label": json.dumps({"characters": people})})
        run = Run(RunContext(journal, prompts_of("faithful"), Cast.of(model)))
        with run.context.recording_failures():
            found = await Characters(["They met."]).of(run, 1)
    return found


@pytest.mark.parametrize("names", [["Mr Bennet", "Mr. Bennet", "mr bennet"], [f"Soldier {n}" for n in range(60)]])
async def test_labels_that_many_or_alike_can_be_read_again(names: list[str]) -> None:
    with Journal() as journal:
        found = await labelled(journal, [{"name": name, "background": "He came."} for name in names])
    assert len(found.names) in {1, 50}


async def test_labels_that_could_not_be_read_again_are_asked_for_anew_by_the_same_command() -> None:
    with Journal() as journal:
        with pytest.raises(ReplyError, match=r"The personas made at .* cannot be used: .*The same command asks again"):
            await labelled(journal, [{"name": "Mara", "background": "word " * 2000}])
        assert (await labelled(journal, [{"name": "Mara", "background": "She came."}])).names == ("Mara",)


async def test_a_capable_planner_may_make_as_many_points_as_it_wants() -> None:
    long = "\n".join(f"#{number}. Point {number}" for number in range(1, 91))
    conversation = await conversation_of(Troupe(plan=lambda _: long), aids="off")
    await conversation.begin()
    assert len(conversation.plan) == 90


async def test_the_agent_keeps_to_itself_and_to_time_and_place() -> None:
    troupe = Troupe()
    await (await conversation_of(troupe, "faithful")).begin()
    assert "against who Mara is, or against the time and the place" in troupe.prompts("answer")[0]  # section 4.5
    assert "# The story now\nMara kept the lamp" in troupe.prompts("answer")[0]


async def test_the_faithful_turn_stands_whatever_it_says_as_nothing_is_drawn_again() -> None:
    for said in ("Is that the script line? You ran.", "(looks up) Well, as an AI I do not play."):
        turn = await (await conversation_of(Troupe({1: [f"[Mara: {said}]"]}), "faithful")).begin()
        assert turn.line is not None
        assert turn.line.text == said


async def test_rule_9_is_the_papers_and_improved_has_the_last_point_talked_through() -> None:
    rules: dict[Preset, str] = {
        "faithful": "\n9. When you think that the talk has reached the last point of the plan, you stop playing",
        "improved": "\n9. When the talk has reached the last point and is done with it, you stop playing",
    }
    for preset, rule in rules.items():
        troupe = Troupe()
        await (await conversation_of(troupe, preset)).begin()
        assert rule in troupe.prompts("answer")[0]


async def test_the_filters_judge_reads_its_instructions_and_comes_back_to_them() -> None:
    troupe = Troupe(plan=lambda request: f"#1. Tobias brings it, in way {request.path.split('/candidate/')[1][0]}")
    await (await conversation_of(troupe, "faithful", candidates=2)).begin()
    for name in ("connectivity", "personality"):  # Tables 6 and 7
        assert "until you understand them, and come back to them while you judge" in troupe.prompts(name)[0]


async def test_a_narrative_of_one_sentence_can_be_talked_through() -> None:
    conversation = await conversation_of(Troupe(), story="Mara gave Tobias the lamp.")
    assert conversation.where.cells == 1
    assert (await conversation.begin()).line is not None


async def test_the_authors_personas_hold_before_labels() -> None:
    troupe = Troupe()
    with Journal() as journal:
        journal.decisions.add("personas", "edit", "personas:\n  - name: Mara\n    description: Seventy and tired.\n")
        context = RunContext(journal, prompts_of("improved"), Cast.of(ScriptedModel(troupe)))
        config = SYSTEM.config("improved", {"sentences": 4, "candidates": 1})
        conversation = open_conversation(None, await open_talk(STORY, Run(context), config, TWO), context)
        await conversation.begin()
    assert "Seventy and tired." in troupe.prompts("answer")[0]
    assert "stubborn" not in troupe.prompts("answer")[0]


async def test_a_character_knows_only_what_it_witnessed() -> None:
    three = Parties("Tobias", ("Mara", "Jonas"))
    story = "Mara, Jonas and Tobias stood on the quay. Jonas and Mara and Tobias waited."
    troupe = Troupe(plan=lambda _: "#1. Mara and Jonas and Tobias stand on the quay and wait")
    conversation = await conversation_of(
        troupe, story=story + " " + story, sentences=2, parties=three, turns_per_step=0
    )
    await conversation.begin()
    await conversation.set_present(["Mara"])
    await conversation.say("The secret is under the third stair.")
    await conversation.set_present(["Mara", "Jonas"])
    await conversation.say("Jonas, what do you say?")
    last = text_of(troupe.asked[-1])
    assert "# Jonas" in last
    assert "third stair" not in last
    assert "Jonas, what do you say?" in last
    await conversation.go_on()
    summaries = troupe.prompts("summarise")
    assert len(summaries) == 2
    assert [("third stair" in text) for text in summaries] == [True, False]


async def test_a_retry_has_those_who_were_there_in_its_own_turn() -> None:
    three = Parties("Tobias", ("Mara", "Jonas"))
    story = "Mara, Jonas and Tobias stood on the quay. Jonas and Mara and Tobias waited. " * 2
    troupe = Troupe(plan=lambda _: "#1. Mara and Jonas and Tobias stand on the quay and wait")
    conversation = await conversation_of(troupe, story=story, parties=three, turns_per_step=0)
    await conversation.begin()
    await conversation.set_present(["Mara"])
    await conversation.say("The secret is under the third stair.")
    await conversation.set_present(["Mara", "Jonas"])
    turn = await conversation.retry()
    assert turn.line is not None
    assert turn.line.witnesses == ("Tobias", "Mara")
    assert "Not here, and hearing nothing of what is said: Jonas." in text_of(troupe.asked[-1])
    assert conversation.state.present == ("Mara", "Jonas"), "who was called in since is there again"
    await conversation.say("Jonas, what do you say?")
    last = text_of(troupe.asked[-1])
    assert "# Jonas" in last
    assert "third stair" not in last
    assert "Here now: Jonas, Tobias, Mara." in last
    assert troupe.asked[-1].messages[0].content.startswith("You play Jonas in a story, and the player plays Tobias.")


async def test_marks_of_the_author_decide_who_knows_and_bad_ones_say_where() -> None:
    marks = '- sentence: "The boy Tobias brought her a letter."\n  witnesses: [Tobias]\n'
    for text, problem in (
        (marks, ""),
        ("a: 1\n", "this is not a list"),
        ("- sentence: x\n", "needs a `sentence` and a list"),
    ):
        troupe = Troupe()
        with Journal() as journal:
            journal.decisions.add("cell-1/witnesses", "edit", text)
            context = RunContext(journal, prompts_of("improved"), Cast.of(ScriptedModel(troupe)))
            config = SYSTEM.config("improved", {"sentences": 4, "candidates": 1})
            conversation = open_conversation(None, await open_talk(STORY, Run(context), config, TWO), context)
            if problem:
                with pytest.raises(UsageError, match=rf"plan/cell-1-witnesses\.yaml.*{problem}"):
                    await conversation.begin()
            else:
                await conversation.begin()
                assert "brought her a letter" not in "".join(troupe.prompts("answer") + troupe.prompts("plan"))
                assert "She read it twice." in troupe.prompts("answer")[0]


async def test_the_dialogue_comes_as_messages_of_a_chat() -> None:
    for preset, _ in PRESETS:
        troupe = Troupe({1: ["(looks) You ran.", "(nods) Well.", "(waits) Hm."]})
        conversation = await conversation_of(troupe, preset, aids="off")
        await conversation.begin()
        await conversation.say("What now?")
        system, prompt, first, said = troupe.asked[-1].messages
        assert [system.role, prompt.role, first.role, said.role] == ["system", "user", "assistant", "user"]
        assert first.content == "[Mara: (looks) You ran.]"
        assert said.content.startswith("What now?")
        assert "You ran." not in prompt.content
        assert ("Write Mara's next turn" in said.content) is (preset == "improved")
        await conversation.go_on()
        assert troupe.asked[-1].messages[-1].content.partition("\n")[0] == "."


async def test_a_sentence_that_a_reply_leaves_out_is_asked_about_again() -> None:
    def marks(request: Request) -> str:
        found = json.loads(marks_of(request, lambda said: ["Tobias"] if "hides" in said else ["Mara", "Tobias"]))
        again = "/again/" in request.path
        found["sentences"] = [one for one in found["sentences"] if again or one["sentence"] != 2]
        return json.dumps(found)

    troupe = Troupe(marks=marks)
    conversation = await conversation_of(
        troupe, story="Mara waits. Tobias hides a letter from Mara. He sits down. Mara talks."
    )
    await conversation.begin()
    assert "hides a letter" not in "".join(troupe.prompts("answer") + troupe.prompts("plan"))
    assert len(troupe.prompts("witnesses")) == 2


async def test_a_sentence_that_edited_marks_do_not_hold_is_read_by_the_model() -> None:
    troupe = Troupe(marks=lambda request: marks_of(request, lambda said: ["Tobias"] if "hides" in said else ["Mara"]))
    with Journal() as journal:
        journal.decisions.add("cell-1/witnesses", "edit", '- sentence: "Mara waits."\n  witnesses: [Mara, Tobias]\n')
        context = RunContext(journal, prompts_of("improved"), Cast.of(ScriptedModel(troupe)), aids="off")
        config = SYSTEM.config("improved", {"sentences": 4, "candidates": 1})
        story = "Mara waits. Tobias hides a letter from Mara."
        await open_conversation(None, await open_talk(story, Run(context), config, TWO), context).begin()
    assert "hides a letter" not in "".join(troupe.prompts("answer") + troupe.prompts("plan"))


async def test_small_models_are_not_asked_who_witnesses_what() -> None:
    troupe = Troupe()
    conversation = await conversation_of(troupe, aids="on")
    await conversation.begin()
    assert not troupe.prompts("witnesses")
    kept = conversation.context.journal.artefacts.newest("cell-1/witnesses")
    assert kept is not None
    assert '- sentence: "Mara kept the lamp of the lighthouse."\n  witnesses: ["Mara"]' in kept


async def test_marks_that_cannot_be_read_give_way_to_who_is_named() -> None:
    conversation = await conversation_of(Troupe(marks=lambda _: "no idea"))
    await conversation.begin()
    kept = conversation.context.journal.artefacts.newest("cell-1/witnesses")
    assert kept is not None
    assert 'witnesses: ["Mara"]' in kept


# the automatic mode -------------------------------------------------------------------------------------------------


async def test_two_agents_turn_a_narrative_into_a_dialogue() -> None:
    troupe = Troupe({1: ["(looks) You ran.", "(reads it twice) It is to go dark. EOD"], 2: ["(waits) One is late."]})
    with Journal() as journal:
        context = RunContext(journal, prompts_of("faithful"), Cast.of(ScriptedModel(troupe)))
        config = SYSTEM.config(
            "faithful", {"sentences": 4, "candidates": 1, "player": "Tobias", "npc": "Mara", "max_turns": 2}
        )
        story = await SYSTEM.write(Brief(STORY, "The Lamp"), Run(context), config)
    assert [scene.label for scene in story.scenes] == ["cell-1/dialogue", "cell-2/dialogue"]
    assert story.scenes[0].text == (
        "Mara: (looks) You ran.\n\nTobias: (nods) Go on, Mara, with the story.\n\n"
        "Mara: (reads it twice) It is to go dark."
    )


async def test_each_of_two_agents_has_a_plan_and_may_end_the_dialogue() -> None:
    troupe = Troupe({1: ["(looks) You ran.", "(reads) Hm.", "(reads) Hm, hm."]})
    play = "[Tobias: (nods) That is all, Mara.] EOD"
    script = lambda request: play if request.path.endswith("/play") else troupe(request)  # noqa: E731 - one line
    with Journal() as journal:
        context = RunContext(journal, prompts_of("faithful"), Cast.of(ScriptedModel(script)))
        options = {"sentences": 8, "candidates": 1, "player": "Tobias", "npc": "Mara", "samples": 1}
        story = await SYSTEM.write(Brief(STORY), Run(context), SYSTEM.config("faithful", options))
        plans = {path: journal.artefacts.newest(path) for path in journal.artefacts.paths() if path.endswith("plan")}
        played = journal.calls.find(CallFilter(under="cell-1/dialogue/turn/2/play"), prompts=True)
    assert set(plans) == {"cell-1/plan", "cell-1/player-plan"}
    for name, other, prompt in zip(("Mara", "Tobias"), ("Tobias", "Mara"), troupe.prompts("plan"), strict=True):
        assert f"from the point of view of {name}" in prompt
        assert f"in which the player, as {other}, talks with {name}" in prompt
    assert story.scenes[0].text == "Mara: (looks) You ran.\n\nTobias: (nods) That is all, Mara."
    text = "\n".join(content for _, content in played[0].messages)
    assert "You play Tobias in a story, and the player plays Mara." in text
    assert "# Your plan" in text
    assert "\n9. When " in text


async def test_faithful_measures_coherence_by_bertscore_where_it_is_there_and_says_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def noted(paper: Paper) -> tuple[Paper, list[str]]:
        notes: list[str] = []
        with Journal() as journal:
            listener = lambda event: notes.append(event.text) if isinstance(event, Noted) else None  # noqa: E731 - one line
            context = RunContext(journal, prompts_of("faithful"), Cast.of(ScriptedModel({})), listeners=(listener,))
            return asyncio.run(opened(Run(context), paper)), notes

    def missing(*_: object, **__: object) -> Embedder:
        raise UsageError("BERTScore needs the package torch.")

    paper = replace(SYSTEM.config("faithful").paper, coherence_model="one")
    assert paper.coherence == "auto"
    assert SYSTEM.config("improved").paper.coherence == "words"
    monkeypatch.setattr(algorithm, "open_embedder", lambda *_, **__: Letters())
    found, notes = await asyncio.to_thread(noted, paper)
    assert (found.coherence, notes) == ("bertscore", [])
    paper = replace(paper, coherence_model="another")  # what was opened once stays open
    monkeypatch.setattr(algorithm, "open_embedder", missing)
    found, notes = await asyncio.to_thread(noted, paper)
    assert found.coherence == "words"
    (note,) = notes
    assert note.startswith(
        "The coherence of plans is measured by words, not by BERTScore as in the paper. BERTScore needs"
    )


async def test_an_edited_dialogue_is_what_is_summed_up() -> None:
    troupe = Troupe()
    with Journal() as journal:
        journal.decisions.add("cell-1/dialogue", "edit", "Mara: (laughs) Burn the letter.\n\nTobias: Never!")
        context = RunContext(journal, prompts_of("improved"), Cast.of(ScriptedModel(troupe)))
        config = SYSTEM.config("improved", {"sentences": 4, "candidates": 1, "player": "Tobias", "npc": "Mara"})
        await SYSTEM.write(Brief(STORY), Run(context), config)
    (summed,) = troupe.prompts("summarise")
    assert "Mara: (laughs) Burn the letter." in summed
    assert "Tobias: Never!" in summed


# what a capable model replies ---------------------------------------------------------------------------------------

THREE = "#1. Tobias gives his name\n#2. Tobias brings the letter\n#3. Mara reads the letter twice"


async def retold(script: Callable[[Request], str | Reply], preset: Preset = "improved", **config: Any) -> Retold:  # noqa: ANN401 - fields of Config
    """The whole narrative between two models, without aids."""
    noted: list[str] = []
    with Journal() as journal:
        listener = lambda event: noted.append(event.text) if isinstance(event, Noted) else None  # noqa: E731 - one line
        context = RunContext(
            journal, prompts_of(preset), Cast.of(ScriptedModel(script)), aids="off", listeners=(listener,)
        )
        options = {"sentences": 4, "candidates": 1, "samples": 1, "player": "Tobias", "npc": "Mara"} | config
        story = await SYSTEM.write(Brief(STORY), Run(context), SYSTEM.config(preset, options))
        kept = {path: journal.artefacts.newest(path) or "" for path in journal.artefacts.paths()}
    return Retold(story.scenes[0].text, story.words, kept, noted)


@dataclass
class Retold:
    """What came of it: the first cell's text, the story's words, what was kept, and the notes."""

    first: str
    words: int
    kept: dict[str, str]
    notes: list[str]


async def test_a_turn_has_one_to_three_sentences_and_nothing_of_it_is_lost() -> None:
    quoted = '"Leave it," he said, and *left*; I never knew why he said "no" to it.'
    reply = f"Good morning. (dusts her hands) {quoted} So: *Sk\u00e5l*"
    troupe = Troupe({1: [f"[Mara: {reply}]"]})
    turn = await (await conversation_of(troupe, aids="off")).begin()
    assert turn.line is not None
    assert turn.line.text == reply
    asked = troupe.prompts("answer")[0]
    assert "one to three sentences of speech" in asked
    assert "may be left out where nothing is done" in asked
    troupe = Troupe()
    await (await conversation_of(troupe, "faithful")).begin()
    assert "Your turn has this form, and is one sentence:" in troupe.prompts("answer")[0]


def _numbered(request: Request) -> list[tuple[str, str]]:
    return re.findall(r"^(\d+)\. (.+)$", request.messages[-1].content, re.MULTILINE)


async def test_an_authors_secret_is_shown_to_its_own_player_alone_in_every_preset() -> None:
    sheet = "personas:\n  - name: Mara\n    description: Seventy.\n    secret: She let the lamp go out once.\n"
    for preset, _ in PRESETS:
        troupe = Troupe()
        with Journal() as journal:
            journal.decisions.add("personas", "edit", sheet)
            context = RunContext(journal, prompts_of(preset), Cast.of(ScriptedModel(troupe)))
            config = SYSTEM.config(preset, {"sentences": 4, "candidates": 1})
            conversation = open_conversation(None, await open_talk(STORY, Run(context), config, TWO), context)
            await conversation.begin()
            await conversation.play()
        assert "let the lamp go out once" in troupe.prompts("answer")[0]
        assert "let the lamp go out once" not in troupe.prompts("play")[0]


async def test_whoever_ends_a_cell_has_the_last_word() -> None:
    for preset, _ in PRESETS:
        assert (await retold(Troupe({1: ["You ran.", "It goes dark.\nEOD"]}), preset)).first.endswith(
            "Mara: It goes dark."
        )


async def test_a_conversation_that_stops_at_its_limit_says_so_in_its_file_and_in_a_note() -> None:
    made = await retold(Troupe({1: ["You ran."] * 9}, plan=lambda _: THREE), max_turns=3)
    stop = "The conversation stopped at point 1 of 3 of its plan, after the 3 exchanges that it may have (max_turns)."
    assert made.kept["cell-1/dialogue"].endswith(f"\n\n<!-- {stop} -->")
    assert f"{stop} (cell-1/dialogue)" in made.notes
    assert "max_turns" not in made.first
    assert "max_turns" not in "".join(text for path, text in made.kept.items() if "summary" in path)
    assert "max_turns" not in (await retold(Troupe({1: ["A.", "B.\nEOD"]}))).kept["cell-1/dialogue"]


async def test_the_mark_of_a_cell_is_no_word_of_a_conversation() -> None:
    conversation = await conversation_of(Troupe({1: ["You ran."]}), aids="off")
    await conversation.begin()
    assert Story.parse(conversation.transcript).words == 3, "Mara: You ran."


async def test_a_story_of_a_capable_model_takes_no_more_calls_than_turns_and_their_answers() -> None:
    ends = ["You ran.", "It goes dark.\nEOD"]
    troupe = Troupe({1: ends, 2: ends})
    await retold(troupe, candidates=3)
    count = Counter(request.path.rpartition("/")[2] for request in troupe.asked)
    called = {"label": 2, "witnesses": 2, "plan": 12, "answer": 4, "play": 2, "summarise": 1}
    assert count == called, "three plans for each agent and cell"


# a writing task instead of a narrative ------------------------------------------------------------------------------

TASK = Brief(
    "A story of about 450 words, told by the postwoman Ada. It is from Lukas, in prison, to Mila. The secret is kept.",
    title="Return to Sender",
)


async def test_a_writing_task_is_no_narrative() -> None:
    model = ScriptedModel(lambda _: json.dumps({"narrative": STORY}))
    with Journal() as journal:
        run = Run(RunContext(journal, prompts_of("improved"), Cast.of(model)))
        assert await narrative_for(TASK, run) == STORY
        assert journal.artefacts.newest("narrative") == STORY
    (asked,) = model.asked
    assert "Title: Return to Sender" in text_of(asked)
    assert "Write about 450 words, between 405 and 495." in text_of(asked)


@pytest.mark.parametrize("name", ["snap", "vanilla"])
async def test_the_paper_takes_a_writing_task_for_a_narrative_and_a_note_says_so(name: str) -> None:
    noted: list[str] = []
    with Journal() as journal:
        listeners = [lambda event: noted.append(event.text) if isinstance(event, Noted) else None]
        context = RunContext(journal, prompts_of("faithful"), Cast.of(ScriptedModel({})), listeners=listeners)
        assert await find(name).algorithm.narrative_of(Run(context), TASK) == TASK.text
    assert any("Write the narrative that must be talked through into plan/narrative.md" in note for note in noted)


async def test_what_is_a_narrative_or_is_given_as_one_is_not_asked_for() -> None:
    itself = ScriptedModel(lambda _: '{"narrative": ""}')
    with Journal() as journal:
        run = Run(RunContext(journal, prompts_of("improved"), Cast.of(itself)))
        assert await narrative_for(TASK, run) == TASK.text
    silent = ScriptedModel({})
    with Journal() as journal:
        run = Run(RunContext(journal, prompts_of("improved"), Cast.of(silent)))
        assert await narrative_for(Brief(STORY), run) == STORY
        journal.decisions.add("narrative", "edit", STORY)
        assert await narrative_for(TASK, run) == STORY
    assert silent.asked == []
