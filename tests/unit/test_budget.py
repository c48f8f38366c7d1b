"""Budget, bill, prices and the estimate of tokens."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from fabula.base.errors import BudgetError, UsageError
from fabula.models.base import Message, Price, Reply, Request, Sampling, Usage
from fabula.models.budget import Budget, counted, estimate_tokens
from fabula.models.prices import FREE, cost, price_of
from fabula.models.scripted import ScriptedModel

CHEAP = Price(input=2.0, output=10.0, cached=0.5)


# --- budget ---------------------------------------------------------------------------------------------------------


def test_no_cap_holds_nothing_back_and_keeps_the_bill() -> None:
    budget = Budget()
    for role, reply in (("plot", 10), ("setting", 20), ("plot", 30)):
        held = budget.reserve(role, "m", 10**9, 10**9, None)
        budget.settle(held, Usage(prompt=100, reply=reply, seconds=1.0, cost=0.5))
    assert list(budget.bill()) == ["plot", "setting"]
    assert budget.bill()["plot"] == Usage(prompt=200, reply=40, seconds=2.0, cost=1.0)
    assert (budget.spent_tokens, budget.spent_usd, budget.held_tokens) == (360, 1.5, 0)


def test_a_call_that_may_pass_the_cap_is_stopped_before_it_is_made() -> None:
    budget = Budget(tokens=1_000)
    budget.settle(budget.reserve("plot", "m", 300, 300, None), Usage(prompt=300, reply=200))
    running = budget.reserve("plot", "m", 100, 100, None)
    with pytest.raises(BudgetError) as caught:
        budget.reserve("setting", "openai:gpt-4o", 101, 300, None)
    said = str(caught.value)
    assert "budget of 1,000 tokens" in said
    assert "500 are spent" in said
    assert "calls now running may take 200" in said
    assert "(role 'setting', openai:gpt-4o) may take 401 (101 of prompt, 300 of reply)" in said
    assert "All finished work is kept. To continue, use --budget-tokens 1101 or more" in said
    budget.release(running)
    assert Budget(tokens=1_101).reserve("setting", "m", 101, 300, None).tokens == 401


def test_exactly_the_cap_is_allowed() -> None:
    Budget(tokens=400).reserve("plot", "m", 100, 300, None)
    with pytest.raises(BudgetError):
        Budget(tokens=399).reserve("plot", "m", 100, 300, None)


def test_the_cap_in_dollars_counts_prompt_and_reply_at_their_prices() -> None:
    budget = Budget(usd=0.01)
    held = budget.reserve("plot", "m", 1_000, 500, CHEAP)
    assert held.usd == pytest.approx(0.007)
    with pytest.raises(
        BudgetError, match=r"\$0\.0100 is exceeded: \$0\.0000 are spent.*\$0\.0070.*--budget-usd 0\.0140"
    ):
        budget.reserve("plot", "m", 1_000, 500, CHEAP)
    budget.settle(held, Usage(prompt=1_000, cached=1_000, reply=100))
    assert budget.spent_usd == pytest.approx(0.0015)
    budget.reserve("plot", "m", 1_000, 500, CHEAP)


def test_the_cap_that_a_message_proposes_is_enough() -> None:
    price = Price(input=1 / 3, output=2 / 3)
    with pytest.raises(BudgetError) as caught:
        Budget(usd=0.0001).reserve("plot", "m", 1_001, 777, price)
    proposed = float(str(caught.value).split("--budget-usd ")[1].split()[0])
    Budget(usd=proposed).reserve("plot", "m", 1_001, 777, price)


def test_dollars_cannot_be_capped_at_an_unknown_price_and_the_message_says_how_to_set_one() -> None:
    with pytest.raises(UsageError) as caught:
        Budget(usd=1.0).reserve("plot", "openai-chat:tale-1", 10, 10, None)
    said = str(caught.value)
    assert "price of openai-chat:tale-1 (role 'plot') is not known" in said
    for piece in ("fabula.toml", '[prices."openai-chat:tale-1"]', "input =", "output =", "cached =", "million tokens"):
        assert piece in said


def test_a_failed_call_gives_back_what_it_held_once() -> None:
    budget = Budget(tokens=100)
    held = budget.reserve("plot", "m", 50, 50, None)
    budget.release(held)
    budget.release(held)
    assert (budget.held_tokens, budget.spent_tokens, budget.bill()) == (0, 0, {})


def test_two_alike_reservations_are_two() -> None:
    budget = Budget(tokens=200)
    first, second = (budget.reserve("plot", "m", 50, 50, None) for _ in range(2))
    budget.settle(first, Usage(prompt=50, reply=10))
    assert budget.held_tokens == 100
    budget.settle(second, Usage(prompt=50, reply=10))
    assert (budget.held_tokens, budget.spent_tokens) == (0, 120)


def named(name: str) -> ScriptedModel:
    return ScriptedModel({}, name=name)


ASKED = Request((Message("user", "Continue with the story of the lighthouse."),))
SAID = "The lamp went out, and nobody spoke."


@pytest.mark.parametrize(
    ("prompt", "reply", "estimated"), [(0, 0, "both"), (10, 0, "reply"), (0, 9, "prompt"), (10, 9, "none")]
)
def test_what_a_server_does_not_count_is_counted_here_and_marked(prompt: int, reply: int, estimated: str) -> None:
    usage, _ = counted(ASKED, Reply(SAID, Usage(prompt=prompt, reply=reply)), named("openai-chat:m"))
    asked, said = estimate_tokens(ASKED.messages[0].content), estimate_tokens(SAID)
    assert (usage.prompt, usage.reply) == (prompt or asked, reply or said)
    assert usage.estimated == {"both": asked + said, "reply": said, "prompt": asked, "none": 0}[estimated]


FAR_OFF = [(10_000_000, 9), (11, 10_000_000), (11, 40_000), (-3, 9), (11, -1), (10**30, 10**30)]


@pytest.mark.parametrize(("prompt", "reply"), FAR_OFF)
def test_a_count_far_from_what_was_sent_and_received_is_not_believed(prompt: int, reply: int) -> None:
    usage, claimed = counted(ASKED, Reply(SAID, Usage(prompt, reply=reply, cost=25.0)), named("openai-chat:m"))
    asked, said = estimate_tokens(ASKED.messages[0].content), estimate_tokens(SAID)
    assert (usage.prompt, usage.reply) == (prompt if prompt == 11 else asked, reply if reply == 9 else said)
    assert usage.estimated == (0 if prompt == 11 else asked) + (0 if reply == 9 else said)
    assert usage.cost is None, "what the counts would cost is as wrong as they are"
    assert claimed == (prompt + reply if prompt + reply > usage.prompt + usage.reply else 0)


@pytest.mark.parametrize("times", [10, 50, 1_000])
def test_a_count_far_too_low_is_not_believed(times: int) -> None:
    long = Reply(SAID * times, Usage(prompt=10, reply=3))
    usage, claimed = counted(ASKED, long, named("openai-chat:m"))
    assert (usage.reply, claimed) == (estimate_tokens(long.text), 0)


@pytest.mark.parametrize(("text", "tokens"), [("Yes.", 1), ("Resolution", 1), ("灯塔里没有人。他来了。" * 20, 160)])
def test_a_count_that_a_tokenizer_can_explain_is_believed(text: str, tokens: int) -> None:
    usage, _ = counted(ASKED, Reply(text, Usage(prompt=10, reply=tokens)), named("openai-chat:m"))
    assert (usage.reply, usage.estimated) == (tokens, 0)


@pytest.mark.parametrize("times", [0, 1])
def test_the_form_of_a_reply_may_be_counted_with_the_prompt_or_not(times: int) -> None:
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(300)}}
    form = estimate_tokens(json.dumps(schema))
    assert form > 2_000
    prompt = 11 + form * times
    usage, _ = counted(replace(ASKED, schema=schema), Reply(SAID, Usage(prompt, reply=9)), named("openai-chat:m"))
    assert (usage.prompt, usage.estimated) == (prompt, 0)


def test_reasoning_that_is_not_shown_is_believed_as_far_as_there_was_room_for_it() -> None:
    request = Request(ASKED.messages, Sampling(reasoning="medium"))
    for reply, believed in ((9_000, True), (60_000, False)):
        usage, _ = counted(request, Reply(SAID, Usage(11, reply=reply)), named("openai:m"))
        assert (usage.reply == reply) is believed


def test_what_says_that_it_cost_nothing_took_nothing_on_this_machine_only() -> None:
    assert counted(ASKED, Reply(SAID), named("scripted:a.toml"))[0] == Reply(SAID).usage
    assert counted(ASKED, Reply(SAID), named("openai-chat:m"))[0].estimated > 0


def test_of_what_is_counted_here_a_share_more_is_kept_back_from_a_cap() -> None:
    budget = Budget(tokens=1_000, usd=1.0)
    budget.settle(budget.reserve("plot", "m", 400, 400, CHEAP), Usage(prompt=300, reply=300, estimated=600))
    assert (budget.spent_tokens, budget.bill()["plot"].estimated) == (600, 600)
    assert budget.spent_usd == pytest.approx(0.0036)
    with pytest.raises(BudgetError, match=r"600 are spent \(180 more are reserved, because tokens were est"):
        budget.reserve("plot", "m", 100, 121, CHEAP)
    budget.reserve("plot", "m", 100, 120, CHEAP)


def test_a_call_needs_room_for_the_reply_expected_and_holds_what_it_may_take_as_far_as_there_is_room() -> None:
    budget = Budget(tokens=10_000)
    budget.reserve("plot", "m", 100, 300, None, most=600)
    second = budget.reserve("plot", "m", 100, 9_000, None, most=32_768)
    assert (second.tokens, budget.held_tokens) == (9_300, 10_000)
    with pytest.raises(BudgetError, match=r"may take 250 \(100 of prompt, 150 of reply\)"):
        budget.reserve("plot", "m", 100, 150, None, most=32_768)
    budget.settle(second, Usage(prompt=100, reply=400))
    assert budget.reserve("plot", "m", 100, 5_000, None, most=32_768).tokens == 8_800


@pytest.mark.parametrize("caps", [{"tokens": 1_000}, {"usd": 0.01}], ids=["tokens", "dollars"])
def test_a_reply_that_becomes_longer_holds_more_as_long_as_there_is_room(caps: dict[str, float]) -> None:
    whole = Budget(**caps, of=" of the project")  # type: ignore[arg-type] # the one or the other
    budget = Budget(whole=whole)
    held = budget.reserve("plot", "m", 100, 100, Price(10.0, 10.0))
    budget.grow(held, 350)
    assert held.reply == 700
    budget.grow(held, 900)
    assert (held.reply, whole.held_tokens) == (900, 1_000)
    cap = r"1,000 tokens" if "tokens" in caps else r"\$0\.0100"
    with pytest.raises(
        BudgetError, match=rf"budget of {cap} of the project is exceeded: .* exceeds the tokens left: 901"
    ):
        budget.grow(held, 901)


def test_a_cap_that_is_passed_is_said_and_nothing_more_is_let_in() -> None:
    budget = Budget(usd=0.01, whole=Budget())
    budget.settle(budget.reserve("plot", "m", 100, 100, CHEAP), Usage(prompt=100, reply=10_000))
    assert budget.passed == (
        "The budget of $0.0100 is exceeded: $0.1002 are spent. The last call (role 'plot', m) used more than "
        "expected. All finished work is kept."
    )
    with pytest.raises(BudgetError, match=r"Stopped, as the budget of \$0\.0100 is exceeded: \$0\.1002 are spent"):
        budget.reserve("plot", "m", 1, 1, CHEAP)


def test_a_call_that_waited_for_its_turn_is_refused_once_others_have_taken_what_was_left() -> None:
    whole = Budget(tokens=1_000, of=" of the experiment")
    part = Budget(whole=whole)
    held = part.reserve("plot", "m", 100, 300, None)
    part.confirm(held, 300)  # what it holds itself is not in its way
    whole.charge(Usage(prompt=400, reply=200))  # as another worker says
    part.confirm(held, 300)
    whole.charge(Usage(prompt=0, reply=1))
    with pytest.raises(BudgetError, match=r"before the budget of 1,000 tokens of the experiment .* 601 are spent"):
        part.confirm(held, 300)
    assert held in whole.held


async def test_a_call_waits_for_room_that_those_now_running_may_leave() -> None:
    budget = Budget(tokens=500)
    first = await budget.admit("plot", "m", 100, 300, None)
    second = asyncio.create_task(budget.admit("plot", "m", 100, 300, None))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not second.done()
    budget.settle(first, Usage(prompt=50, reply=40))
    budget.settle(await second, Usage(prompt=100, reply=300))
    with pytest.raises(BudgetError):
        await budget.admit("plot", "m", 10, 10, None)


async def test_a_part_waits_for_the_other_parts_of_its_whole() -> None:
    whole = Budget(tokens=500, of=" of the project")
    one, other = Budget(whole=whole), Budget(tokens=10_000, whole=whole)
    first = await one.admit("plot", "m", 100, 300, None)
    second = asyncio.create_task(other.admit("plot", "m", 100, 300, None))
    await asyncio.sleep(0)
    one.release(first)
    assert (await second).tokens == 400
    assert (whole.held_tokens, one.held_tokens, other.held_tokens) == (400, 0, 400)
    other.settle(await second, Usage(prompt=100, reply=300))
    assert (whole.spent_tokens, one.spent_tokens, other.spent_tokens, whole.held_tokens) == (400, 0, 400, 0)
    with pytest.raises(BudgetError, match=r"budget of 500 tokens of the project is exceeded: 400 are spent"):
        one.reserve("plot", "m", 101, 0, None)
    assert one.held_tokens == 0


def test_one_unknown_cost_makes_the_bill_unknown_never_zero() -> None:
    budget = Budget()
    for known in (0.5, None):
        budget.settle(budget.reserve("plot", "m", 1, 1, None), Usage(prompt=1, cost=known))
    assert budget.bill()["plot"].cost is None


async def test_calls_side_by_side_never_pass_the_cap_together() -> None:
    budget = Budget(tokens=1_000)
    stopped = 0

    async def call() -> None:
        nonlocal stopped
        try:
            held = budget.reserve("plot", "m", 50, 100, None)
        except BudgetError:
            stopped += 1
            return
        await asyncio.sleep(0)
        budget.settle(held, Usage(prompt=50, reply=100))

    await asyncio.gather(*(call() for _ in range(20)))
    assert (budget.spent_tokens, stopped) == (900, 14)


# --- prices ---------------------------------------------------------------------------------------------------------


def test_cost_counts_cached_tokens_at_their_price() -> None:
    assert cost(CHEAP, Usage(prompt=1_000_000, cached=400_000, reply=100_000)) == pytest.approx(1.2 + 0.2 + 1.0)
    assert cost(Price(2.0, 10.0), Usage(prompt=1_000_000, cached=400_000)) == pytest.approx(2.0)


def test_more_cached_than_prompt_is_never_negative() -> None:
    assert cost(CHEAP, Usage(prompt=10, cached=50)) == pytest.approx(10 * 0.5 / 1e6)


def test_a_long_prompt_pays_its_price_for_every_token() -> None:
    price = Price(1.0, 10.0, over=(1_000, Price(2.0, 20.0)))
    assert cost(price, Usage(prompt=1_000, reply=100)) == pytest.approx(0.002)
    assert cost(price, Usage(prompt=1_001, reply=100)) == pytest.approx(0.004002)


def test_hosted_models_are_priced_from_the_librarys_data() -> None:
    known = price_of("openai:gpt-4o", {})
    assert known is not None
    assert (known.input, known.cached, known.output, known.over) == (2.5, 1.25, 10.0, None)
    tiered = price_of("google:gemini-2.5-pro", {})
    assert tiered is not None
    assert tiered.over is not None
    assert tiered.over[0] == 200_000
    assert tiered.over[1].input > tiered.input


@pytest.mark.parametrize(
    "name", ["openai:tale-1", "openai:text-embedding-3-small", "openai-chat:gpt-4o", "openai", "openai:", "nonsense:x"]
)
def test_what_is_not_known_has_no_price(name: str) -> None:
    assert price_of(name, {}) is None


@pytest.mark.parametrize("name", ["embedded:smollm2", "scripted:a.toml", "scripted", "replay:run"])
def test_what_runs_here_is_free(name: str) -> None:
    assert price_of(name, {}) == FREE


def test_settings_go_before_data_under_the_whole_name_or_the_models() -> None:
    assert price_of("openai:gpt-4o", {"openai:gpt-4o": CHEAP}) == CHEAP
    assert price_of("openai-chat:tale-1", {"tale-1": CHEAP}) == CHEAP
    assert price_of("embedded:smollm2", {"embedded:smollm2": CHEAP}) == CHEAP
    assert price_of("openai-chat:tale-1", {"tale-1": FREE, "openai-chat:tale-1": CHEAP}) == CHEAP


# --- estimate -------------------------------------------------------------------------------------------------------

# counted by the tokenisers of SmolLM2 and Qwen2.5
ENGLISH = """The lamp went out before Mara reached the landing. She counted the steps by touch, eleven, twelve, and \
stopped where the wall had always been warm. Nobody spoke. Below her the harbour bell rang twice, and in the pause \
that followed she understood that the door had been open all along."""
DIALOGUE = """“You said tonight,” she whispered. “You promised.”

