"""The Plan page has the texts of an imported book read: what it costs, the run, and each card accepted or refused."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from fabula.app.importing import import_manuscript, read_manuscript
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import AsyncClient

pytestmark = pytest.mark.slow
AT = "/projects/lamp/plan"
HX = {"hx-request": "true"}
NOVEL = (
    "# The Lamp\n\n## The Letter\n\nThe letter had lain there since Monday.\n\n## The Storm\n\nThe wind turned.\n\n"
    "## The Boat\n\nIn the morning the boat came home.\n"
)
CARDS = {
    "the-letter": {
        "synopsis": "Mara does not open the <b>letter</b>.",
        "viewpoint": "Mara",
        "present": ["Mara", "Ivan"],
        "when": "Monday",
        "where": "the kitchen",
        "planted": ["What it says."],
    },
    "the-storm": {"synopsis": "The boat is late.", "due": ["The lamp is out."]},
    "the-boat": {"synopsis": "The boat comes home."},
}


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf" / "lamp"
    (tmp_path / "novel.md").write_text(NOVEL, encoding="utf-8")
    import_manuscript(
        folder,
        read_manuscript(tmp_path / "novel.md"),
        "novel.md",
        {"system": "end-to-end", "model": "scripted:replies.toml"},
    )
    replies = {f"cards/{name}/read_card": json.dumps(card) for name, card in CARDS.items()}
    (folder / "replies.toml").write_text(script_of(replies), encoding="utf-8")
    return folder


async def read(client: AsyncClient) -> dict[str, Any]:
    """Have the texts read; gives the run when it has ended."""
    begun = await client.post("/projects/lamp/world/run/cards", headers=HX)
    assert "continues if you close this page" in begun.text, begun.text
    for _ in range(600):
        run: dict[str, Any] = (await client.get("/api/v1/projects/lamp/runs")).json()["runs"][0]
        if run["state"] not in ("queued", "running"):
            return run
        await asyncio.sleep(0.1)
    raise AssertionError("The run does not end.")


def blocks(lamp: Path) -> list[str]:
    return (lamp / "plan/chapters.md").read_text(encoding="utf-8").strip().split("\n\n")


async def test_cards_are_read_after_their_cost_is_said_and_each_is_decided_and_undone(lamp: Path) -> None:
    before = blocks(lamp)
    async with studio_here(lamp.parent) as client:
        reading = (await client.get(f"{AT}/reading")).text
        assert "3 cards of the plan say nothing yet." in reading
        assert "hx-post" not in reading, "there is nothing to undo"
        said = (await client.get("/projects/lamp/world/expected/cards")).text
        assert "<strong>3</strong> calls to " in said, said
        run = await read(client)
        assert (run["verb"], run["state"], run["total"]["calls"]) == ("read_cards", "finished", 3)
        assert blocks(lamp) == before, "nothing is saved by reading"

        html = (await client.get(AT)).text
        assert html.count("data-proposal") == 3
        assert "Mara does not open the &lt;b&gt;letter&lt;/b&gt;.\nPoint of view: Mara\nPresent: Mara, Ivan" in html
        assert "3 cards were read and wait below" in (await client.get(f"{AT}/reading")).text
        assert html.count("data-proposal") == (await client.get(f"{AT}/cards?first=1")).text.count("data-proposal")

        changed = await client.post(
            f"{AT}/accept/the-letter", headers=HX, data={"text": "Mara waits.\r\nPlanted: What the letter says.\r\n"}
        )
        assert "The card is in the plan." in changed.text
        assert "<dt>Planted</dt><dd>What the letter says.</dd>" in changed.text
        assert "data-proposal" not in changed.text
        assert blocks(lamp)[0].split("\n")[1:] == ["Mara waits.", "Planted: What the letter says."]
        assert blocks(lamp)[1:] == before[1:]
        base = json.loads(changed.headers["hx-trigger"])["fabula:planned"]["base"]
        order = {"do": "order", "order": "2,1,3", "base": base}
        assert "New order of telling" in (await client.post(f"{AT}/preview", headers=HX, data=order)).text

        refused = await client.post(f"{AT}/refuse/the-storm", headers=HX)
        assert "is refused" in refused.text
        assert "data-proposal" not in refused.text
        reading = (await client.get(f"{AT}/reading")).text
        assert "1 card was read and waits below" in reading
        assert "1 card that you refused is not proposed again" in reading
        assert "Undo reverts: refused card of The Storm." in reading

        undone = (await client.post(f"{AT}/undo", headers=HX)).text
        assert "Taken back: refused card of The Storm." in undone
        assert undone.count("data-proposal") == 2
        undone = (await client.post(f"{AT}/undo", headers=HX)).text
        assert undone.count("data-proposal") == 3
        assert blocks(lamp) == before

        form = {"name": ["the-letter", "the-storm"], "text": ["Mara waits.", "The boat is late."]}
        both = (await client.post(f"{AT}/accept", headers=HX, data=form)).text
        assert "2 cards are in the plan." in both
        assert both.count("data-proposal") == 1
        await client.post(f"{AT}/undo", headers=HX)
        assert blocks(lamp) == before, "one undo takes all of it back"
        assert (await client.get("/api/v1/projects/lamp")).json()["calls"] == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("the-letter", "  ", "The card of &#39;the-letter&#39; is empty."),
        ("the-letter", "One.\n## 9. Another\nTwo.", "has a line that begins with #"),
        ("the-end", "One.", "No card is proposed here any more"),
        ("the-boat", "One.", "No card is proposed here any more"),
    ],
)
async def test_what_cannot_be_accepted_is_said_and_changes_nothing(lamp: Path, name: str, text: str, said: str) -> None:
    async with studio_here(lamp.parent) as client:
        await read(client)
        plan = (lamp / "plan/chapters.md").read_text().rstrip()
        (lamp / "plan/chapters.md").write_text(f"{plan}\nMy own card.\n")
        before = blocks(lamp)
        found = await client.post(f"{AT}/accept/{name}", headers=HX, data={"text": text})
        assert found.status_code == 400
        assert said in found.text, found.text
        assert blocks(lamp) == before


async def test_a_run_that_is_open_or_failed_is_said_in_place_of_the_estimate(lamp: Path) -> None:
    async with studio_here(lamp.parent) as client:
        (lamp / "replies.toml").write_text(script_of({"cards/the-letter/read_card": "{}"}), encoding="utf-8")
        run = await read(client)
        assert run["state"] == "failed"
        assert "The last run failed." in (await client.get("/projects/lamp/world/expected/cards")).text
        client.state.runs.start("lamp", "read_cards")  # type: ignore[attr-defined] # set by `studio_here`
        said = (await client.get("/projects/lamp/world/expected/cards")).text
        assert re.search(r'data-run="[\w-]+" data-begun', said), said
        assert "Estimating" not in said


async def test_a_result_that_anybody_may_have_written_is_no_card(lamp: Path) -> None:
    async with studio_here(lamp.parent) as client:
        run = await read(client)
        output = lamp / ".fabula/runs" / run["id"] / "output.json"
        for text in ("[", '{"cards": [{"name": 1}]}', '{"cards": [{"name": "the-boat", "text": "x", "accepted": 3}]}'):
            output.write_text(text, encoding="utf-8")
            found = await client.get(AT)
            assert (found.status_code, "data-proposal" in found.text) == (200, False)
        output.unlink()
        assert (await client.get(AT)).status_code == 200
