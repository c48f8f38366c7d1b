"""A person stands in for a role's model, hands turns back and takes over; people of the story are cast by name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import BudgetError, ModelError, RefusalError, UnknownNameError, UsageError
from fabula.craft.personas import check_cast
from fabula.engine.events import CallFinished
from fabula.engine.journal import Journal, spent_by_role
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, HandBackError, Person, Program, is_person, role_key
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Message, Price, Reply, Request, Usage
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUEST = Request((Message("user", "Your turn."),), role="Mara", path="turn/1/say")
CONTINUES = Capabilities(schema=True, continues=True, parallel=3, context=512, small=True)


PASS, HAND_BACK = HandBackError(for_good=False), HandBackError(for_good=True)


def saying(*texts: str | HandBackError) -> Any:  # noqa: ANN401 - an `Answer`
    """A person who says these in turn, or hands back."""
    left = list(texts)

    async def answer(request: Request) -> str:
        assert request.role == "Mara"
        said = left.pop(0)
        if isinstance(said, HandBackError):
            raise said
        return said

    return answer


def model(reply: int = 3, **more: Any) -> ScriptedModel:  # noqa: ANN401 - what ScriptedModel takes
    return ScriptedModel(
        lambda request: Reply(f" model at {request.path}", Usage(prompt=2, reply=reply, cost=0.5)),
        name="openai:big", identity="openai:big@1", capabilities=CONTINUES, **more,
    )  # fmt: skip


# the person -----------------------------------------------------------------------------------------------------------


def test_a_person_has_the_identity_and_the_capabilities_of_the_model_they_stand_in_for() -> None:
    person = Person("me", saying(), model())
    assert (person.name, person.identity) == ("person:me", "openai:big@1")
    assert person.capabilities == Capabilities(
        schema=True, continues=True, parallel=3, context=512, small=True, stands_in=True
    )
    assert Person("me", saying()).identity == "person:me"
    assert Person("me", saying()).capabilities == Capabilities(parallel=1, sampling=frozenset())


async def test_a_person_passes_one_turn_to_the_model() -> None:
    person = Person("me", saying("Mine.", PASS, "Mine again."), model())
    replies = [await person.ask(REQUEST) for _ in range(3)]
    assert [reply.text for reply in replies] == ["Mine.", " model at turn/1/say", "Mine again."]
    assert [reply.model for reply in replies] == ["person:me", "openai:big@1", "person:me"]
    assert [reply.usage.cost for reply in replies] == [0.0, 0.5, 0.0]


async def test_a_person_hands_the_role_back_for_good() -> None:
    heard: list[str] = []
    person = Person("me", saying(HAND_BACK), model())
    assert [(await person.ask(REQUEST, heard.append)).model for _ in range(3)] == ["openai:big@1"] * 3
    assert heard == [" model at turn/1/say"] * 3


async def test_without_a_model_nothing_is_handed_back() -> None:
    with pytest.raises(ModelError, match=r"There is no model to play 'Mara'\. Write its text\."):
        await Person("me", saying(PASS)).ask(REQUEST)
    person = Person("me", saying(), _handed_back=True)
    with pytest.raises(ModelError, match=r"No one plays 'Mara'\. Cast the role again\."):
        await person.ask(REQUEST)


async def test_a_model_is_closed_once_though_a_person_stands_in_for_it() -> None:
    closed = Counter[str]()

    class Closing(ScriptedModel):
        async def close(self) -> None:
            closed[self.name] += 1

    shared, own = Closing({}, name="shared"), Closing({}, name="own")
    people = {"a": Assignment(Person("me", saying(), shared)), "b": Assignment(Person("me", saying(), own)),
              "c": Assignment(Person("me", saying()))}  # fmt: skip
    await Cast(Assignment(shared), people).close()
    assert closed == {"shared": 1, "own": 1}


def test_people_are_told_from_models_by_their_recorded_names() -> None:
    assert is_person("person:me")
    assert not is_person("openai:person")


# the run --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    (tmp_path / "say.jinja").write_text(
        "{% block user %}Turn {{ turn }}.{% endblock %}{% block opening %}Mara {% endblock %}"
    )
    with Journal() as journal:
        yield journal


async def play(journal: Journal, folder: Path, performer: Any, turns: int = 3, **more: Any) -> list[str]:  # noqa: ANN401 - a `Model`
    run = Run(RunContext(journal, SystemPrompts(folder), Cast.of(performer), **more))
    return [(await run.scope("turn", turn).reply("Mara", "say", turn=turn)).text for turn in range(turns)]


def performers(journal: Journal) -> list[str]:
    return [call.performer for call in journal.calls.find(prompts=True)]


async def test_the_persons_text_is_whole_and_the_models_goes_on_from_the_opening(
    journal: Journal, tmp_path: Path
) -> None:
    person = Person("me", saying("Mara stands.", PASS, "Mara sits."), model())
    said = await play(journal, tmp_path, person)
    assert said == ["Mara stands.", "Mara model at turn/1/say", "Mara sits."]
    assert performers(journal) == ["person:me", "openai:big@1", "person:me"]


async def test_without_the_person_their_turns_are_replayed(journal: Journal, tmp_path: Path) -> None:
    first = await play(journal, tmp_path, Person("me", saying("Mara stands.", PASS), model()), 2)
    later = model()
    assert await play(journal, tmp_path, later, 3) == [*first, "Mara model at turn/2/say"]
    assert len(later.asked) == 1
    assert await play(journal, tmp_path, model(), mode="frozen") == [*first, "Mara model at turn/2/say"]


async def test_a_person_who_takes_over_keeps_the_models_turns(journal: Journal, tmp_path: Path) -> None:
    await play(journal, tmp_path, model(), 2)
    heard: list[Any] = []
    said = await play(journal, tmp_path, Person("me", saying("Mara leaves."), model()), listeners=[heard.append])
    assert said == ["Mara model at turn/0/say", "Mara model at turn/1/say", "Mara leaves."]
    finished = [(event.performer, event.replayed) for event in heard if isinstance(event, CallFinished)]
    assert finished == [("openai:big@1", True), ("openai:big@1", True), ("person:me", False)]


async def test_a_person_costs_nothing_and_the_model_after_them_its_price(journal: Journal, tmp_path: Path) -> None:
    person = Person("me", saying("Mara stands.", HAND_BACK), model())
    prices = {"openai:big": Price(1_000.0, 10_000.0)}
    context = RunContext(journal, SystemPrompts(tmp_path), Cast.of(person), prices=prices)
    for turn in range(3):
        await Run(context).scope("turn", turn).ask("Mara", "say", turn=turn)
    assert context.budget.bill()["Mara"].reply == 6
    assert context.budget.spent_usd == pytest.approx(2 * (2 * 1_000 + 3 * 10_000) / 1e6)
    assert [call.reply.usage.cost for call in journal.calls.find(prompts=True)] == [
        0.0,
        pytest.approx(0.032),
        pytest.approx(0.032),
    ]


async def test_a_cap_holds_for_what_a_person_hands_back(journal: Journal, tmp_path: Path) -> None:
    prices, budget = {"openai:big": Price(1_000.0, 10_000.0)}, Budget(usd=5.1)
    person = Person("me", saying(HAND_BACK), model(reply=450))
    with pytest.raises(BudgetError, match=r"the next call \(role 'Mara', openai:big\) may take \$4\.\d+"):
        await play(journal, tmp_path, person, prices=prices, budget=budget)
    assert len(journal.calls.find(prompts=True)) == 1
    assert budget.spent_usd == pytest.approx(4.502)


async def test_a_person_plays_on_when_a_cap_is_reached_or_the_models_price_is_unknown(
    journal: Journal, tmp_path: Path
) -> None:
    person = Person("me", saying("One.", "Two.", PASS), model())
    with pytest.raises(BudgetError):
        await play(journal, tmp_path, person, budget=Budget(tokens=1))
    assert performers(journal) == ["person:me"] * 2
    context = RunContext(journal, SystemPrompts(tmp_path), Cast.of(Person("me", saying("Four.", PASS), model())))
    context.budget = Budget(usd=1.0)
    assert await Run(context).scope("turn", 4).ask("Mara", "say", turn=4) == "Four."
    with pytest.raises(UsageError, match="The price of openai:big"):
        await Run(context).scope("turn", 5).ask("Mara", "say", turn=5)


async def test_who_hands_back_is_not_asked_again_when_the_model_declines(journal: Journal, tmp_path: Path) -> None:
    declines = ScriptedModel(
        lambda request: Reply("", Usage(prompt=5, reply=1), "refusal"), name="openai:big", identity="openai:big@1"
    )
    context = RunContext(journal, SystemPrompts(tmp_path), Cast.of(Person("me", saying(PASS), declines)))
    with pytest.raises(RefusalError, match="openai:big@1 declined 3 times"):
        await Run(context).ask("Mara", "say", turn=0)
    assert context.budget.spent_tokens == 18
    assert spent_by_role(journal.calls)["Mara"].prompt == 15, (
        "what came to nothing was paid, and is known to the project"
    )


async def test_a_program_takes_no_tokens_of_a_cap(journal: Journal, tmp_path: Path) -> None:
    program = Program("p.py:f", lambda request: f"at {request.path}")
    budget = Budget(tokens=1, usd=0.0)
    assert len(await play(journal, tmp_path, program, budget=budget)) == 3
    assert (budget.spent_tokens, budget.spent_usd) == (0, 0.0)


# people of the story --------------------------------------------------------------------------------------------------


def troupe(**roles: ScriptedModel) -> Cast:
    parts = {name: Assignment(performer) for name, performer in roles.items()}
    return Cast(Assignment(ScriptedModel({}, name="all")), parts, ("director", "character"), "character")


def name_of(cast: Cast, role: str) -> str:
    return cast.assignment(role).performer.name


def test_people_who_are_not_cast_by_name_are_played_by_the_open_role() -> None:
    cast = troupe(old_tom=ScriptedModel({}, name="tom"), character=ScriptedModel({}, name="others"))
    played = {role: name_of(cast, role) for role in ("Old Tom", "old-tom", "Mara", "character", "director")}
    assert played == {"Old Tom": "tom", "old-tom": "tom", "Mara": "others", "character": "others", "director": "all"}


def test_without_a_performer_of_the_open_role_the_default_plays_it() -> None:
    assert {name_of(troupe(), role) for role in ("Mara", "character", "director")} == {"all"}
    assert name_of(Cast.of(ScriptedModel({}, name="all")), "Mara") == "all"


def test_a_role_cast_for_somebody_who_is_not_in_the_story_names_the_nearest() -> None:
    troupe(mara=ScriptedModel({}), director=ScriptedModel({})).check_cast("character", ["Mara", "Tobias"])
    with pytest.raises(UnknownNameError, match=r"Unknown character 'mora'. Did you mean 'mara'\?"):
        troupe(mora=ScriptedModel({})).check_cast("character", ["Mara", "Tobias"])
    with pytest.raises(UnknownNameError, match=r"Unknown character 'directer'. Did you mean 'director'\?"):
        troupe(directer=ScriptedModel({})).check_cast("character", ["Mara"])


def test_without_an_open_role_anybody_may_be_met() -> None:
    Cast(Assignment(ScriptedModel({})), {"zoe": Assignment(ScriptedModel({}))}, ("plot",)).check_cast(
        "character", ["Mara"]
    )


def test_a_run_meets_the_people_of_its_story(journal: Journal, tmp_path: Path) -> None:
    run = Run(RunContext(journal, SystemPrompts(tmp_path), troupe(mora=ScriptedModel({}))))
    with pytest.raises(UnknownNameError, match="Unknown character 'mora'"):
        check_cast(run, "character", ["Mara"])
    assert Run(RunContext(journal, SystemPrompts(tmp_path), Cast.of(model()))).room("Mara").window == 512


@pytest.mark.parametrize("name", ["Old Tom", "old-tom", "old_tom", "  OLD   tom "])
def test_a_roles_name_is_stored_in_one_form(name: str) -> None:
    assert role_key(name) == "old_tom"