“I said when the tide turns” — he did not look up — “and it hasn\u2019t.”

“Then when?\u201d"""
DATA = """[{"name": "Mara", "wants": "the lamp lit", "scene": 1}, {"name": "Ilya", "wants": "to be gone by 06:40", \
"scene": 2}]"""
GERMAN = """Die Lampe erlosch, bevor Mara den Treppenabsatz erreichte. Sie zählte die Stufen mit den Fingern, elf, \
zwölf, und blieb stehen, wo die Wand immer warm gewesen war. Niemand sprach. Über dem Hafen schlug die Glocke \
zweimal."""
COUNTED = [(ENGLISH, (60, 59)), (DIALOGUE, (42, 35)), (DATA, (53, 52)), (GERMAN, (88, 69))]


@pytest.mark.parametrize(("text", "counts"), COUNTED)
def test_the_estimate_is_within_30_percent_of_real_tokenisers(text: str, counts: tuple[int, int]) -> None:
    for count in counts:
        assert 0.7 <= estimate_tokens(text) / count <= 1.3


def test_nothing_has_no_tokens_and_anything_has_one() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "é", "\ud800", " ")] == [0, 1, 1, 2, 1]


def test_longer_texts_of_other_scripts_are_counted_too() -> None:
    assert estimate_tokens("灯灭了，屋里没有人说话。" * 10) >= 100  # noqa: RUF001 -- Chinese as it is printed
