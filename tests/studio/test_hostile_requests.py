"""Requests that no page sends: numbers that are none of ours, bodies that are no form. Each is answered in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from fastapi.routing import APIRoute

from fabula.server.api import PREFIX, routers
from fabula.server.studio import pages
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS: Final = (-1, 0, 2**63, 10**30)
CHAT: Final = "joanne-starling-wendy-clabburn"
PLACES: Final = {
    "project": SAMPLE,
    "chat": CHAT,
    "conversation": CHAT,
    "name": "exposition",
    "artefact": "exposition",
    "key": "dcf5212a-ae60",
    "side": "1",
    "number": "1",
    "run": "nothing",
}
MUST: Final = {"name": "exposition", "artefact": "exposition"}
HTML: Final = {"accept": "text/html"}
FORM: Final = {"hx-request": "true"}


def numbered() -> Iterator[tuple[str, str]]:
    """Every address below a project that is read with a number, with the name of that number."""
    for prefix, found in ((PREFIX, routers()), ("", pages.routers().values())):
        for route in (one for router in found for one in router.routes if isinstance(one, APIRoute)):
            fields = [*route.dependant.query_params, *route.dependant.path_params]
            yield from (
                (prefix + route.path, field.name)
                for field in fields
                if "GET" in (route.methods or ()) and "int" in str(field.field_info.annotation)
            )


async def test_a_number_that_nothing_has_is_answered_in_words_on_every_page(tmp_path: Path) -> None:
    asked = [one for one in numbered() if "/events" not in one[0]]
    assert len(asked) > 12
    async with studio_here(tmp_path) as client:
        for path, name in asked:
            for number in NUMBERS:
                places = {**PLACES, name: str(number)}
                address = path.replace(":path", "").format_map(places)
                query = {name: str(number)} if f"{{{name}}}" not in path else {}
                response = await client.get(address, params={**MUST, **query}, headers=HTML)
                assert response.status_code < 500, (path, name, number)


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"--x\r\nblah", "multipart/form-data", "Missing boundary in multipart."),
        (b"&".join([b"text=a"] * 2000), "application/x-www-form-urlencoded", "Too many fields"),
        (
            b"--x\r\nContent-Disposition: nothing\r\n\r\n\r\n--x--\r\n",
            "multipart/form-data; boundary=x",
            "must be provided",
        ),
    ],
)
async def test_a_form_that_cannot_be_read_says_why(tmp_path: Path, content: bytes, kind: str, words: str) -> None:
    async with studio_here(tmp_path) as client:
        answer = await client.post("/new/estimate", content=content, headers={"content-type": kind, **FORM})
    assert answer.status_code == 400
    assert "The request cannot be read" in answer.text
    assert words in answer.text
    assert "Reload the page" in answer.text


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tale.txt", b"\x81\x81 A lamp.", "tale.txt is text in an unknown encoding."),
        ("tale.md", b"A lamp.\x00", "tale.md contains binary data"),
        ("../../etc/tale.md", b"# A title", "The story in tale.md is empty."),
    ],
)
async def test_a_file_that_cannot_be_read_is_called_by_its_own_name(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    async with studio_here(tmp_path) as client:
        data: dict[str, Any] = {"kind": "story"}
        answer = await client.post("/new/estimate", data=data, files={"file": (name, content)}, headers=FORM)
    assert answer.status_code == 400
    assert words in answer.text
    assert "/" not in answer.text.split("<button")[0].removeprefix('<p class="problem">')
