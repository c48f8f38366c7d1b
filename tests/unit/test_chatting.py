"""Conversations: every move, what the log keeps of it, and what a kill leaves."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import pytest

from fabula.base.errors import ModelError, ProjectError, UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.conversation import Freedom, Log, Parties, SubPlan, log_file, open_conversation
from fabula.craft.conversation.lines import SpokenLine, latest_lines, plan_text
from fabula.craft.conversation.log import conversations_in
from fabula.craft.conversation.talk import next_step
from fabula.craft.conversation.turns import Hearing, is_new
from fabula.engine.events import TextArrived
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies.dialogue import SpokenTurn
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Reply
from fabula.systems import find
from fabula.systems.snap.improved import open_talk, turns_allowed
from witnesses import marks_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.craft.conversation import Conversation
    from fabula.models.base import OnText, Request

STORY = (
    "Mara kept the lamp. Tobias brought Mara a letter. Mara read it twice. The lamp was to go dark. "
    "The wind turned. Tobias asked Mara for light. Mara lit the lamp. The boat came home."
)
PLAN = "#1. Tobias brings Mara a letter\n#2. Mara reads it twice, and the lamp is to go dark"
SECOND = "#1. The wind turns and Tobias asks for light\n#2. Mara lights the lamp, and the boat comes home"
TWO = Parties("Tobias", ("Mara",))
SNAP = find("snap")


@dataclass
class Engine:
    """A scripted model that can be told to fail, and that gives its replies in pieces."""

    fails: bool = False
    asked: list[Request] = field(default_factory=list)
    name: str = "engine"
    identity: str = "engine"
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(parallel=64))

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        await asyncio.sleep(0)
        if self.fails:
            raise ModelError("The engine is down.", model=self.name)
        self.asked.append(request)
        text = self.text(request)
        for piece in text.split(" "):
            if on_text is not None:
                on_text(f"{piece} ")
        return Reply(text, model=self.identity)

    def text(self, request: Request) -> str:
        if request.path.endswith("/witnesses"):
            return marks_of(request)
        if request.role == "labeller":
            return '{"characters": [{"name": "Tobias"}, {"name": "Mara"}, {"name": "Jonas"}]}'
        if request.role == "planner":
            return SECOND if "The wind turned" in request.messages[-1].content else PLAN
        if request.role == "summariser":
            return "Tobias brought a letter."
        said = f"number {len(str(request.messages))} seed {request.sampling.seed}"
        return f"[Mara: (counts) This is {said}, and nothing but that.]"

    async def close(self) -> None:
        """Nothing is held."""


@dataclass
class Stage:
    """A folder, its journal, an engine; `open` gives the conversation of its log."""

    folder: Path
    journal: Journal
    engine: Engine = field(default_factory=Engine)

    async def open(self, name: str = "evening", parties: Parties = TWO, story: str = STORY) -> Conversation:
        context = RunContext(
            self.journal, SystemPrompts(SNAP.prompt_folders("improved"), common=PROMPTS), Cast.of(self.engine)
        )
        config = SNAP.config("improved", {"sentences": 4, "candidates": 1, "turns_per_step": 2})
        talk = await open_talk(story, Run(context), config, parties)
        return open_conversation(Log.at(self.folder, name), talk, context)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    with Journal(tmp_path / "journal.db") as journal:
        yield Stage(tmp_path, journal)


# moves --------------------------------------------------------------------------------------------------------------


async def test_a_conversation_goes_through_the_story(stage: Stage) -> None:
    conversation = await stage.open()
    assert conversation.where.share == 0.0
    turn = await conversation.begin()
    assert (turn.number, turn.cell, turn.step, turn.said) == (1, 1, 1, "")
    assert await conversation.begin() == turn
    seen = [(turn.cell, turn.step, turn.ends_cell)]
    while not conversation.state.over:
        turn = await conversation.say("And what then?")
        seen.append((turn.cell, turn.step, turn.ends_cell))
    assert seen == [
        (1, 1, False), (1, 1, False), (1, 2, False), (1, 2, True),
        (2, 1, False), (2, 1, False), (2, 2, False), (2, 2, True),
    ]  # fmt: skip
    assert conversation.where.share == 1.0
    with pytest.raises(UsageError, match=r"The story is over\. Type /undo"):
        await conversation.say("More!")


async def test_a_message_after_a_cell_begins_the_next_and_a_full_stop_says_nothing(stage: Stage) -> None:
    for said, kept in (("Light it!", "Light it!"), (".", "")):
        conversation = await stage.open("a" if kept else "b")
        await conversation.begin()
        while not conversation.state.waits:
            await conversation.say("Hm.")
        turn = await conversation.say(said)
        assert (turn.cell, turn.said) == (2, kept)


async def test_next_goes_to_the_next_point_and_then_to_the_next_cell(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    assert [((turn := await conversation.go_on()).cell, turn.step) for _ in range(3)] == [(1, 2), (2, 1), (2, 2)]
    with pytest.raises(UsageError, match="the end of the last cell"):
        await conversation.go_on()


async def test_undo_takes_turns_back_one_by_one(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    turn = await conversation.say("One.")
    states = [conversation.state]
    await conversation.say("Two.")
    await conversation.go_on()
    await conversation.undo()
    assert await conversation.undo() == turn
    assert conversation.state == states[0]
    await conversation.undo()
    assert await conversation.undo() is None
    assert conversation.where.cell == 0
    with pytest.raises(UsageError, match="There is no turn to take back"):
        await conversation.undo()
    assert (await conversation.begin()).number == 1


async def test_what_was_taken_back_and_is_said_again_costs_nothing(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    turn = await conversation.say("One.")
    asked = len(stage.engine.asked)
    await conversation.undo()
    assert await conversation.say("One.") == turn
    assert len(stage.engine.asked) == asked


async def test_retry_draws_the_last_turn_anew_in_its_place(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    first = await conversation.say("One.")
    second = await conversation.retry()
    third = await conversation.retry()
    assert (second.number, second.said, second.step) == (first.number, "One.", first.step)
    assert len({first.line, second.line, third.line}) == 3
    assert conversation.where.turns == 2
    await conversation.undo()
    assert conversation.where.turns == 1
    other = await stage.open("other")
    with pytest.raises(UsageError, match="no turn to draw again"):
        await other.retry()


async def test_retry_after_next_stays_where_next_led(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    for _ in range(3):
        turn = await conversation.go_on()
        again = await conversation.retry()
        assert (again.cell, again.step, again.number) == (turn.cell, turn.step, turn.number)
        assert again.line != turn.line


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", "Your message is empty"),
        (" \n\t", "Your message is empty"),
        ("x" * 100_000, "has 100,000 characters; the limit is 4,000"),
    ],
)
async def test_messages_that_cannot_be_answered_leave_the_conversation_as_it_was(
    stage: Stage, message: str, expected: str
) -> None:
    conversation = await stage.open()
    await conversation.begin()
    before = conversation.state, conversation.log.file and conversation.log.file.read_bytes()
    with pytest.raises(UsageError, match=expected):
        await conversation.say(message)
    assert before == (conversation.state, conversation.log.file and conversation.log.file.read_bytes())


async def test_a_move_that_fails_leaves_no_trace(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    before = conversation.state
    stage.engine.fails = True
    for move in (conversation.say("One."), conversation.go_on(), conversation.retry()):
        with pytest.raises((ModelError, ExceptionGroup)):
            await move
    stage.engine.fails = False
    assert conversation.state == before
    assert (await conversation.say("One.")).number == 2


async def test_who_is_there_and_freedom_are_moves_too(stage: Stage) -> None:
    three = Parties("Tobias", ("Mara", "Jonas"))
    story = STORY.replace("Mara kept", "Mara and Jonas kept")
    conversation = await stage.open(parties=three, story=story)
    await conversation.begin()
    with pytest.raises(UnknownNameError, match="Unknown character of this conversation 'Tom'"):
        await conversation.set_present(["Tom"])
    with pytest.raises(UsageError, match="A conversation needs"):
        await conversation.set_present([])
    await conversation.set_present(["jonas"])
    turn = await conversation.say("Who is there?")
    assert turn.line is not None
    assert turn.line.name == "Jonas"
    assert turn.line.witnesses == ("Tobias", "Jonas")
    with pytest.raises(UsageError, match=r"no freedom 'wild'\. Give one of rails, guided, loose"):
        await conversation.set_freedom("wild")
    await conversation.set_freedom("Loose")
    again = await stage.open(parties=three, story=story)
    assert again.state == conversation.state
    assert again.state.freedom == "loose"
    assert (await again.say("Jonas?")).line is not None


async def test_who_is_sent_away_between_two_cells_is_away_in_the_next(stage: Stage) -> None:
    three = Parties("Tobias", ("Mara", "Jonas"))
    story = STORY.replace("Mara kept", "Mara and Jonas kept")
    conversation = await stage.open(parties=three, story=story)
    await conversation.set_present(["Jonas"])
    turns = [await conversation.begin()]
    while not turns[-1].ends_cell:
        turns.append(await conversation.say("Hm."))
    assert {turn.line.name for turn in turns if turn.line} == {"Jonas"}
    await conversation.set_present(["Jonas"])
    assert (await stage.open(parties=three, story=story)).state == conversation.state
    turn = await conversation.say("And now?")
    assert (turn.cell, conversation.state.present) == (2, ("Jonas",))
    for move in (conversation.retry, conversation.undo, lambda: conversation.say("And then?")):
        await move()
        assert conversation.state.present == ("Jonas",)
    assert (await stage.open(parties=three, story=story)).state == conversation.state


async def test_with_several_there_who_is_named_answers_else_who_was_silent(stage: Stage) -> None:
    three = Parties("Tobias", ("Mara", "Jonas"))
    conversation = await stage.open(parties=three, story=STORY.replace("Mara kept", "Mara and Jonas kept"))
    turns = [await conversation.begin(), await conversation.say("Jonas, what now?"), await conversation.say("Hm.")]
    assert [turn.line and turn.line.name for turn in turns] == ["Mara", "Jonas", "Mara"]


# the log ------------------------------------------------------------------------------------------------------------


async def test_a_resumed_conversation_is_the_same_and_asks_nothing(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    for said in ("One.", "Two.", "Three.", "Four."):
        await conversation.say(said)
    await conversation.retry()
    await conversation.undo()
    asked = len(stage.engine.asked)
    again = await stage.open()
    assert again.state == conversation.state
    assert again.turns == conversation.turns
    assert len(stage.engine.asked) == asked
    assert await again.say("Five.") == await conversation.say("Five.")  # the second one hears the journal
    assert len(stage.engine.asked) == asked + 1


async def test_moves_on_a_frozen_journal_give_the_same_log(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    for said in ("One.", "Two.", "Three.", "Four.", "Five."):
        await conversation.say(said)
    again = await stage.open("again")
    assert again.context is not conversation.context
    again.log.file, again.name = log_file(stage.folder / "other", "evening"), "evening"
    again.context.mode = "frozen"
    await again.begin()
    for said in ("One.", "Two.", "Three.", "Four.", "Five."):
        await again.say(said)
    assert again.turns == conversation.turns


async def test_a_line_that_a_kill_cut_off_is_left_out(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    await conversation.say("One.")
    assert conversation.log.file is not None
    whole = conversation.log.file.read_bytes()
    lines = whole.splitlines(keepends=True)
    conversation.log.file.write_bytes(whole[:-20])
    again = await stage.open()
    assert len(again.turns) == 1
    asked = len(stage.engine.asked)
    await again.say("One.")
    assert conversation.log.file.read_bytes() == whole
    assert len(stage.engine.asked) == asked  # the call was finished when the kill came
    assert len(lines) == 3


async def test_a_story_that_was_edited_leaves_what_was_said(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    while not conversation.state.waits:
        await conversation.say("Hm.")
    await conversation.say("And now?")
    edited = await stage.open(story=STORY.replace("letter", "parcel"))
    assert edited.turns == conversation.turns
    assert (await edited.say("Well?")).cell == 2
    shorter = await stage.open(story=STORY.partition(" The wind")[0])
    with pytest.raises(UsageError, match=r"The story no longer has a cell 2"):
        await shorter.say("Well?")


async def test_a_log_of_other_people_is_not_gone_on_with(stage: Stage) -> None:
    await stage.open()
    with pytest.raises(UsageError, match=r"In the conversation 'evening', Tobias talks with Mara\. Give these names"):
        await stage.open(parties=Parties("Mara", ("Tobias",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no json\n", "evening.jsonl:1 is not a record"),
        ("[1]\n", ":1 is not a record"),
        ('{"format": 9}\n', "format 9"),
    ],
)
async def test_a_damaged_log_is_named(stage: Stage, text: str, expected: str) -> None:
    (stage.folder / "chat").mkdir()
    (stage.folder / "chat/evening.jsonl").write_text(text)
    with pytest.raises(ProjectError, match=expected):
        await stage.open()


@pytest.mark.parametrize("name", ["", "../up", "A b", "x" * 80, "con"])
def test_names_of_conversations_are_names_of_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a conversation"):
        log_file(tmp_path, name)


async def test_conversations_run_side_by_side_and_moves_of_one_wait_for_each_other(stage: Stage) -> None:
    conversations = [await stage.open(f"s{n}") for n in range(4)]
    await asyncio.gather(*(conversation.begin() for conversation in conversations for _ in range(2)))
    await asyncio.gather(
        *(conversation.say(f"Word {n}.") for n, conversation in enumerate(conversations) for _ in range(2))
    )
    assert [[turn.said for turn in conversation.turns] for conversation in conversations] == [
        ["", f"Word {n}.", f"Word {n}."] for n in range(4)
    ]
    assert sum(request.path.endswith("/label") for request in stage.engine.asked) <= 8, "two cells"
    assert sorted(conversations_in(stage.folder)) == ["s0", "s1", "s2", "s3"]


async def test_the_transcript_reads_as_people_do(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.begin()
    await conversation.say("One.")
    first, second = (turn.line.text for turn in conversation.turns if turn.line)
    said = f"**Mara:** {first}\n\n**Tobias:** One.\n\n**Mara:** {second}"
    assert conversation.transcript == f"<!-- scene: cell-1 -->\n\n{said}"
    assert json.loads((stage.folder / "chat/evening.jsonl").read_text().splitlines()[0])["player"] == "Tobias"


# hearing ------------------------------------------------------------------------------------------------------------


async def test_an_answer_comes_in_pieces_that_are_its_text(stage: Stage) -> None:
    conversation = await stage.open()
    for move in (
        conversation.begin,
        lambda heard: conversation.say("One.", heard),
        conversation.go_on,
        conversation.retry,
    ):
        pieces: list[str] = []
        turn = await move(pieces.append)
        assert turn.line is not None
        assert "".join(pieces) == turn.line.text
        assert len(pieces) > 1


LONG = "The lamp burned on through all of that long night"


def heard(text: str) -> str:
    """What is shown of a reply before it has ended."""
    pieces: list[str] = []
    hearing = Hearing(pieces.append)
    hearing.begin("Mara", ("Tobias", "Mara"))
    for letter in text:
        hearing.hear(TextArrived("x", letter))
    return "".join(pieces)


def test_marks_foreign_turns_and_poor_draws_are_never_heard() -> None:
    long = "and so the lamp burned on through all of that long night"
    assert heard(f"[Mara: (nods) Yes, {long}.") == f"(nods) Yes, {long.rpartition(' ')[0]}"
    assert heard(f"[Mara: (nods) Yes, {long}.]\nEOD") == f"(nods) Yes, {long}."
    assert heard(f"[Tobias: No, {long}, and {long}.]") == ""
    assert heard(f"As a language model I say: {long}, {long}.") == ""
    assert heard("[Mara: (1) 11/7/2013]") == ""
    assert heard("[Mara: (looks for a long time at the lamp, at the boats, and at the sea behind them") == ""


def test_a_small_models_turn_says_something_new() -> None:
    before = (
        SpokenLine("Mara", "nods slowly at him", "Yes, and so the lamp burned on through all of that long night!"),
    )
    assert is_new(SpokenTurn("nods", "Yes, it did."), before)
    assert is_new(SpokenTurn("", "The lamp is out."), (SpokenLine("Mara", "", "The lamp burned on, as always!"),))
    assert not is_new(SpokenTurn("nods", "Yes - and so THE LAMP burned on"), before), "whatever its marks and capitals"
    assert not is_new(SpokenTurn("", "11/7/2013"), before)
    assert not is_new(SpokenTurn("1", "So it is."), before)
    assert not is_new(SpokenTurn("nods slowly at him", "So it is."), before)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Mara: (nods", ""),
        ("[Mara: (nods)", "(nods)"),  # what is done has passed its checks
        ("[Mara: (nods) Yes.", "(nods)"),
        ("[Mara: (nods) Yes, it", "(nods) Yes,"),
        ("[Mara: (nods) I am an AI, Tob", "(nods)"),
        ("[Mara: (nods) Well, as an old", "(nods) Well,"),
        ("[Mara: (nods) Well, as an old friend", "(nods) Well, as an old"),
        ("[Mara: (nods) Well, as an AI I cannot", "(nods) Well,"),
        ("[Mara: (nods) Yes.]", "(nods) Yes."),  # its end is there, whatever the model goes on with
        ("[Mara: (nods) Yes.\nTobias: No.", "(nods) Yes."),
        ('[Mara: (nods) "Yes." EOD]', "(nods)"),  # EOD counts at the end of a line, which may go on
        (f'[Mara: (nods) "{LONG}" she', "(nods)"),  # the marks may be the whole's
        (f'[Mara: (nods) "{LONG}" she says', f'(nods) "{LONG}" she'),
        (f"[Mara: *nods and {LONG}, and", ""),  # it may be what she does
        (f"[Mara: {LONG}, and on\nShe went up", f"{LONG}, and"),  # "She went up: ..." would be another's turn
        (f"[Mara: {LONG}, and on <thi", f"{LONG}, and"),
    ],
)
def test_what_may_still_change_is_not_heard_and_what_may_not_is(text: str, shown: str) -> None:
    assert heard(text) == shown


# progress -----------------------------------------------------------------------------------------------------------

STEPS = (SubPlan("Tobias brings the letter"), SubPlan("Mara reads the letter twice"), SubPlan("They light the lamp"))


@pytest.mark.parametrize(
    ("step", "stayed", "said", "most", "then"),
    [
        (1, 0, "Here is Tobias who brings something", 4, (1, 1, False)),
        (1, 0, "Mara reads it twice", 4, (2, 0, False)),
        (1, 0, "They light the lamp", 4, (1, 1, False)),  # never further than one
        (2, 0, "Tobias brings the letter", 4, (2, 1, False)),  # never back
        (1, 3, "Cats", 4, (2, 0, False)),  # it stalls
        (1, 99, "Cats", 0, (1, 100, False)),
        (3, 0, "They light the lamp", 4, (3, 1, False)),
        (3, 3, "Cats", 4, (3, 4, True)),
    ],
)
def test_the_plan_goes_on_by_words_or_because_it_stalls(
    step: int, stayed: int, said: str, most: int, then: tuple[int, int, bool]
) -> None:
    assert next_step(STEPS, step, stayed, said, most) == then


def test_freedom_changes_how_long_a_sub_plan_lasts() -> None:
    freedoms = get_args(Freedom)
    assert [turns_allowed(4, freedom) for freedom in freedoms] == [2, 4, 8]
    assert [turns_allowed(1, freedom) for freedom in freedoms] == [1, 1, 2]
    assert [turns_allowed(0, freedom) for freedom in freedoms] == [0, 0, 0]


def test_a_plan_is_written_as_in_the_paper() -> None:
    assert plan_text((SubPlan("A", "b"), SubPlan("C"))) == "#1. A\n- b\n#2. C"


def test_a_dialogue_is_dropped_by_the_half() -> None:
    lines = [SpokenLine("Mara", "", f"{n} " + "word " * 20) for n in range(60)]
    assert latest_lines(lines, 10_000) == tuple(lines)
    begins = [len(lines[:n]) - len(latest_lines(lines[:n], 400)) for n in range(1, 61)]
    assert begins == sorted(begins)
    assert len(set(begins)) < 8  # it stands still for many turns
    assert all(latest_lines(lines[:n], 400) for n in range(1, 61))
