"""The whole is read once, and small edits of it are made, refused, and made again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import PlanError, UnknownNameError
from fabula.craft import PROMPTS
from fabula.craft.drafts import Draft, keep_draft
from fabula.craft.final_reading import (
    Edit,
    final_reading,
    read_edits,
    read_refused,
    refuse,
    revised,
    write_edits,
    write_refused,
)
from fabula.craft.length import WordRange
from fabula.engine.events import Noted
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.engine.context import Aids
    from fabula.engine.dry_run import DryRun
    from fabula.engine.run import Mode
    from fabula.models.base import Request

FIRST = (
    "On Tuesday Mara hung the blanket on the line.\n\nShe said nothing for about as long as it takes to coil a line."
)
SECOND = "“It was Wednesday,” Tobias said, “when the blanket went.”\n\nThe lamp burned. The lamp burned."
PARTS = (("dusk", FIRST), ("night", SECOND))


@pytest.fixture(autouse=True)
def journal() -> Iterator[Journal]:
    with Journal() as journal:
        Room.journal = journal
        yield journal


class Room:
    """Two parts by a scripted writer, read by a scripted editor."""

    journal: Journal

    def __init__(self, edits: list[dict[str, Any]] | str, window: int | None = None) -> None:
        self.files: dict[str, str] = {}
        self.heard: list[object] = []
        self.texts = dict(PARTS)
        self.aids: Aids = "off"
        reply = edits if isinstance(edits, str) else json.dumps({"edits": edits})
        self.model = ScriptedModel(
            lambda request: reply if request.role == "editor" else self._part(request),
            capabilities=Capabilities(schema=True, context=window),
        )

    def _part(self, request: Request) -> str:
        return self.texts[request.path.split("/")[-2]]

    def run(self, mode: Mode = "live") -> tuple[list[str], RunContext]:
        prompts = SystemPrompts(Path(__file__).parents[1] / "support" / "nothing", None, PROMPTS)
        context = RunContext(self.journal, prompts, Cast.of(self.model), mode=mode, aids=self.aids)
        context.listeners = [self.heard.append]
        context.on_kept = lambda kept: self.files.__setitem__(kept.path, kept.text)
        return asyncio.run(self._write(Run(context))), context

    async def _write(self, run: Run) -> list[str]:
        drafts: list[Draft] = []
        for name, _ in PARTS:

            async def make(own: Run) -> str:
                before = " ".join(draft.text for draft in drafts)
                reply = await own.reply("writer", "shorten", expect=20, text=before, words=WordRange.about(20), has=3)
                return reply.text

            drafts.append(await keep_draft(run, name, make))
        return await final_reading(run, "editor", drafts, brief="A blanket on a Tuesday.", plan="Conflict: none.")

    @property
    def asked(self) -> list[str]:
        return [request.path for request in self.model.asked]


TUESDAY = {"paragraph": 3, "old": '"It was Wednesday,"', "new": "“It was Tuesday,”", "why": "[1] says Tuesday."}


def test_an_edit_is_made_and_the_drafts_stay() -> None:
    room = Room([TUESDAY])
    story, _ = room.run()
    assert story == [FIRST, SECOND.replace("Wednesday", "Tuesday")]
    assert room.files["drafts/night"] == SECOND
    assert room.files["night"] == story[1]
    prompt = room.model.asked[-1].messages[-1].content
    assert "[3] “It was Wednesday,”" in prompt
    assert prompt.count("A blanket on a Tuesday.") == 1
    assert "# Part 2" in prompt


def test_the_editor_reads_the_story_before_the_plan_and_no_break_is_a_paragraph() -> None:
    room = Room([])
    room.texts["dusk"] = "One evening.\n\n* * *\n\nAnother one."
    room.run()
    prompt = room.model.asked[-1].messages[-1].content
    assert "\n* * *\n" in prompt
    assert "[2] Another one." in prompt
    assert "[3] “It was Wednesday,”" in prompt
    assert prompt.index("Another one.") < prompt.index("Conflict: none.")


def test_a_second_run_asks_nobody() -> None:
    room = Room([TUESDAY])
    first, _ = room.run()
    asked = len(room.asked)
    assert room.run()[0] == first
    assert len(room.asked) == asked == 3


def test_a_refused_edit_is_not_made_and_nobody_is_asked() -> None:
    room = Room([TUESDAY])
    room.run()
    (edit,) = read_edits(room.files["drafts/edits"])
    room.journal.decisions.add("drafts/refused", "edit", write_refused([edit.id]))
    assert room.run()[0] == [FIRST, SECOND]
    assert len(room.asked) == 3


def test_what_follows_an_edited_part_is_written_again_and_the_authors_words_stay() -> None:
    room = Room([TUESDAY, {"paragraph": 1, "old": "Tuesday", "new": "Monday", "why": "taste"}])
    room.run()
    mine = "On a Friday I hung it there myself."
    room.journal.decisions.add("dusk", "edit", mine)
    _, context = room.run("dry")
    assert [call.path for call in context.dry_run.planned] == ["drafts/night/shorten", "drafts/edits/final_reading"]
    story, _ = room.run()
    assert story[0] == mine
    assert mine in room.model.asked[-2].messages[-1].content  # who writes the next part sees what the author wrote
    assert "part 1" in room.model.asked[-1].messages[-1].content


def test_a_pinned_part_costs_nothing_and_changes_nothing_below() -> None:
    room = Room([{"paragraph": 1, "old": "Tuesday", "new": "Wednesday", "why": "[3] says Wednesday."}])
    story, _ = room.run()
    assert story[0].startswith("On Wednesday")
    room.journal.decisions.add("dusk", "pin", story[0])
    again, _ = room.run()
    assert again == story
    assert [path for path in room.asked if path.startswith("drafts/night")] == ["drafts/night/shorten"]


def test_a_retake_makes_the_draft_anew() -> None:
    room = Room([])
    room.run()
    room.texts["dusk"] = "Another evening."
    room.journal.decisions.add("dusk", "retake")
    assert room.run()[0][0] == "Another evening."


def test_an_unreadable_reply_leaves_the_story_as_it_is() -> None:
    room = Room("I would change the ending.")
    story, _ = room.run()
    assert story == [FIRST, SECOND]
    assert any(isinstance(event, Noted) and "was not revised" in event.text for event in room.heard)


def test_a_story_longer_than_the_window_is_read_in_stretches() -> None:
    room = Room([], window=60)
    room.run()
    readings = [request for request in room.model.asked if request.role == "editor"]
    assert len(readings) > 1
    shown = "\n".join(request.messages[-1].content for request in readings)
    assert all(shown.count(f"[{number}] ") == 1 for number in (1, 2, 3, 4))


def test_a_story_that_is_all_the_authors_own_is_not_read() -> None:
    room = Room([TUESDAY])
    for name, _ in PARTS:
        room.journal.decisions.add(name, "edit", f"My own {name}.")
    assert room.run()[0] == ["My own dusk.", "My own night."]
    assert not room.asked


def test_a_small_model_is_not_asked() -> None:
    room = Room([TUESDAY])
    room.aids = "on"
    assert room.run()[0] == [FIRST, SECOND]
    assert len(room.asked) == 2


def test_an_estimate_knows_the_reading() -> None:
    room = Room([TUESDAY])
    _, context = room.run("dry")
    dry: DryRun = context.dry_run
    assert [call.role for call in dry.planned] == ["writer", "writer", "editor"]


def drafts() -> list[Draft]:
    return [Draft(name, text) for name, text in PARTS]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Edit("night", "The lamp burned.", "It burned."), "its words occur there 2 times."),
        (Edit("night", "The stove burned.", ""), "its words are not there."),
        (Edit("dawn", "The lamp", ""), "there is no part 'dawn'."),
        (Edit("dusk", "Tuesday", "day " * 90), "it adds or removes more than 80 words."),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(edit: Edit, why: str) -> None:
    texts, (left,) = revised(drafts(), [edit])
    assert texts == [FIRST, SECOND]
    assert left.why == why


def test_of_two_edits_of_the_same_words_the_first_is_made() -> None:
    edits = [Edit("dusk", "On Tuesday", "On Monday"), Edit("dusk", "Tuesday Mara", "Friday Mara")]
    texts, (left,) = revised(drafts(), edits)
    assert texts[0].startswith("On Monday Mara")
    assert left.why == "another edit changes the same words."


def test_words_that_stand_twice_are_told_apart_by_their_paragraph() -> None:
    room = Room([{"paragraph": 2, "old": "line", "new": "rope", "why": "a line is coiled twice"}])
    story, _ = room.run()
    assert story[0] == FIRST[:-5] + "rope."


@pytest.mark.parametrize(
    ("old", "left"),
    [
        ("She said nothing for about as long as it takes to coil a line.", FIRST.partition("\n")[0]),
        ("On Tuesday Mara hung the blanket on the line.", FIRST.rpartition("\n")[2]),
        (" on the line", FIRST.replace(" on the line", "")),
    ],
)
def test_what_is_taken_out_leaves_no_hole(old: str, left: str) -> None:
    (text, _), _ = revised(drafts(), [Edit("dusk", old, "")])
    assert text.strip() == left
    assert "\n\n\n" not in text
    assert "  " not in text


def test_edits_and_refusals_are_read_back() -> None:
    edits = (Edit("dusk", 'a: "b"\n\nc', "", "why: not"), Edit("night", "- x", "# y"))
    assert read_edits(write_edits(edits)) == edits
    assert read_edits(write_edits(())) == ()
    assert read_refused(write_refused(["b1", "a0"])) == {"a0", "b1"}
    assert read_refused(write_refused([])) == read_refused("") == frozenset()


def test_a_wrong_file_of_edits_names_its_lines() -> None:
    with pytest.raises(PlanError, match=r"drafts/edits.yaml:3: edit 1: There is no 'olde' here. Did you mean 'old'"):
        read_edits("edits:\n  - part: dusk\n    olde: x\n    old: y\n")


def test_only_what_there_is_can_be_refused() -> None:
    edit = Edit("dusk", "a", "b")
    assert refuse([edit], (), [edit.id]) == {edit.id}
    assert refuse([edit], [edit.id], [edit.id], back=True) == frozenset()
    with pytest.raises(UnknownNameError, match="zzzzzz"):
        refuse([edit], (), ["zzzzzz"])
