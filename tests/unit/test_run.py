"""A run: asks, reads and repairs, keeps artefacts, replays, and tells its listeners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from fabula.base.errors import (
    BudgetError,
    JournalMissError,
    ModelError,
    PausedError,
    RefusalError,
    ReplyError,
    UsageError,
)
from fabula.engine.events import CallFinished, CallStarted, Event, Kept, Noted, Repaired, TextArrived
from fabula.engine.journal import Journal, spent_by_role
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Price, Reply, Request, Sampling, Usage
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fabula.engine.run import Mode
    from fabula.models.scripted import Script

PLAIN = Capabilities()
TYPED = Capabilities(schema=True, choices=True)


@dataclass
class Mood:
    """What a critic says."""

    name: str
    sure: bool


@dataclass
class Room:
    """Makes runs over one journal, with what they were asked and told."""

    prompts: SystemPrompts
    journal: Journal
    heard: list[Event]

    def context(self, script: Script, *, model: ScriptedModel | None = None, **more: Any) -> RunContext:  # noqa: ANN401 - fields of Hands
        cast = more.pop("cast", None) or Cast.of(model or ScriptedModel(script, capabilities=PLAIN))
        more.setdefault("listeners", [self.heard.append])
        return RunContext(self.journal, self.prompts, cast, **more)

    def run(self, script: Script, **more: Any) -> Run:  # noqa: ANN401 - fields of Hands
        return Run(self.context(script, **more))

    def of_kind(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kind)]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    (tmp_path / "say.jinja").write_text("{% block user %}Say {{ what }}.{% endblock %}")
    with Journal() as journal:
        yield Room(SystemPrompts(tmp_path), journal, [])


def in_turn(*texts: str) -> Callable[[Request], str]:
    left = list(texts)
    return lambda _: left.pop(0)


# asking ---------------------------------------------------------------------------------------------------------------


async def test_a_reply_is_asked_once_and_then_replayed(room: Room) -> None:
    model = ScriptedModel({"poet": "A line."})
    for _ in range(2):
        run = Run(room.context({}, model=model))
        assert await run.scope("verse", 2).ask("poet", "say", what="it") == "A line."
    assert [request.path for request in model.asked] == ["verse/2/say"]
    assert model.asked[0].messages[-1].content == "Say it."
    assert [event.replayed for event in room.of_kind(CallFinished)] == [False, True]
    assert [event.performer for event in room.of_kind(CallStarted)] == ["scripted"]
    assert room.of_kind(TextArrived) == [TextArrived("verse/2/say", "A line.")]


async def test_it_is_said_whether_a_call_has_a_known_price(room: Room) -> None:
    model = ScriptedModel({"poet": "A line."})
    await Run(room.context({}, model=model)).scope("a").ask("poet", "say", what="it")
    model.name = "openai-chat:tale"
    await Run(room.context({}, model=model)).scope("b").ask("poet", "say", what="it")
    prices = {"openai-chat:tale": Price(1.0, 2.0)}
    await Run(room.context({}, model=model, prices=prices)).scope("c").ask("poet", "say", what="it")
    assert [event.priced for event in room.of_kind(CallStarted)] == [True, False, True]


@pytest.mark.parametrize("continues", [False, True])
async def test_an_opening_goes_to_models_that_can_go_on_from_it_and_is_part_of_the_reply(
    room: Room, tmp_path: Path, *, continues: bool
) -> None:
    (tmp_path / "begin.jinja").write_text("{% block user %}Begin.{% endblock %}{% block opening %}Mara{% endblock %}")
    model = ScriptedModel({"poet": " waits."}, capabilities=Capabilities(continues=continues, small=True))
    for _ in range(2):
        text = await Run(room.context({}, model=model)).ask("poet", "begin")
        assert text == ("Mara waits." if continues else " waits.")
    (request,) = model.asked
    assert [message.role for message in request.messages] == ["user", "assistant"][: 1 + continues]


async def test_without_listeners_no_pieces_are_sent(room: Room) -> None:
    class Deaf(ScriptedModel):
        async def ask(self, request: Request, on_text: object = None) -> Reply:
            assert on_text is None
            return await super().ask(request)

    run = Run(room.context({}, model=Deaf({"poet": "A line."}), listeners=()))
    assert (await run.reply("poet", "say", what="it")).usage.reply == 2


async def test_the_casts_values_go_before_the_systems_and_these_before_the_models(room: Room) -> None:
    model = ScriptedModel({"poet": "A line."})
    part = Assignment(model, Sampling(temperature=0.1), "lora", Sampling(temperature=0.3, top_p=0.3, min_p=0.3))
    run = Run(room.context({}, cast=Cast(part)))
    await run.ask("poet", "say", sampling=Sampling(temperature=0.2, top_p=0.2), what="it")
    sampling = model.asked[0].sampling
    assert (sampling.temperature, sampling.top_p, sampling.min_p) == (0.1, 0.2, 0.3)
    assert model.asked[0].adapter == "lora"


async def test_a_seed_is_drawn_from_the_place_unless_one_is_set(room: Room) -> None:
    seeds = []
    for seed, path in ((1, "a"), (1, "b"), (2, "a")):
        model = ScriptedModel({"poet": "A line."})
        await Run(room.context({}, model=model, seed=seed)).scope(path).ask("poet", "say", what="it")
        seeds.append(model.asked[0].sampling.seed)
    assert len(set(seeds)) == 3
    assert all(seed is not None and 0 <= seed < 2**31 for seed in seeds)
    model = ScriptedModel({"poet": "A line."})
    await Run(room.context({}, model=model)).ask("poet", "say", sampling=Sampling(seed=5), what="it")
    assert model.asked[0].sampling.seed == 5


async def test_the_same_question_twice_at_one_place_is_two_calls(room: Room) -> None:
    script = {"poet": ["First.", "Second."]}
    for _ in range(2):
        run = room.run(script)
        assert [await run.ask("poet", "say", what="it") for _ in range(2)] == ["First.", "Second."]
    assert len(room.journal.calls) == 2


async def test_samples_are_independent_and_replayed_in_order(room: Room) -> None:
    model = ScriptedModel(lambda request: f"Seed {request.sampling.seed}.")
    first = await Run(room.context({}, model=model)).sample(3, "poet", "say", what="it")
    again = await Run(room.context({}, model=model)).sample(3, "poet", "say", what="it")
    assert first == again
    assert len(set(first)) == 3 == len(model.asked)


def test_random_draws_are_fixed_by_seed_and_place(room: Room) -> None:
    draws = [
        room.run({}, seed=seed).scope(path).rng.random() for seed, path in ((1, "a"), (1, "a"), (1, "b"), (2, "a"))
    ]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3


async def test_a_failed_call_is_not_recorded_and_gives_its_budget_back(room: Room) -> None:
    context = room.context({}, budget=Budget(tokens=10_000))
    with pytest.raises(ModelError, match="no reply for the role 'poet'"):
        await Run(context).ask("poet", "say", what="it")
    assert len(room.journal.calls) == 0
    assert context.budget.held_tokens == context.budget.spent_tokens == 0


async def test_a_call_that_might_pass_the_cap_is_not_made(room: Room) -> None:
    model = ScriptedModel({"poet": "A line."})
    run = Run(room.context({}, model=model, budget=Budget(tokens=50)))
    with pytest.raises(BudgetError, match=r"Stopped before the budget of 50 tokens is exceeded"):
        await run.ask("poet", "say", sampling=Sampling(max_tokens=60), what="it")
    assert not model.asked


async def test_a_price_of_the_user_makes_the_bill(room: Room) -> None:
    model = ScriptedModel({"poet": "One two three four."}, name="openai-chat:tale")
    context = room.context({}, model=model, prices={"openai-chat:tale": Price(1_000_000, 2_000_000)})
    reply = await Run(context).reply("poet", "say", what="it")
    assert reply.usage.cost == 2 * 1 + 4 * 2
    assert context.budget.bill()["poet"].cost == 10


async def test_an_unknown_price_leaves_what_the_model_said_of_its_cost(room: Room) -> None:
    said = Reply("A line.", Usage(prompt=2, reply=2, cost=None))
    context = room.context({}, model=ScriptedModel(lambda _: said, name="openai-chat:tale"))
    assert (await Run(context).reply("poet", "say", what="it")).usage.cost is None


async def test_what_no_file_can_hold_is_marked_in_a_reply(room: Room) -> None:
    run = room.run({"poet": "Half \ud83d and nothing \x00."})
    assert await run.ask("poet", "say", what="it") == "Half \ufffd and nothing ."


# refusals -------------------------------------------------------------------------------------------------------------


async def test_a_refusal_is_asked_again_with_another_seed_and_all_tries_are_paid(room: Room) -> None:
    replies = [
        Reply("", Usage(prompt=5, reply=1, cost=0.0), "refusal"),
        Reply("A line.", Usage(prompt=5, reply=2, cost=0.0)),
    ]
    model = ScriptedModel(lambda _: replies[len(model.asked) - 1])
    context = room.context({}, model=model)
    reply = await Run(context).reply("poet", "say", what="it")
    first, second = (request.sampling.seed for request in model.asked)
    assert (reply.text, reply.usage.prompt, reply.usage.reply) == ("A line.", 5, 2)
    assert (spent_by_role(room.journal.calls)["poet"].prompt, spent_by_role(room.journal.calls)["poet"].reply) == (
        10,
        3,
    )
    assert context.budget.spent_tokens == 13
    assert first is not None
    assert second == first + 1
    assert room.of_kind(Noted) == [Noted("", "scripted declined at say; asked again with another seed.")]
    assert await Run(room.context({}, model=model)).ask("poet", "say", what="it") == "A line."
    assert len(model.asked) == 2


async def test_a_model_that_keeps_declining_is_named(room: Room) -> None:
    run = room.run(lambda _: Reply("I'm sorry, but I can't help with that."))
    with pytest.raises(RefusalError, match=r"scripted declined 3 times to answer as 'poet' at say\. Change the brief"):
        await run.ask("poet", "say", what="it")
    assert len(room.journal.calls) == 0


# typed replies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capabilities", [PLAIN, TYPED])
async def test_a_typed_reply_is_read_and_the_schema_goes_where_the_model_takes_it(
    room: Room, capabilities: Capabilities
) -> None:
    model = ScriptedModel({"critic": '{"name": "calm", "sure": true}'}, capabilities=capabilities)
    mood = await Run(room.context({}, model=model)).ask_for(Mood, "critic", "say", what="it")
    assert mood == Mood("calm", sure=True)
    asked = model.asked[0]
    assert (asked.schema is not None) == capabilities.schema
    assert ("JSON" in asked.messages[-1].content) != capabilities.schema


async def test_what_cannot_be_read_is_sent_back_with_the_reason(room: Room) -> None:
    model = ScriptedModel(in_turn("no JSON at all", '{"name": "calm", "sure": true}'), capabilities=PLAIN)
    assert await Run(room.context({}, model=model)).ask_for(Mood, "critic", "say", what="it") == Mood("calm", sure=True)
    roles = [message.role for message in model.asked[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert model.asked[1].messages[1].content == "no JSON at all"
    (repaired,) = room.of_kind(Repaired)
    assert (repaired.path, repaired.attempt) == ("say", 1)
    assert repaired.problem in model.asked[1].messages[2].content


async def test_after_the_allowed_repairs_the_reply_is_shown(room: Room) -> None:
    run = room.run(in_turn("one", "two", "three"))
    with pytest.raises(
        ReplyError,
        match=r"role 'critic' at say could not be read after 2 repairs: .* The same command asks again from there",
    ) as caught:
        await run.ask_for(Mood, "critic", "say", what="it")
    assert caught.value.reply == "three"
    assert len(room.journal.calls) == 3


@pytest.mark.parametrize("capabilities", [PLAIN, TYPED])
async def test_one_of_several_is_chosen(room: Room, capabilities: Capabilities) -> None:
    model = ScriptedModel({"critic": "I choose: second"}, capabilities=capabilities)
    assert await Run(room.context({}, model=model)).choose(["first", "second"], "critic", "say", what="it") == "second"
    assert model.asked[0].choices == (("first", "second") if capabilities.choices else ())


# artefacts ------------------------------------------------------------------------------------------------------------


async def making(run: Run) -> str:
    return await run.ask("poet", "say", what="it")


async def test_an_artefact_is_kept_as_a_version_and_announced(room: Room) -> None:
    files: list[Kept] = []
    run = room.run({"poet": "A line."}, on_kept=files.append)
    assert await run.scope("book").keep("verse", making, folder="story") == "A line."
    kept = Kept("book/verse", "story", "A line.", "made")
    assert files == room.of_kind(Kept) == [kept]
    assert room.journal.artefacts.newest("book/verse") == "A line."
    assert room.journal.calls.find(prompts=True)[0].path == "book/verse/say"


@pytest.mark.parametrize(("kind", "source"), [("edit", "edited"), ("pin", "pinned")])
async def test_a_decided_text_stands_in_and_nobody_is_asked(room: Room, kind: Any, source: str) -> None:  # noqa: ANN401 - a kind of decision
    room.journal.decisions.add("verse", kind, "Mine.")
    run = room.run({})
    assert await run.keep("verse", making, folder="story") == "Mine."
    assert room.of_kind(Kept) == [Kept("verse", "story", "Mine.", source)]


async def test_an_artefact_may_have_a_file_of_another_kind(room: Room) -> None:
    await room.run({"poet": "a: 1"}).keep("plan", making, folder="plan", suffix="yaml")
    room.journal.decisions.add("plan", "edit", "a: 2")
    await room.run({}).keep("plan", making, folder="plan", suffix="yaml")
    assert [(kept.suffix, kept.source) for kept in room.of_kind(Kept)] == [("yaml", "made"), ("yaml", "edited")]


@pytest.mark.parametrize(("kind", "source"), [("edit", "edited"), ("pin", "pinned")])
async def test_a_text_that_the_author_gave_is_kept_as_theirs(room: Room, kind: Any, source: str) -> None:  # noqa: ANN401 - a kind of decision
    run = room.run({}).scope("book")
    assert await run.given("plan", folder="plan", suffix="yaml") is None
    assert room.heard == []
    room.journal.decisions.add("book/plan", kind, "a: 1")
    assert await run.given("plan", folder="plan", suffix="yaml") == "a: 1"
    assert room.of_kind(Kept) == [Kept("book/plan", "plan", "a: 1", source, "yaml")]
    assert [(version.text, version.source) for version in room.journal.artefacts.versions("book/plan")] == [
        ("a: 1", source)
    ]


async def test_what_was_made_or_is_to_be_continued_was_not_given(room: Room) -> None:
    await room.run({"poet": "A line."}).keep("verse", making, folder="plan")
    assert await room.run({}).given("verse", folder="plan") is None
    room.journal.decisions.add("verse", "continue", "A line.")
    assert await room.run({}).given("verse", folder="plan") is None


async def following(run: Run, base: str) -> str:
    return await run.ask("poet", "say", what=f"more than {base!r}")


async def test_a_text_is_continued_where_a_person_wants_that(room: Room) -> None:
    model = ScriptedModel(in_turn("One.", "Two.", "Three."))
    text = await Run(room.context({}, model=model)).keep("verse", making, folder="story", more=following)
    for whole in ("One.\n\nTwo.", "One.\n\nTwo.\n\nThree."):
        room.journal.decisions.add("verse", "continue", text)
        for _ in range(2):  # the second time from the journal
            text = await Run(room.context({}, model=model)).keep("verse", making, folder="story", more=following)
            assert text == whole
    assert room.of_kind(Kept)[-1] == Kept("verse", "story", "One.\n\nTwo.\n\nThree.", "made")
    paths = [request.path for request in model.asked]
    assert paths[0] == "verse/say"
    assert all(re.fullmatch(r"verse/more/[0-9a-f]{8}/say", path) for path in paths[1:])
    assert len(set(paths)) == 3


async def test_a_retake_of_a_continued_text_draws_other_words_after_the_same_text(room: Room) -> None:
    room.journal.decisions.add("verse", "continue", "One.")
    model = ScriptedModel(lambda request: f"Seed {request.sampling.seed}.")
    texts = []
    for _ in range(2):
        texts.append(await Run(room.context({}, model=model)).keep("verse", making, folder="story", more=following))
        room.journal.decisions.add("verse", "retake")
    assert all(text.startswith("One.\n\nSeed ") for text in texts)
    assert len(set(texts)) == 2


async def test_where_nothing_follows_the_text_stays(room: Room) -> None:
    async def nothing(run: Run, base: str) -> str:
        return ""

    room.journal.decisions.add("verse", "continue", "One.")
    assert await room.run({}).keep("verse", making, folder="story", more=nothing) == "One."


async def test_a_system_that_cannot_continue_a_text_says_so(room: Room) -> None:
    room.journal.decisions.add("book/verse", "continue", "One.")
    with pytest.raises(
        UsageError, match=r"This system cannot continue 'book/verse'\. Take the request back with `fabula undo`"
    ):
        await room.run({}).scope("book").keep("verse", making, folder="story")


async def test_a_continued_text_waits_for_approval(room: Room) -> None:
    async def approve(kept: Kept) -> str:
        return f"{kept.text} Approved."

    room.journal.decisions.add("verse", "continue", "One.")
    run = room.run({"poet": "Two."}, approve=approve)
    assert await run.keep("verse", making, folder="story", suffix="txt", more=following) == "One.\n\nTwo. Approved."
    assert room.of_kind(Kept)[-1] == Kept("verse", "story", "One.\n\nTwo. Approved.", "edited", "txt")


async def test_a_retake_draws_another_reply(room: Room) -> None:
    model = ScriptedModel(lambda request: f"Seed {request.sampling.seed}.")
    texts = []
    for _ in range(2):
        texts.append(await Run(room.context({}, model=model)).keep("verse", making, folder="story"))
        room.journal.decisions.add("verse", "retake")
    assert len(set(texts)) == 2


async def test_an_approved_text_is_not_asked_about_again(room: Room) -> None:
    asked: list[str] = []

    async def approve(kept: Kept) -> str:
        asked.append(kept.text)
        return kept.text

    for _ in range(2):
        await room.run({"poet": "A line."}, approve=approve).keep("verse", making, folder="story")
    assert asked == ["A line."]
    assert [decision.kind for decision in room.journal.decisions.find()] == ["approve"]


async def test_a_text_changed_at_approval_is_an_edit(room: Room) -> None:
    async def approve(kept: Kept) -> str:
        return kept.text.upper()

    for _ in range(2):
        run = room.run({"poet": "A line."}, approve=approve)
        assert await run.keep("verse", making, folder="story") == "A LINE."
    assert [(v.text, v.source) for v in room.journal.artefacts.versions("verse")] == [
        ("A line.", "made"),
        ("A LINE.", "edited"),
    ]
    assert [event.source for event in room.of_kind(Kept)] == ["made", "edited", "edited"]


async def test_a_run_that_waits_for_approval_keeps_the_text(room: Room) -> None:
    async def approve(kept: Kept) -> str:
        raise PausedError("waits", path=kept.path)

    with pytest.raises(PausedError):
        await room.run({"poet": "A line."}, approve=approve).keep("verse", making, folder="story")
    assert room.journal.artefacts.newest("verse") == "A line."


async def test_a_remark_is_told_with_its_place(room: Room) -> None:
    room.run({}).scope("verse").note("Short.")
    assert room.of_kind(Noted) == [Noted("verse", "Short.")]


# frozen and dry -------------------------------------------------------------------------------------------------------


async def test_a_frozen_run_asks_and_records_nothing(room: Room) -> None:
    await room.run({"poet": "A line."}).keep("verse", making, folder="story")
    model = ScriptedModel({})
    frozen = Run(room.context({}, model=model, mode="frozen"))
    frozen.note("Only told.")
    assert await frozen.keep("verse", making, folder="story") == "A line."
    assert len(room.journal.artefacts.versions("verse")) == 1
    with pytest.raises(
        JournalMissError, match=r"no reply for other/say \(role 'poet', scripted, ordinal 0\).*--frozen"
    ):
        await frozen.keep("other", making, folder="story")
    assert not model.asked


async def rehearsed(room: Room, work: Callable[[Run], Awaitable[Any]], **more: Any) -> tuple[Any, RunContext]:  # noqa: ANN401 - fields of Hands
    model = more.pop("model", ScriptedModel({}))
    context = room.context({}, model=model, mode=_DRY, **more)
    got = await work(Run(context))
    assert not model.asked
    return got, context


_DRY: Mode = "dry"


async def test_a_dry_run_plans_what_was_never_asked(room: Room) -> None:
    async def work(run: Run) -> str:
        run.note("dry")
        return await run.keep(
            "verse", lambda run: run.ask("poet", "say", sampling=Sampling(max_tokens=100), what="it"), folder="story"
        )

    text, context = await rehearsed(room, work)
    assert text
    (planned,) = context.dry_run.planned
    assert (planned.path, planned.role, planned.performer) == ("verse/say", "poet", "scripted")
    assert 90 <= planned.reply <= 100, "as many as fit into the reply"
    assert planned.cost == 0.0
    assert room.journal.artefacts.newest("verse") is None


async def test_a_dry_run_plans_the_words_that_are_expected(room: Room) -> None:
    _, context = await rehearsed(room, lambda run: run.ask("poet", "say", expect=75, what="it"))
    assert 95 <= context.dry_run.planned[0].reply <= 110


async def test_a_made_up_reply_is_cut_where_the_model_would_be(room: Room) -> None:
    model = ScriptedModel({}, capabilities=Capabilities(reply=100, context=4_000))
    reply, context = await rehearsed(room, lambda run: run.reply("poet", "say", expect=500, what="it"), model=model)
    assert (reply.finish, count_words(reply.text)) == ("length", 75)
    assert context.dry_run.planned[0].reply <= 100


async def test_a_made_up_reply_is_as_long_as_the_role_has_been(room: Room) -> None:
    async def twice(run: Run) -> str:
        await run.ask("poet", "say", expect=10, what="it")
        return await run.scope("next").ask("poet", "say", expect=100, what="more")

    await room.run({"poet": "A line of eight words, and no more."}).ask("poet", "say", expect=10, what="it")
    text, _ = await rehearsed(room, twice)
    assert count_words(text) == 62, "8 tokens of the 13 that 10 words have"


async def test_a_dry_run_stands_on_old_replies_and_their_size(room: Room) -> None:
    await room.run({"poet": "An old line here."}).ask("poet", "say", what="it")
    unpriced = ScriptedModel({}, name="openai-chat:tale")
    text, context = await rehearsed(room, lambda run: run.ask("poet", "say", what="more"), model=unpriced)
    assert text == "An old line here."
    (planned,) = context.dry_run.planned
    assert (planned.reply, planned.cost) == (4, None)


async def test_a_dry_run_counts_what_the_journal_answers(room: Room) -> None:
    await room.run({"poet": "A line."}).keep("verse", making, folder="story")
    text, context = await rehearsed(room, lambda run: run.keep("verse", making, folder="story"))
    assert (text, context.dry_run.planned, context.dry_run.replayed) == ("A line.", [], 1)


async def test_a_dry_run_asks_again_what_follows_inside_a_stale_artefact(room: Room) -> None:
    async def twice(run: Run, first: str = "it") -> str:
        one = await run.ask("poet", "say", what=first)
        return one + await run.scope("more").ask("poet", "say", what="fixed")

    await room.run({"poet": "A line."}).keep("verse", twice, folder="story")
    _, context = await rehearsed(room, lambda run: run.keep("verse", lambda run: twice(run, "else"), folder="story"))
    assert [call.path for call in context.dry_run.planned] == ["verse/say", "verse/more/say"]


async def test_a_dry_run_counts_with_edits_that_are_not_recorded_yet(room: Room) -> None:
    text, context = await rehearsed(
        room, lambda run: run.keep("verse", making, folder="story"), pending={"verse": "Pending."}
    )
    assert (text, context.dry_run.planned) == ("Pending.", [])


async def test_a_dry_run_takes_what_the_author_gave_and_records_nothing(room: Room) -> None:
    room.journal.decisions.add("plan", "edit", "a: 1")
    for pending, text in (({}, "a: 1"), ({"plan": "a: 2"}, "a: 2")):
        given, _ = await rehearsed(room, lambda run: run.given("plan", folder="plan"), pending=pending)
        assert given == text
    assert room.journal.artefacts.newest("plan") is None
    assert room.of_kind(Kept) == []


async def test_a_dry_run_plans_what_follows_a_text(room: Room) -> None:
    room.journal.decisions.add("verse", "continue", "One.")
    text, context = await rehearsed(room, lambda run: run.keep("verse", making, folder="story", more=following))
    assert text.startswith("One.\n\n")
    assert context.dry_run.stale == ["verse"]
    (planned,) = context.dry_run.planned
    assert planned.path.startswith("verse/more/")


async def test_a_dry_run_makes_up_typed_replies_and_choices(room: Room) -> None:
    mood, _ = await rehearsed(room, lambda run: run.ask_for(Mood, "critic", "say", what="it"))
    assert isinstance(mood, Mood)
    choice, context = await rehearsed(room, lambda run: run.choose(["first", "second"], "critic", "say", what="it"))
    assert choice == "first"
    assert len(context.dry_run.planned) == 1


async def test_a_call_recorded_under_another_model_is_no_answer(room: Room) -> None:
    await room.run({"poet": "A line."}).ask("poet", "say", what="it")
    other = ScriptedModel({"poet": "Another."}, name="other")
    assert await Run(room.context({}, model=other)).ask("poet", "say", what="it") == "Another."
    assert [call.performer for call in room.journal.calls.find(prompts=True)] == ["scripted", "other"]


async def test_scopes_share_their_context(room: Room) -> None:
    run = room.run({})
    assert run.scope("a", 1).scope("b").at == "a/1/b"
    assert run.scope("a").context is run.context


@pytest.mark.parametrize(
    ("aids", "small", "most"), [("auto", True, 200), ("auto", False, None), ("on", False, 200), ("off", True, None)]
)
def test_whoever_is_helped_is_asked_for_short_replies(
    tmp_path: Path, aids: Literal["auto", "on", "off"], *, small: bool, most: int | None
) -> None:
    model = ScriptedModel(lambda _: "", capabilities=Capabilities(small=small))
    context = RunContext(Journal(), SystemPrompts(tmp_path), Cast.of(model), aids=aids)
    assert Run(context).room("writer").reply_tokens(200) == most
