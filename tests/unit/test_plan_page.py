from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import AsyncClient

    from fabula.verbs.home import Project

AT = "/projects/sample/plan"


def base_in(html: str) -> str:
    found = re.search(r'data-base="(\w+)"', html)
    assert found is not None
    return found[1]


def titles(html: str) -> list[str]:
    return re.findall(r'data-title="([^"]*)"', html)


def sample_of(client: AsyncClient) -> Project:
    """The sample project as the studio has it."""
    workspace: Project = client.state.shelf["sample"]  # type: ignore[attr-defined] # set by `studio_here`
    return workspace


async def post(client: AsyncClient, what: str, **fields: Any) -> Any:  # noqa: ANN401 - fields of a form
    return await client.post(f"{AT}/{what}", data=fields, headers={"hx-request": "true"})


async def test_the_plan_of_the_sample_has_cards_both_orders_and_tables(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        html = (await client.get(AT)).text
        rails = (await client.get(f"{AT}/rails")).text
    assert titles(html)[:2] == ["Two questions", "The crate"]
    assert "not written as its own part" not in html, "where no card is its own part"
    assert '<a href="#scene-2">' in rails
    assert 'role="group"' in rails
    assert "told ahead" in rails or "flashback" in rails
    assert "Who is in which scene, as a table" in rails
    html += rails
    assert "style=" not in html
    assert "onclick" not in html


async def test_an_order_is_shown_before_it_is_saved_and_can_be_taken_back(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        html = (await client.get(AT)).text
        numbers = [2, 1, *range(3, 10)]
        change = {"do": "order", "base": base_in(html), "order": ",".join(map(str, numbers))}
        shown = (await post(client, "preview", **change)).text
        assert "would be written again" in shown or "cannot be said" in shown
        assert 'name="order" value="2,1,3' in shown
        assert titles((await client.get(AT)).text) == titles(html)
        saved = (await post(client, "save", **change)).text
        assert titles(saved)[:2] == ["The crate", "Two questions"]
        assert "Saved." in saved
        workspace = sample_of(client)
        assert workspace.text("plan").text.index("The crate") < workspace.text("plan").text.index("Two questions")
        workspace.undo()
        assert titles((await client.get(AT)).text) == titles(html)


async def test_a_plan_that_was_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        base = base_in((await client.get(AT)).text)
        await post(client, "save", do="remove", base=base, number="9")
        late = await post(client, "save", do="remove", base=base, number="1")
        assert late.status_code == 409
        assert "changed since this page was loaded" in late.text
        assert len(titles((await client.get(AT)).text)) == 8


async def test_a_card_is_changed_in_a_form_with_its_fields(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        base = base_in((await client.get(AT)).text)
        form = (await client.get(f"{AT}/cards/2")).text
        assert 'value="The same bridge, in the queue"' in form
        change = {"do": "change", "base": base, "number": "2", "title": "<b>The box</b>"}
        saved = await post(client, "save", **change, people="Ivan Utting")
        assert "&lt;b&gt;The box&lt;/b&gt;" in saved.text
        assert "<b>The box" not in saved.text
        added = await post(client, "save", do="add", base=base_in(saved.text), after="0", title="A prologue")
        assert titles(added.text)[0] == "A prologue"


async def test_a_plan_from_which_no_story_can_be_written_is_not_saved(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        base = base_in((await client.get(AT)).text)
        change = {"do": "change", "base": base, "number": "2", "people": "Nobody", "time": "tomorrow"}
        shown = (await post(client, "preview", **change)).text
        assert "&#39;Nobody&#39; is none of the plan&#39;s characters" in shown
        assert "is not a story time" in shown
        assert re.search(r"<button[^>]*disabled>Save", shown)
        assert (await post(client, "save", **change)).status_code == 400
        assert base_in((await client.get(AT)).text) == base


async def test_problems_of_a_plan_that_was_changed_outside_stand_at_their_cards(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        file = sample_of(client).folder / "plan" / "plan.yaml"
        file.write_text(
            file.read_text(encoding="utf-8").replace("time: 1998-10-12", "time: long ago"), encoding="utf-8"
        )
        html = (await client.get(AT)).text
        assert re.search(r'id="scene-2"(?:(?!id="scene-3").)*not a story time', html, re.DOTALL)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"do": "fly"}, "is none of these"),
        ({"do": "order", "order": "1,2"}, "must include every card once"),
        ({"do": "order", "order": "1,x"}, "not the number of a card"),
        ({"do": "remove", "number": "77"}, "no card 77"),
        ({"do": "add", "after": "1", "title": " "}, "has no title"),
    ],
)
async def test_what_cannot_be_done_is_said_in_words(tmp_path: Path, fields: dict[str, str], said: str) -> None:
    async with studio_here(tmp_path) as client:
        base = base_in((await client.get(AT)).text)
        answer = await post(client, "preview", base=base, **fields)
        assert answer.status_code == 400
        assert said in answer.text


async def test_who_knows_what_is_filtered_and_paged(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        every = (await client.get(f"{AT}/knowing")).text
        assert "Wendy Clabburn" in every
        one = (await client.get(f"{AT}/knowing", params={"who": "Callum Rix", "search": "vehicle"})).text
        assert one.count("<tr>") < every.count("<tr>")
        assert "red book" not in one
        beyond = (await client.get(f"{AT}/knowing", params={"number": 99})).text
        assert "99 of 1" in beyond or beyond.count("<tr>") == 1
        nobody = await client.get(f"{AT}/knowing", params={"who": "Napoleon"})
        assert nobody.status_code == 404
        sample_of(client).folder.joinpath(".fabula", "world.db").unlink()
        assert "Nothing is known" in (await client.get(f"{AT}/knowing")).text


async def test_a_plan_of_three_hundred_scenes_begins_with_some_and_the_others_follow(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        scenes = "".join(
            f"  - name: Scene {n}\n    time: {n * 7 % 300}\n    outline: [It happens.]\n" for n in range(300)
        )
        (sample_of(client).folder / "plan" / "plan.yaml").write_text(f"scenes:\n{scenes}", encoding="utf-8")
        html = (await client.get(AT)).text
        assert len(titles(html)) == 60
        assert f'hx-get="{AT}/cards?first=61"' in html
        assert len(html.encode()) < 200_000
        rest = (await client.get(f"{AT}/cards", params={"first": 61})).text
        assert titles(rest) == [f"Scene {n}" for n in range(60, 300)]
        assert (await client.get(f"{AT}/rails")).status_code == 200
        order = ",".join(map(str, [2, 1, *range(3, 301)]))
        saved = await post(client, "save", do="order", base=base_in(html), order=order)
        assert titles(saved.text)[:2] == ["Scene 1", "Scene 0"]


async def test_what_holds_for_each_part_is_said_apart_from_the_page(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        sample_of(client).pin("climax")
        states = (await client.get(f"{AT}/states")).json()
        assert "pinned" in states["climax"]
        assert set(states) == {"exposition", "rising-action", "climax", "falling-action", "resolution"}
