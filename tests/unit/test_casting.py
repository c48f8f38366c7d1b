"""Names become performers; unknown ones are named with the nearest, and nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygguf
from fabula.base.errors import ConfigError, ModelUnavailableError, UnknownNameError, UsageError
from fabula.engine.replay import ReplayModel
from fabula.engine.roles import Cast, Person, Program
from fabula.models import embedded
from fabula.models.adapters import Adapted, digest_of
from fabula.models.base import Message, Request, Sampling
from fabula.models.gguf import write_gguf
from fabula.models.known import KNOWN, fingerprint
from fabula.models.limits import Limited
from fabula.models.scripted import ScriptedModel
from fabula.project.casting import Environment, base_sampling, full_name, open_cast, open_model
from fabula.project.settings import ModelTable, Settings

ROLES = ("plot", "climax")
REQUEST = Request((Message("user", "Begin."),))


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.toml"
    file.write_text('[replies]\nplot = "x"\n')
    return f"scripted:{file}"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("smollm2", "embedded:smollm2"),
        ("embedded", "embedded:smollm2"),
        ("embedded:/m/any.gguf", "embedded:/m/any.gguf"),
        ("openai-chat:llama", "openai-chat:llama"),
        ("seq2seq:models/bart", "seq2seq:models/bart"),
    ],
)
def test_short_names_are_completed(spec: str, name: str) -> None:
    assert full_name(spec) == name


@pytest.mark.parametrize(
    ("spec", "near"),
    [("gpt-5", "openai"), ("claude-opus-5", "anthropic"), ("Gemini-3-pro", "google"), ("o3-mini", "openai")],
)
def test_a_model_without_its_maker_is_told_it(spec: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"^Unknown model '{spec}'. Did you mean '{near}:{spec}'"):
        full_name(spec)


@pytest.mark.parametrize(
    ("spec", "near"), [("smollm", "smollm2"), ("openai", "openai:"), ("antropic:x", "anthropic:x")]
)
def test_an_unknown_model_names_the_nearest(spec: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Unknown model '{spec}'. Did you mean '{near}'"):
        full_name(spec)


def test_scripted_and_replayed_models_have_no_limits_around_them(script: str, tmp_path: Path) -> None:
    assert isinstance(open_model(script, ModelTable(), Environment()), ScriptedModel)
    assert isinstance(open_model(f"replay:{tmp_path}", ModelTable(), Environment()), ReplayModel)


def test_an_embedded_model_gets_what_its_table_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Engine(ScriptedModel):
        def __init__(self, weights: Path, **more: Any) -> None:  # noqa: ANN401 - whatever is handed on
            super().__init__({}, name=more["name"])
            given.update(more, weights=weights)

    monkeypatch.setattr(embedded, "EmbeddedModel", Engine)
    weights = tmp_path / "any.gguf"
    weights.write_bytes(b"GGUF")
    table = ModelTable(slots=2, threads=1, context=512)
    model = open_model(f"embedded:{weights}", table, Environment(), {"plot": Path("plot.gguf")})
    assert isinstance(model, Limited)
    assert model.name == f"embedded:{weights}"
    assert (given["weights"], given["slots"], given["context"], given["threads"]) == (weights, 2, 512, 1)
    assert given["adapters"] == {"plot": Path("plot.gguf")}
    everywhere = Environment({"FABULA_THREADS": "3", "XDG_CACHE_HOME": "/cache"})
    open_model(f"embedded:{weights}", table, everywhere)
    assert (given["threads"], given["cache"]) == (1, Path("/cache/fabula"))
    open_model(f"embedded:{weights}", ModelTable(), everywhere)
    assert given["threads"] == 3
    open_model(f"embedded:{weights}", ModelTable(), Environment())
    assert given["threads"] is None, "the engine measures"


@pytest.mark.parametrize("said", ["0", "-1", "four", "513", "9" * 5000, "\u0663"])
def test_a_number_of_threads_that_cannot_be_is_refused(said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"FABULA_THREADS is .* from 1 to 512\. If it is not set, fabula measures"):
        open_model(f"embedded:{tmp_path / 'any.gguf'}", ModelTable(), Environment({"FABULA_THREADS": said}))


async def test_an_embedded_model_without_weights_says_how_to_get_them_when_it_is_asked(tmp_path: Path) -> None:
    model = open_model("smollm2", ModelTable(), Environment({"FABULA_MODELS": str(tmp_path)}))
    with pytest.raises(ModelUnavailableError, match="fabula models pull smollm2"):
        await model.ask(REQUEST)


def test_a_server_is_reached_as_its_table_says() -> None:
    table = ModelTable(base_url="http://127.0.0.1:9/v1", parallel=3, timeout=5)
    model = open_model("openai-chat:llama", table, Environment())
    assert isinstance(model, Limited)
    assert (model.name, model.capabilities.parallel) == ("openai-chat:llama", 3)


async def test_a_hosted_model_without_a_key_says_where_the_key_goes_when_it_is_asked() -> None:
    model = open_model("anthropic:claude-haiku-4-5", ModelTable(key_env="MY_KEY"), Environment({}))
    with pytest.raises(ModelUnavailableError, match="MY_KEY"):
        await model.ask(REQUEST)


def test_a_known_small_model_brings_its_values_against_loops() -> None:
    assert base_sampling("smollm2") == KNOWN["smollm2"].sampling != Sampling()
    assert base_sampling("openai-chat:llama") == base_sampling("embedded:/m/any.gguf") == Sampling()


async def test_one_model_serves_all_roles_that_name_it(script: str) -> None:
    settings = Settings.of({"model": script, "roles": {"plot": {"model": script, "temperature": 0.2}}}, "file")
    cast = open_cast(settings, ROLES, Environment())
    assert cast.assignment("plot").performer is cast.assignment("climax").performer
    assert cast.assignment("plot").sampling == Sampling(temperature=0.2)
    assert cast.assignment("climax").sampling == Sampling()
    await cast.close()


def test_a_role_keeps_the_common_values_it_does_not_set_and_may_have_an_adapter(script: str) -> None:
    tables = {"roles": {"plot": {"temperature": 0.2}}, "adapters": {"plot": "plot-lora"}}
    settings = Settings.of({"model": script, "sampling": {"temperature": 0.9, "top_p": 0.8}, **tables}, "file")
    cast = open_cast(settings, ROLES, Environment())
    assert cast.assignment("plot").sampling == Sampling(temperature=0.2, top_p=0.8)
    assert (cast.assignment("plot").adapter, cast.assignment("climax").adapter) == ("plot-lora", None)
    assert cast.assignment("climax").sampling == Sampling(temperature=0.9, top_p=0.8)


def test_the_default_model_is_not_opened_where_every_role_is_cast(script: str) -> None:
    settings = Settings.of({"model": "smollm2", "roles": {role: {"model": script} for role in ROLES}}, "file")
    cast = open_cast(settings, ROLES, Environment())  # smollm2's weights are not here, so opening it would fail
    assert cast.default.performer.name == script


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())


def cast_on(base: Path, **adapters: str) -> Cast:
    settings = Settings.of({"model": f"embedded:{base}", "adapters": adapters}, "file")
    return open_cast(settings, ROLES, Environment({"XDG_CACHE_HOME": str(base.parent / "cache")}))


def test_a_room_gives_each_role_its_adapter_on_one_engine(base: Path, tmp_path: Path) -> None:
    room = tinygguf.write_room(tmp_path / "room", base, {"plot": 5, "climax": 6})
    cast = cast_on(base, room=str(room))
    plot, climax, bare = (cast.assignment(role).performer for role in ("plot", "climax", "reviser"))
    assert isinstance(plot, Adapted)
    assert isinstance(climax, Adapted)
    assert plot.model is climax.model is bare, "one engine, and roles without an adapter are played by the base alone"
    assert len({plot.identity, climax.identity, bare.identity}) == 3
    assert plot.identity == f"{bare.identity}+{fingerprint(room / 'plot/adapter.gguf')}"
    assert set(plot.capabilities.adapters) == {plot.digest, climax.digest}


def test_who_has_an_adapter_is_not_given_first_words_and_others_of_its_engine_are(base: Path, tmp_path: Path) -> None:
    """What is trained on is what is asked: examples have no first words either."""
    room = tinygguf.write_room(tmp_path / "room", base, {"plot": 5})
    cast = cast_on(base, room=str(room))
    assert [cast.assignment(role).begins_with_words for role in ("plot", "climax")] == [False, True]


def test_what_is_said_of_a_role_goes_before_its_room(base: Path, tmp_path: Path) -> None:
    room = tinygguf.write_room(tmp_path / "room", base, {"plot": 5, "climax": 6})
    other = tinygguf.write_room(tmp_path / "other", base, {"plot": 7})
    of_room, mixed = (
        cast_on(base, room=str(room)),
        cast_on(base, room=str(room / "room.toml"), plot=str(other / "plot")),
    )
    assert mixed.assignment("plot").performer.identity != of_room.assignment("plot").performer.identity
    assert mixed.assignment("climax").performer.identity == of_room.assignment("climax").performer.identity
    bare = cast_on(base, room=str(room), plot="").assignment("plot").performer
    assert bare.identity == cast_on(base).assignment("plot").performer.identity


def test_an_adapter_of_another_program_is_converted_once(base: Path, tmp_path: Path) -> None:
    folder = tinygguf.write_peft(tmp_path / "peft", tinygguf.adapter(5))
    first = cast_on(base, plot=str(folder)).assignment("plot").performer.identity
    (made,) = (tmp_path / "cache/fabula/adapters").iterdir()
    written = made.stat().st_mtime_ns
    assert cast_on(base, plot=str(folder)).assignment("plot").performer.identity == first
    assert cast_on(base, plot=str(made)).assignment("plot").performer.identity == first
    assert made.stat().st_mtime_ns == written


def refused(base: Path, where: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cast_on(base, plot=str(where))


def test_an_adapter_for_another_base_is_refused_before_anything_is_loaded(base: Path, tmp_path: Path) -> None:
    tuned = tinygguf.write_room(tmp_path / "room", base, {"plot": 5}) / "plot"
    other = tinygguf.write_model(tmp_path / "other.gguf", tinygguf.weights(2))
    mine, theirs = digest_of(base), digest_of(other)
    says = rf"plot was trained for embedded:{base} \({mine}\), but the model is embedded:{other} \({theirs}\)\. Choose"
    refused(other, tuned, says)
    refused(other, tuned / "adapter.gguf", rf"adapter\.gguf was trained for embedded:{base} \({mine}\)")


def test_an_adapter_without_a_record_is_judged_by_architecture_and_shapes(base: Path, tmp_path: Path) -> None:
    tuned = tinygguf.write_room(tmp_path / "room", base, {"plot": 5}) / "plot/adapter.gguf"
    bare = tmp_path / "bare.gguf"
    bare.write_bytes(tuned.read_bytes())
    same_shapes = tinygguf.write_model(tmp_path / "other.gguf", tinygguf.weights(2))
    assert isinstance(cast_on(same_shapes, plot=str(bare)).assignment("plot").performer, Adapted)
    write_gguf(tmp_path / "qwen.gguf", {"general.architecture": "qwen2"}, {})
    refused(
        tmp_path / "qwen.gguf", bare, r"bare\.gguf is an adapter for llama models, but .*qwen\.gguf is a qwen2 model"
    )
    wide = np.zeros((64, 96), np.float32)
    write_gguf(tmp_path / "wide.gguf", {"general.architecture": "llama"}, {"blk.0.attn_q.weight": wide})
    refused(tmp_path / "wide.gguf", bare, r"a model other than .*: blk\.0\..* is \d+ x \d+, and blk\.0\..*not there")
    head = {"general.architecture": "llama", "adapter.type": "lora"}
    a, b = np.zeros((4, 64), np.float32), np.zeros((64, 8), np.float32)
    for tensors, message in (
        (
            {"blk.0.attn_q.weight.lora_a": np.zeros((4, 96), np.float32)},
            r"lora_a is 4 x 96, and .*q\.weight is 64 x 64\.",
        ),
        ({"blk.0.attn_q.weight.lora_a": a, "blk.0.attn_q.weight.lora_b": b}, "no matching lora_a and lora_b for blk.0"),
        ({"blk.0.attn_q.weight.lora_a": a}, "no matching lora_a and lora_b"),
    ):
        write_gguf(bare, head, tensors)
        refused(base, bare, message)


def test_files_that_are_no_adapter(base: Path, tmp_path: Path) -> None:
    refused(base, tmp_path / "nowhere", r"There is no adapter at .*nowhere\. Specify the folder that training made")
    refused(base, base, r"base\.gguf is not a LoRA adapter")
    room = tinygguf.write_room(tmp_path / "room", base, {"plot": 5})
    refused(base, room, r"There is no adapter at .*room\.")
    whole = (room / "plot/adapter.gguf").read_bytes()
    for cut in (2, 100, 2000, len(whole) - 100):
        (room / "plot/adapter.gguf").write_bytes(whole[:cut])
        refused(
            base, room / "plot", r"adapter\.gguf (is not a GGUF file|cannot be read as a GGUF file: the file is cut)"
        )
    (room / "plot/adapter.gguf").unlink()
    (room / "plot/adapter_model.safetensors").write_bytes(b"none")
    refused(base, room / "plot", "cannot be read as a safetensors file")


def test_a_link_out_of_an_adapter_s_folder_is_not_followed(base: Path, tmp_path: Path) -> None:
    mine = tinygguf.write_room(tmp_path / "mine", base, {"plot": 5}) / "plot"
    for name in ("adapter.gguf", "adapter_model.safetensors"):
        theirs = tmp_path / name.partition(".")[0]
        theirs.mkdir()
        (theirs / name).symlink_to(mine / name)
        refused(base, theirs, rf"{name} is a link to a place outside .*\. Replace the link with the file itself\.")


def test_a_server_is_asked_for_an_adapter_by_the_name_of_its_folder(base: Path, tmp_path: Path) -> None:
    room = tinygguf.write_room(tmp_path / "room", base, {"plot": 5})
    for said, sent in ((str(room / "plot"), "plot"), ("org/plot-lora", "org/plot-lora")):
        cast = open_cast(Settings.of({"model": "openai-chat:m", "adapters": {"plot": said}}, "x"), ROLES, Environment())
        assert cast.assignment("plot").adapter == sent
    cast = open_cast(
        Settings.of({"model": "openai-chat:m", "adapters": {"room": str(room)}}, "x"), ROLES, Environment()
    )
    assert (cast.assignment("plot").adapter, cast.assignment("climax").adapter) == ("plot", None)


def test_an_adapter_for_a_role_that_the_system_lacks(base: Path, tmp_path: Path) -> None:
    room = tinygguf.write_room(tmp_path / "room", base, {"plott": 5})
    with pytest.raises(UnknownNameError, match=r"Unknown role 'plott'. Did you mean 'plot'\?"):
        cast_on(base, room=str(room))


def test_the_adapter_of_a_role_that_a_program_plays_is_left_alone(base: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def answer(request):\n    return 'made'\n")
    tables = {"adapters": {"plot": "nowhere"}, "roles": {"plot": {"play": f"{tmp_path / 'mine.py'}:answer"}}}
    cast = open_cast(Settings.of({"model": f"embedded:{base}"} | tables, "file"), ROLES, Environment())
    assert isinstance(cast.assignment("plot").performer, Program)


async def test_persons_and_programs_are_cast_by_play(script: str, tmp_path: Path) -> None:
    async def answering(request: object) -> str:
        return "said"

    file = tmp_path / "mine.py"
    file.write_text("def answer(request):\n    return 'made'\n")
    roles = {"plot": {"play": "me"}, "climax": {"play": f"{file}:answer"}}
    cast = open_cast(Settings.of({"model": script, "roles": roles}, "file"), ROLES, Environment(person=answering))
    assert isinstance(cast.assignment("plot").performer, Person)
    assert isinstance(cast.assignment("climax").performer, Program)


def test_a_person_is_not_cast_where_nobody_can_be_asked(script: str) -> None:
    settings = Settings.of({"model": script, "roles": {"plot": {"play": "me"}}}, "file")
    with pytest.raises(
        ConfigError,
        match=r"'me' plays a role, but there is no terminal for questions\. Assign a "
        r"model to the role\.",
    ):
        open_cast(settings, ROLES, Environment())


def test_a_role_that_the_system_lacks_names_the_nearest(script: str) -> None:
    settings = Settings.of({"model": script, "roles": {"plott": {}}}, "file")
    with pytest.raises(UnknownNameError, match=r"Unknown role 'plott'. Did you mean 'plot'\?"):
        open_cast(settings, ROLES, Environment())
