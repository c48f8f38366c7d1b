"""The scripted model: answers by path, prompt or role, counts what it was asked, and refuses what is not scripted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, ModelError
from fabula.models.base import NOTHING_USED, Message, Reply, Request, Sampling, Usage
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path


def request(role: str = "climax", path: str = "climax/section") -> Request:
    return Request((Message("user", "Go on, please."),), Sampling(max_tokens=9), role=role, path=path)


async def test_a_path_goes_before_a_prompt_of_a_role_and_that_before_the_role() -> None:
    model = ScriptedModel({"climax": "by role", "climax:extend": "by prompt", "climax/extend/2/extend": "by path"})
    assert (await model.ask(request())).text == "by role"
    assert (await model.ask(request(path="climax/extend/1/extend"))).text == "by prompt"
    assert (await model.ask(request(path="climax/extend/2/extend"))).text == "by path"


async def test_texts_of_a_list_are_given_in_turn_by_path_and_the_last_repeats() -> None:
    model = ScriptedModel({"climax": ["one", "two"]})
    assert [(await model.ask(request())).text for _ in range(3)] == ["one", "two", "two"]
    assert (await model.ask(request(path="elsewhere/section"))).text == "one"


async def test_usage_is_counted_in_words_and_costs_nothing() -> None:
    heard: list[str] = []
    reply = await ScriptedModel({"climax": "The lamp was lit."}).ask(request(), heard.append)
    assert reply.usage == Usage(prompt=3, reply=4, cost=0.0)
    assert reply.sent == {"max_tokens": 9}
    assert heard == ["The lamp was lit."]


async def test_a_function_may_answer_at_once_or_later_with_text_or_a_reply() -> None:
    async def later(asked: Request) -> str:
        return f"later {asked.path}"

    assert (await ScriptedModel(lambda asked: f"now {asked.role}").ask(request())).text == "now climax"
    assert (await ScriptedModel(later).ask(request())).text == "later climax/section"
    whole = Reply("whole", NOTHING_USED, "length")
    assert await ScriptedModel(lambda _: whole).ask(request()) is whole


async def test_what_is_not_scripted_is_an_error_that_names_role_and_path() -> None:
    model = ScriptedModel({"plot": "x"})
    with pytest.raises(ModelError, match=r"no reply for the role 'climax' \(at climax/section\)\. Add it under \[repl"):
        await model.ask(request())
    assert [asked.path for asked in model.asked] == ["climax/section"]
    await model.close()


async def test_a_script_is_read_from_a_file_and_its_content_is_its_identity(tmp_path: Path) -> None:
    file = tmp_path / "script.toml"
    file.write_text('[replies]\nclimax = "From the file."\n', encoding="utf-8")
    model = ScriptedModel.read(file)
    assert (await model.ask(request())).text == "From the file."
    assert model.name == f"scripted:{file}"
    file.write_text('[replies]\nclimax = "Changed."\n', encoding="utf-8")
    assert ScriptedModel.read(file).identity != model.identity


def test_a_missing_script_is_named_with_a_near_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no file .*scirpt\.toml\. .* or give a script \(a TOML file\)\."):
        ScriptedModel.read(tmp_path / "scirpt.toml")
    (tmp_path / "script.toml").touch()
    with pytest.raises(ConfigError, match=r"There is no file .*scirpt\.toml\. Did you mean '.*script\.toml'\?"):
        ScriptedModel.read(tmp_path / "scirpt.toml")


@pytest.mark.parametrize("data", [b"[replies", b"[replies]\nx = 'caf\xe9'"])
def test_a_script_that_cannot_be_read_is_named(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "script.toml"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=r"Cannot read the script .*script.toml: .* Use a TOML file\."):
        ScriptedModel.read(file)


@pytest.mark.parametrize("text", ["", "replies = 3", "[replies]"])
def test_a_script_without_replies_is_told_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "script.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"has no table \[replies\] with a text for each role\."):
        ScriptedModel.read(file)


@pytest.mark.parametrize("value", ["3", "[]", '["one", 2]', "{ text = 'x' }"])
def test_a_reply_that_is_no_text_is_named(tmp_path: Path, value: str) -> None:
    file = tmp_path / "script.toml"
    file.write_text(f"[replies]\nclimax = {value}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"script.toml: the reply 'climax' is neither a text nor a list of texts\."):
        ScriptedModel.read(file)
