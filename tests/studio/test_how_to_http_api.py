"""The blocks of the how-to page of the API, run one after the other against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blocks import blocks
from fabula.server.studio.application import document
from studio import TOKEN, studio_there
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PAGE = (ROOT / "docs" / "how-to" / "http-api.md").read_text(encoding="utf-8")


def test_its_blocks_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with studio_there(tmp_path / "stories") as there:
        for block in blocks(PAGE):
            if block.language == "python":
                code = block.text.replace("http://127.0.0.1:8731", there.address).replace("Xk3q...", TOKEN)
                code = code.replace(":8080/v1", ":9/v1")  # where nobody listens
                exec(compile(code, f"line {block.line}", "exec"), names)  # noqa: S102 - of this page
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "sample Sufficient Knowledge 3234"
    assert "story/01-exposition.md 726 made " in said
    assert "My name is Wendy Ann Clabburn." in "".join(said)
    assert "edit of Exposition" in said
    assert "the-bell-at-quay-nine openai-chat:tale" in said
    assert (tmp_path / "story.epub").read_bytes().startswith(b"PK")
    assert "stale: ['drafts/rising-action'" in "".join(said)


def test_it_names_the_errors_that_there_are() -> None:
    told = document()["components"]["responses"]
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith(("| 4", "| 5"))]
    assert rows
    assert {f"Fault{status}" for status in rows} <= set(told)
