"""How much memory a model takes and how much is free, before it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError
from fabula.models.base import Message, Request
from fabula.models.embedded import EmbeddedModel
from fabula.models.known import KNOWN, installed, models_home
from fabula.models.memory import context_of, free_memory, needed_memory, parts_of
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable

if TYPE_CHECKING:
    from pathlib import Path

MEMINFO = "MemTotal:  8000000 kB\nMemFree: 100 kB\nMemAvailable:  4000000 kB\n"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinygguf.write_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", tinygguf.weights(), context=1024)


def test_the_context_is_the_files_own_and_at_most_the_usual_one(tiny: Path, tmp_path: Path) -> None:
    long = tinygguf.write_model(tmp_path / "long.gguf", tinygguf.weights(), context=131072)
    given = [
        open_model(f"embedded:{path}", table, Environment()).capabilities.context
        for path, table in ((tiny, ModelTable()), (long, ModelTable()), (long, ModelTable(context=20_000)))
    ]
    assert given == [1024, 8192, 20_000]
    assert context_of(tiny) == 1024


def test_longer_contexts_and_more_slots_need_more(tiny: Path) -> None:
    size = tiny.stat().st_size
    state = tinygguf.LAYERS * tinygguf.KV_HEADS * tinygguf.HEAD * 2 * 2
    one, two = (needed_memory(tiny, 1024, slots) or 0 for slots in (1, 2))
    assert two - one == state * 1024
    assert one > size
    assert (needed_memory(tiny, 2048) or 0) > one
    assert (needed_memory(tiny, 1024, 1, 10 * size) or 0) - one == 9 * size


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model", b"GGUF" + b"\xff" * 200])
def test_a_file_that_says_no_shape_is_left_to_the_engine(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    assert needed_memory(path, 1024) is None
    assert context_of(path) is None


def test_free_memory_is_what_is_available_also_within_a_container(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(MEMINFO, encoding="ascii")
    assert free_memory(meminfo, tmp_path) == 4_000_000 * 1024
    (tmp_path / "memory.max").write_text("3000000000\n", encoding="ascii")
    (tmp_path / "memory.current").write_text("1000000000\n", encoding="ascii")
    assert free_memory(meminfo, tmp_path) == 2_000_000_000
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert free_memory(meminfo, tmp_path) == 4_000_000 * 1024
    assert free_memory(tmp_path / "none", tmp_path / "none") is None


def test_the_parts_of_a_model_count_together(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        (tmp_path / f"a-Q4-0000{n}-of-00003.gguf").touch()
    first = tmp_path / "a-Q4-00001-of-00003.gguf"
    assert [path.name for path in parts_of(first)] == [f"a-Q4-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    assert parts_of(tmp_path / "b.gguf") == [tmp_path / "b.gguf"]


async def test_what_does_not_fit_is_refused_before_it_is_loaded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.models.llamacpp.free_memory", lambda: 50_000_000)
    model = EmbeddedModel(tiny, name="embedded:tiny", context=1024)
    with pytest.raises(ModelUnavailableError) as caught:
        await model.ask(Request((Message("user", "Go on."),)))
    await model.close()
    assert str(caught.value).startswith(
        "embedded:tiny needs about 0.1 GB of memory with a context of 1,024 tokens, but"
    )
    assert "0.1 GB are free" in str(caught.value)
    assert "use a smaller model, a smaller quantisation or a shorter context (`context = 2048`" in str(caught.value)


@pytest.mark.embedded
@pytest.mark.parametrize("name", KNOWN)
def test_the_known_models_need_about_what_was_measured(name: str) -> None:
    import os  # noqa: PLC0415 - where the weights lie

    home = models_home(os.environ)
    if not installed(name, home):
        pytest.skip(f"{name} is not here; `fabula models pull {name}` fetches it")
    # Resident were, with 8,192 tokens of context: 0.47 GB (of these 0.35 that cannot be read again from the file) and
    # 2.1 GB (1.0), since what the engine lays out anew in memory is there twice until the system wants the room.
    low, high = {"smollm2": (0.35e9, 0.8e9), "qwen2.5-coder-1.5b": (1.4e9, 2.2e9)}[name]
    assert low < (needed_memory(home / KNOWN[name].file, 8192) or 0) < high
