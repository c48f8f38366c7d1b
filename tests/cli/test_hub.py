"""Weights by the name people know: `fabula models pull hf:OWNER/REPO`, from a hub of the tests' own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.base.errors import UsageError
from fabula.models.hub import fetched, fetched_file, pull_from_hub
from fake_hub import Hub, serving_hub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commandline import Cli

NAME = "hf:owner/tale-GGUF"
pytest.importorskip("huggingface_hub")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A GGUF file that runs."""
    path = tmp_path_factory.mktemp("weights") / "tiny.gguf"
    tinygguf.write_model(path, tinygguf.weights())
    return path.read_bytes()


@pytest.fixture
def hub(weights: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub with one repository of two quantisations."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    files = {"tale-Q4_K_M.gguf": weights, "tale-Q8_0.gguf": weights + b"\0" * 32, "mmproj-tale-F16.gguf": b"GGUF"}
    with serving_hub(Hub(files=files)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.address)
        # Where HF_ENDPOINT is set at the start of a process, the library asks nobody else for this either.
        monkeypatch.setattr("huggingface_hub.utils._detect_agent._registry", {})
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("FABULA_MODELS", str(tmp_path / "models"))
        yield one


def test_a_model_is_fetched_checked_and_found_again_by_its_name(cli: Cli, hub: Hub, tmp_path: Path) -> None:
    ran = cli("models", "pull", NAME)
    assert ran.code == 0, ran.err
    assert "Downloading Q4_K_M of 2 quantisations (the usual one). The others are: Q8_0." in ran.err
    assert "licence apache-2.0" in ran.err
    assert f"{NAME}:Q4_K_M is here, verified by SHA-256:" in ran.out
    (model,) = fetched(tmp_path / "models")
    assert (model.name, model.licence, model.context) == (f"{NAME}:Q4_K_M", "apache-2.0", 512)
    assert str(tmp_path / "hf" / "hub" / "models--owner--tale-GGUF") in model.file
    said = cli("models", "--json").json
    assert [one["name"] for one in said["fetched"]] == [f"{NAME}:Q4_K_M"]
    assert hub.asked


@pytest.mark.embedded
def test_a_fetched_model_answers_by_its_name_without_the_hub(cli: Cli, hub: Hub) -> None:
    assert cli("models", "pull", f"{NAME}:q4_k_m").code == 0
    hub.asked.clear()
    ran = cli("models", "check", NAME, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["model"] == f"embedded:{NAME}"
    assert not hub.asked


def test_what_is_here_is_not_fetched_again(cli: Cli, hub: Hub) -> None:
    assert cli("models", "pull", NAME).code == 0
    hub.asked.clear()
    assert cli("models", "pull", NAME).code == 0
    assert [path for method, path, _ in hub.asked if method == "GET" and path.endswith(".gguf")] == []


def test_an_interrupted_fetch_goes_on_where_it_stopped(cli: Cli, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 4096)
    hub.cut = 20_000
    broken = cli("models", "pull", NAME)
    assert broken.code != 0
    assert f"{hub.address} answered with 500. Pull again later" in broken.err
    hub.cut, hub.down = 0, False
    hub.asked.clear()
    ran = cli("models", "pull", NAME)
    assert ran.code == 0, ran.err
    assert "continuing at" in ran.err
    (came,) = [given for method, path, given in hub.asked if method == "GET" and path.endswith(".gguf")]
    assert 4 * 4096 <= int(came.removeprefix("bytes=").rstrip("-")) <= 20_000


def test_a_wrong_checksum_keeps_nothing(cli: Cli, hub: Hub, tmp_path: Path) -> None:
    hub.said["tale-Q4_K_M.gguf"] = hashlib.sha256(b"another").hexdigest()
    ran = cli("models", "pull", NAME)
    assert ran.code != 0
    assert "but the hub's record has" in ran.err
    assert "The download was discarded. Pull it again." in ran.err
    assert not list((tmp_path / "hf").rglob("*.part"))
    assert not fetched(tmp_path / "models")


@pytest.mark.parametrize("etag", ["another", "../../../../../above.gguf", "/{outside}"])
def test_what_a_hub_says_beside_a_file_moves_nothing(cli: Cli, hub: Hub, tmp_path: Path, etag: str) -> None:
    hub.etags["tale-Q4_K_M.gguf"] = etag.replace("/{outside}", str(tmp_path / "outside.gguf"))
    ran = cli("models", "pull", NAME)
    assert ran.code == 0, ran.err
    (model,) = fetched(tmp_path / "models")
    assert Path(model.file).name == "tale-Q4_K_M.gguf"
    assert Path(model.file).resolve().name == model.sha256 == hub.sha256("tale-Q4_K_M.gguf")
    blobs = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"GGUF"]
    assert {path.resolve() for path in blobs} == {Path(model.file).resolve()}


def test_a_token_goes_to_no_other_host(
    cli: Cli, hub: Hub, weights: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.token = token = "hf_" + "0123456789"
    monkeypatch.setenv("HF_TOKEN", token)
    with serving_hub(Hub(files={"tale-Q4_K_M.gguf": weights})) as other:
        hub.elsewhere = other.address.replace("127.0.0.1", "localhost")
        ran = cli("models", "pull", NAME)
        assert ran.code == 0, ran.err
        assert other.asked
        assert other.tokens == {""}
    assert fetched(tmp_path / "models")


def test_a_quantisation_that_is_not_there_names_those_that_are(cli: Cli, hub: Hub) -> None:
    ran = cli("models", "pull", f"{NAME}:Q5_K_M")
    assert ran.code != 0
    assert "Q5_K_M" in ran.err
    assert "Q4_K_M" in ran.err
    assert hub.asked


def test_memory_decides_where_nobody_names_a_quantisation(
    cli: Cli, hub: Hub, weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.files = {"a-Q4_K_M.gguf": weights + b"\0" * 900_000, "a-Q2_K.gguf": weights, "a-IQ1_S.gguf": weights[:-40]}
    monkeypatch.setattr("fabula.models.hub.free_memory", lambda: len(weights) * 1.3)
    ran = cli("models", "pull", NAME)
    assert (
        "Downloading Q2_K of 3 quantisations (the largest that fits into memory). The others are: IQ1_S, Q4_K_M."
        in ran.err
    )
    monkeypatch.setattr("fabula.models.hub.free_memory", lambda: 1000)
    too_large = cli("models", "pull", NAME)
    assert too_large.code != 0
    assert "is too large: its smallest quantisation, IQ1_S, has" in too_large.err


def test_a_model_in_parts_is_fetched_whole(cli: Cli, hub: Hub, weights: bytes, tmp_path: Path) -> None:
    hub.files = {
        "Q4_K_M/a-Q4_K_M-00002-of-00002.gguf": b"GGUF second",
        "Q4_K_M/a-Q4_K_M-00001-of-00002.gguf": weights,
        "a-Q2_K-00001-of-00002.gguf": weights,  # its second part is missing
    }
    assert cli("models", "pull", NAME).code == 0
    (model,) = fetched(tmp_path / "models")
    assert model.file.endswith("a-Q4_K_M-00001-of-00002.gguf")
    assert model.size == len(weights) + len(b"GGUF second")
    assert fetched_file(NAME, tmp_path / "models").with_name("a-Q4_K_M-00002-of-00002.gguf").is_file()


@pytest.mark.parametrize(
    ("gated", "token", "words"),
    [
        (True, "", "it is gated. Accept its terms at"),
        (
            False,
            "",
            (
                "does not have this repository, or the repository is private. Check its name. For a private "
                "repository, set HF_TOKEN"
            ),
        ),
    ],
)
def test_what_needs_an_account_says_so(
    cli: Cli,
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    gated: bool,  # noqa: FBT001 - parametrised
    token: str,
    words: str,
) -> None:
    hub.gated, hub.token = gated, "hf_0123456789"
    ran = cli("models", "pull", NAME)
    assert ran.code != 0
    assert words in ran.err
    monkeypatch.setenv("HF_TOKEN", hub.token)
    again = cli("models", "pull", NAME)
    assert again.code == 0, again.err
    assert hub.token in hub.tokens
    assert hub.token not in again.out + again.err


def test_a_disk_that_is_full_is_seen_first(cli: Cli, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.models.hub._SPARE", 10**18)
    ran = cli("models", "pull", NAME)
    assert "Free space, set HF_HOME to a folder on another disk, or take a smaller quantisation" in ran.err
    assert not [path for method, path, _ in hub.asked if method == "GET" and path.endswith(".gguf")]


def test_a_hub_that_sends_more_than_it_says_is_stopped(cli: Cli, hub: Hub, weights: bytes) -> None:
    record = hub.record()
    for sibling in record["siblings"]:
        if "lfs" in sibling:
            sibling["size"] -= 1000
    hub.record = lambda: record  # type: ignore[method-assign] # a hub whose record is wrong
    ran = cli("models", "pull", NAME)
    assert ran.code != 0
    assert "Pull again" in ran.err
    assert weights


@pytest.mark.parametrize("name", ["../../x.gguf", "/etc/x.gguf", "a\x1b[2J-Q4_K_M.gguf", "a/../b.gguf"])
def test_a_name_that_leads_out_of_the_folder_is_no_file(cli: Cli, hub: Hub, weights: bytes, name: str) -> None:
    hub.files = {name: weights}
    ran = cli("models", "pull", NAME)
    assert "has no GGUF file with a checksum. Look for a repository of this model whose name ends in -GGUF." in ran.err


@pytest.mark.parametrize("name", ["hf:", "hf:owner", "hf:a/b/c", "hf:../x", "hf:a/..", "hf:a/b:c/d", "hf:a/b c"])
def test_what_is_no_name_of_a_hub_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"is not a hub model\. Use the form hf:OWNER/REPO or hf:OWNER/REPO:Q4_K_M"):
        pull_from_hub(name, tmp_path, {}, lambda _: None)


def test_a_model_that_was_not_fetched_says_how_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FABULA_MODELS", str(tmp_path))
    ran = cli("write", "brief.md", "--out", "lamp", "--model", f"{NAME}:Q4_K_M")
    assert ran.code != 0
    assert f"To download it from the hub, run `fabula models pull {NAME}:Q4_K_M`." in ran.err
    assert not (cli.folder / "lamp").exists()


def test_without_the_hub_the_message_says_where_it_was_asked(
    cli: Cli, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ran = cli("models", "pull", NAME)
    assert ran.code != 0
    assert "Pull again when you can reach http://127.0.0.1:9." in ran.err
    assert hub.address
