"""Roles are played by models, persons and programs, freely mixed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, ModelError, UnknownNameError
from fabula.engine.roles import Assignment, Cast, Person, Program, load_function, own_model
from fabula.models.base import Message, Request
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = Request((Message("user", "Who are you?"),), role="character", path="characters/character")


async def answering(request: Request) -> str:
    return f"Asked: {request.messages[-1].content}"


async def test_a_model_of_ones_own_takes_the_time_it_takes() -> None:
    class Slow:
        async def reply(self, prompt: str) -> str:
            await asyncio.sleep(0.05)
            return f"Asked: {prompt}"

    reply = await own_model(Slow()).ask(REQUEST)
    assert reply.usage.seconds >= 0.05


async def test_a_person_answers_the_request_and_costs_nothing() -> None:
    heard: list[str] = []
    person = Person("me", answering)
    reply = await person.ask(REQUEST, heard.append)
    assert (reply.text, reply.model, reply.usage.cost) == ("Asked: Who are you?", "person:me", 0.0)
    assert heard == ["Asked: Who are you?"]
    assert person.identity == person.name == "person:me"
    await person.close()


async def test_a_program_that_fails_is_named_with_its_line() -> None:
    def crash(_: Request) -> str:
        raise ValueError("no such file")

    with pytest.raises(
        ModelError, match=r"program:roles.py:crash, which plays the role 'character', failed: ValueError: no such file "
        r"\(test_roles.py, line \d+\)\. Correct it",
    ):  # fmt: skip
        await Program("roles.py:crash", crash).ask(REQUEST)


@pytest.mark.parametrize("error", [SystemExit(0), StopIteration(), RuntimeError("a\x1b[2Jb\nc" + "x" * 9_000)])
@pytest.mark.parametrize("threaded", [False, True])
async def test_however_a_program_ends_the_run_says_so_in_one_line(error: BaseException, threaded: bool) -> None:  # noqa: FBT001 -- parametrised
    class Own:
        def reply(self, _: str) -> str:
            raise error

    def crash(_: Request) -> str:
        raise error

    program = own_model(Own()) if threaded else Program("roles.py:crash", crash)
    with pytest.raises(ModelError, match=rf"failed: .*{type(error).__name__}.*\(test_roles.py, line \d+\)") as failure:
        await asyncio.wait_for(program.ask(REQUEST), 10)
    said = str(failure.value)
    assert len(said) < 600
    assert said.isprintable()


async def test_a_program_may_be_a_plain_or_an_async_function() -> None:
    for function in (answering, lambda request: f"Asked: {request.messages[-1].content}"):
        program = Program("roles.py:answer", function)
        reply = await program.ask(REQUEST)
        assert (reply.text, reply.model) == ("Asked: Who are you?", "program:roles.py:answer")
        assert program.identity == program.name
        await program.close()


@pytest.mark.parametrize("said", ["", " \n ", None, 7])
async def test_a_performer_without_text_is_named_with_its_role(said: object) -> None:
    program = Program("roles.py:answer", lambda _: said)  # type: ignore[arg-type,return-value] # a user's mistake
    with pytest.raises(ModelError, match=r"program:roles.py:answer gave no text for the role 'character'\. Give") as e:
        await program.ask(REQUEST)
    assert e.value.model == "program:roles.py:answer"


async def test_a_cast_gives_named_roles_their_performer_and_the_others_the_default() -> None:
    model, other = ScriptedModel({}), ScriptedModel({}, name="other")
    cast = Cast(Assignment(model), {"critic": Assignment(other)})
    assert cast.assignment("critic").performer is other
    assert cast.assignment("writer").performer is model
    assert Cast.of(model).assignment("critic").performer is model


async def test_a_performer_of_two_roles_is_closed_once() -> None:
    closed = []

    class Closing(ScriptedModel):
        async def close(self) -> None:
            closed.append(self.name)

    one, two = Closing({}, name="one"), Closing({}, name="two")
    await Cast(Assignment(one), {"a": Assignment(two), "b": Assignment(two), "c": Assignment(one)}).close()
    assert closed == ["one", "two"]


def test_a_users_function_is_loaded_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def next_one(scratchpad, agents):\n    return 'Setting'\n")
    assert load_function(f"{file}:next_one")(None, None) == "Setting"


def test_a_users_file_may_hold_dataclasses(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Mood:\n    name: str\ndef answer(request):\n    return Mood('calm').name + __file__\n"
    )
    assert load_function(f"{file}:answer")(None) == f"calm{file}"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("missing.py:f", r"\. There is no Python file missing\.py\."),
        ("no-colon.py", r": the name of the file must end in \.py\."),
        ("file.txt:f", r": the name of the file must end in \.py\."),
        (":f", r": the name of the file must end in \.py\."),
    ],
)
def test_what_names_no_function_is_told_how_to_write_it(spec: str, why: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"^'{spec}' does not name a Python function{why} Write it as path/to/file\.py:f"
    ):
        load_function(spec)


def test_an_unknown_function_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("LIMIT = 3\ndef next_one(): ...\ndef _hidden(): ...\n")
    with pytest.raises(UnknownNameError, match=r"Unknown function in .*mine.py 'nextone'. Did you mean 'next_one'\?"):
        load_function(f"{file}:nextone")
    with pytest.raises(UnknownNameError, match=r"Unknown function in .*mine.py 'LIMIT'. Known: next_one\."):
        load_function(f"{file}:LIMIT")


def test_a_file_that_is_no_python_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1\ndef broken(:\n    pass\n")
    with pytest.raises(ConfigError, match=r"mine.py is not valid Python: .*\(line 2\)\. Correct it\."):
        load_function(f"{file}:broken")
