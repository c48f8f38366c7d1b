"""Pages that an installed package brings: in the studio's row of pages, with nothing in them that runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from outside import install
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CODE = """
def word_counts(project):
    return f"**{project.folder.name}** <script>alert(1)</script>"

def broken(project):
    return {}["words"]
"""


async def test_a_panel_is_a_page_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panels = {"word_counts": "their_panels:word_counts", "broken": "their_panels:broken"}
    site = install(tmp_path, monkeypatch, {"fabula.panels": panels})
    (site / "their_panels.py").write_text(CODE, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "their_panels", raising=False)
    async with studio_here(tmp_path / "shelf") as client:
        at = f"/projects/{SAMPLE}/panels"
        shown = await client.get(f"{at}/word-counts")
        assert "<strong>sample</strong>" in shown.text
        assert "<script>alert" not in shown.text
        assert f'<a href="{at}/word-counts" aria-current="page">Word counts</a>' in shown.text
        failed = await client.get(f"{at}/broken")
        assert failed.status_code == 400
        assert "broken (from more-papers 1.2) failed: KeyError" in failed.text
        assert (await client.get(f"{at}/gone")).status_code == 404
        write = await client.get(f"/projects/{SAMPLE}/write")
        assert f'<a href="{at}/word-counts">Word counts</a>' in write.text
