"""What is wanted of a text, how a revision is asked, and what of a reply is taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ModelError, ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.revising import PromptChange, changes, reviser
from fabula.craft.suggesting import Cursor, passage_spans, rewrite_passage
from fabula.engine.journal import Decision, Journal
from fabula.engine.making import add_fits, announced_as, wanted_of
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import is_unchanged
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Message
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.models.base import OnText, Reply, Request

TEXT = "The dog slept on the step.\n\nMara climbed."


def decided(*kinds: str, path: str = "x") -> list[Decision]:
    return [
        Decision(n, path, kind, f"{kind}-{n}" if kind in ("revise", "fit", "retake-note") else None, "")  # type: ignore[arg-type] # the kinds are decisions
        for n, kind in enumerate(kinds, 1)
    ]


def test_notes_follow_each_other_and_an_edit_ends_them() -> None:
    made, own = wanted_of(decided("revise", "revise"), "x")
    assert (made.notes, own.notes) == (("revise-1", "revise-2"), ())
    made, own = wanted_of(decided("revise", "edit", "revise"), "x")
    assert (made.notes, own.notes) == (("revise-1",), ("revise-3",))
    made, own = wanted_of(decided("revise", "edit", "revise", "unedit"), "x")
    assert (made.notes, own.notes) == (("revise-1",), ())


def test_a_new_draw_has_the_notes_beside_its_prompts() -> None:
    made, _ = wanted_of(decided("revise", "retake", "revise"), "x")
    assert made.wishes == ("revise-1",)
    assert [step.text for step in made.steps] == ["revise-3"]


def test_a_draft_is_what_its_final_text_is_wanted_to_be() -> None:
    made, _ = wanted_of(decided("revise"), "drafts/x", "x")
    assert made.notes == ("revise-1",)
    made, own = wanted_of(decided("edit", "revise"), "drafts/x", "x")  # the author's own text is revised itself
    assert made.notes == own.notes == ()


@pytest.mark.parametrize("reply", ["NO CHANGE", "No change.", "**NO CHANGE**", "no changes\n", '"NO CHANGE"'])
def test_a_text_that_stays_is_said_in_two_words(reply: str) -> None:
    assert is_unchanged(reply)


@pytest.mark.parametrize("reply", ["No changeling slept.", "Nothing changed.", "No change of weather " * 20, ""])
def test_a_story_says_no_such_thing(reply: str) -> None:
    assert not is_unchanged(reply)


def test_a_fit_is_announced_without_its_prompt() -> None:
    assert announced_as("a/climax/fit-12/0123abcd/revise_to_fit") == "a/climax/fit/revise_to_fit"
    assert announced_as("a/fit-out/section") == "a/fit-out/section"


def test_what_has_changed_is_shown_place_by_place() -> None:
    before = [Message("system", "Same."), Message("user", "One.\n\nTwo.\n\nThree.\n\nFour.")]
    after = [Message("system", "Same."), Message("user", "One!\n\nTwo!\n\nThree.")]
    assert changes(before, after) == [
        PromptChange("One.", "One!"),
        PromptChange("Two.", "Two!"),
        PromptChange("Four.", ""),
    ]
    assert changes((), after) == []


def test_a_passage_is_found_by_its_ends() -> None:
    text = "One lamp. Two lamps, and so on. Three lamps."
    assert [text[a:b] for a, b in passage_spans(text, "Two ... on.")] == ["Two lamps, and so on."]
    assert [text[a:b] for a, b in passage_spans(text, "Two lamps\u2026")] == ["Two lamps, and so on. Three lamps."]
    assert len(list(passage_spans(text, "lamps"))) == 2
    assert list(passage_spans(text, "Four ... five")) == []


# asked ----------------------------------------------------------------------------------------------------------------


async def kept(
    answer: Callable[[Request], str],
    *,
    read: Callable[[str], str] | None = None,
    suffix: str = "md",
    text: str = TEXT,
    window: int | None = None,
) -> tuple[str, ScriptedModel]:
    """The text that comes of a note to `text`."""
    model = ScriptedModel(answer, capabilities=Capabilities(context=window))
    with Journal() as journal:
        journal.decisions.add("x", "edit", text)
        journal.decisions.add("x", "revise", "without the dog")
        context = RunContext(journal, SystemPrompts(Path(PROMPTS)), Cast.of(model), revise=reviser("A story."))
        run = Run(context)

        async def make(own: Run) -> str:
            raise AssertionError(own)

        if read is None:
            return await run.keep("x", make, folder="story", suffix=suffix), model
        await run.keep("x", make, folder="plan", suffix=suffix, read=read)
        return journal.artefacts.newest("x") or "", model


async def test_what_a_program_reads_is_read_before_it_is_taken() -> None:
    def read(text: str) -> str:
        if not text.startswith("title:"):
            raise UsageError("The title is missing.")
        return text

    replies = iter(["scenes: []", "```yaml\ntitle: B\n```"])
    text, model = await kept(lambda _: next(replies), read=read, suffix="yaml", text="title: A")
    assert text == "title: B"
    assert "Give the file x.yaml" in model.asked[0].messages[1].content
    assert "keep its form, its keys and their order" in model.asked[0].messages[-1].content
    assert "The title is missing." in model.asked[1].messages[-1].content


async def test_a_long_text_is_revised_in_pieces() -> None:
    long = "\n\n".join(f"Paragraph {n} of the story goes on for a while and says what it says." for n in range(60))
    text, model = await kept(
        lambda request: request.messages[-2].content.replace("while", "time"), text=long, window=1600
    )
    assert text == long.replace("while", "time")
    assert len(model.asked) > 2
    assert "piece 2 of" in model.asked[1].messages[-1].content
    assert "The piece before it now ends like this:" in model.asked[1].messages[-1].content


async def test_chatter_goes_and_a_heading_of_the_texts_own_stays() -> None:
    text, _ = await kept(lambda _: "Here is the revised version:\n\nMara climbed alone.")
    assert text == "Mara climbed alone."
    text, _ = await kept(lambda _: "# The Step\n\nMara climbed alone.", text=f"# The Step\n\n{TEXT}")
    assert text == "# The Step\n\nMara climbed alone."


async def test_without_a_reviser_the_note_is_an_error() -> None:
    with Journal() as journal:
        journal.decisions.add("x", "edit", TEXT)
        journal.decisions.add("x", "revise", "darker")
        run = Run(RunContext(journal, SystemPrompts(Path(PROMPTS)), Cast.of(ScriptedModel({}))))
        with pytest.raises(UsageError, match=r"This run cannot revise texts. Take the note on 'x/note/1' back"):
            await run.given("x", folder="story")


async def test_a_passage_that_is_none_is_an_error() -> None:
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(Path(PROMPTS)), Cast.of(ScriptedModel(lambda _: "***"))))
        with pytest.raises(ReplyError, match="gave no usable passage in 3 tries"):
            await rewrite_passage(run, "writer", Cursor("A story.", TEXT, (0, 8)), "")


async def test_a_passage_that_is_none_is_asked_for_anew_by_the_same_command() -> None:
    replies = iter(["***"] * 3 + ["The lamp burned low."])
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(Path(PROMPTS)), Cast.of(ScriptedModel(lambda _: next(replies)))))
        with pytest.raises(ReplyError, match="The same command asks again"), run.context.recording_failures():
            await rewrite_passage(run, "writer", Cursor("A story.", TEXT, (0, 8)), "")
        run = Run(RunContext(journal, SystemPrompts(Path(PROMPTS)), Cast.of(ScriptedModel(lambda _: next(replies)))))
        assert "The lamp burned low." in await rewrite_passage(run, "writer", Cursor("A story.", TEXT, (0, 8)), "")


# killed ---------------------------------------------------------------------------------------------------------------


class Mortal(ScriptedModel):
    """Fails at one call, as a killed process would."""

    dies_at = -1

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        if len(self.asked) == self.dies_at:
            raise ModelError("killed here", model=self.name)
        return await super().ask(request, on_text)


@pytest.mark.parametrize("dies_at", [-1, 0, 1, 2])
async def test_a_fit_that_was_stopped_goes_on_with_no_call_repeated(dies_at: int, tmp_path: Path) -> None:
    (tmp_path / "part.jinja").write_text("{% block user %}Write part {{ name }} after: {{ before }}{% endblock %}")
    prompts = SystemPrompts(tmp_path, common=Path(PROMPTS))

    def answer(request: Request) -> str:
        if request.path.endswith("revise_to_fit"):
            return request.messages[-2].content.replace("dark", "bright")
        return f"It was dark in part {request.path.split('/')[0]}."

    async def story(journal: Journal, model: ScriptedModel) -> list[str]:
        run, texts = Run(RunContext(journal, prompts, Cast.of(model), revise=reviser("A story."))), ["A plan."]
        for name in ("plan", "a", "b", "c"):

            async def make(own: Run, name: str = name) -> str:
                return await own.ask("writer", "part", name=name, before=texts[-1])

            texts.append(await run.keep(name, make, folder="story"))
        return texts[1:]

    with Journal() as journal:
        first = await story(journal, Mortal(answer))
        journal.decisions.add("plan", "edit", "Another plan.")
        add_fits(journal, ["a", "b", "c"])
        again = Mortal(answer)
        again.dies_at = dies_at
        if dies_at >= 0:
            with pytest.raises(ModelError):
                await story(journal, again)
            again.dies_at = -1
        texts = await story(journal, again)
        assert texts == ["Another plan.", *(text.replace("dark", "bright") for text in first[1:])]
        assert len(again.asked) == 3
        assert await story(journal, again) == texts
        assert len(again.asked) == 3
        assert [version.source for version in journal.artefacts.versions("b")] == ["made", "revised"]
