"""The frame of the studio: who is let in, what every answer says, and the files that pages load."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from fabula.server.browser import POLICY, Names
from fabula.server.studio.assets import studio_assets
from fabula.server.studio.pages import plan
from fabula.server.studio.rendering import markdown
from studio import COOKIE, HOST, SAMPLE, TOKEN, studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.verbs.home import Project

PAGE = {"accept": "text/html"}


async def test_a_server_that_was_started_anew_says_so_in_the_page_and_in_the_line_above_a_form(tmp_path: Path) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        old = {"cookie": f"{COOKIE}=a-token-of-the-server-before"}
        for headers in (PAGE, {"hx-request": "true"}, {}):
            answer = await client.post("/new/estimate", headers={**old, **headers})
            assert answer.status_code == 401
            assert "The server has been restarted since you signed in. Open its new link" in answer.text
            assert ("<html" in answer.text, answer.text.startswith("{")) == (headers is PAGE, headers == {})
        form = await client.post("/new/estimate", headers={"hx-request": "true", "host": "evil.example"})
        assert form.text.startswith('<p class="problem">This server is not named')


async def test_a_browser_that_keeps_no_cookies_is_told_so_and_not_to_open_the_link_once_more(tmp_path: Path) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        answer = await client.get("/", headers={**PAGE, "referer": f"{HOST}/login?token={TOKEN}"})
        assert answer.status_code == 401
        assert "Your link is valid, but this browser has not stored its cookie." in answer.text


async def test_the_link_is_exchanged_for_a_cookie_that_no_script_reads(tmp_path: Path) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        response = await client.get(f"/login?token={TOKEN}")
        assert response.status_code == 200
        assert response.headers["set-cookie"] == (
            f"{COOKIE}={TOKEN}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict"
        )
        assert 'content="0; url=/"' in response.text
        assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("wanted", "goes"),
    [
        ("/projects/sample/edit", "/projects/sample/edit"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ('/"><script>', "/&quot;&gt;&lt;script&gt;"),
        ("/\\evil.example", "/"),
        ("/\n", "/"),
    ],
)
async def test_a_link_leads_only_to_pages_of_the_server(tmp_path: Path, wanted: str, goes: str) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        response = await client.get("/login", params={"token": TOKEN, "next": wanted})
        assert f'content="0; url={goes}"' in response.text


@pytest.mark.parametrize("path", ["/", "/projects/sample/edit", "/api/v1/projects", "/openapi.json", "/nothing"])
async def test_without_the_token_nothing_is_shown(tmp_path: Path, path: str) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        response = await client.get(path)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "invalid_api_key"
        assert response.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            assert (await client.get(path, headers={"authorization": wrong})).status_code == 401


@pytest.mark.parametrize("path", ["/", "/login?token=wrong", "/login"])
async def test_a_person_without_the_token_is_told_what_to_do(tmp_path: Path, path: str) -> None:
    async with studio_here(tmp_path, signed_in=False) as client:
        response = await client.get(path, headers=PAGE)
        assert response.status_code == 401
        assert "Open the link that the server printed when it started" in response.text
        assert SAMPLE not in response.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8731", "localhost.evil.example", "192.168.0.7", "", "["],
)
async def test_a_foreign_name_is_refused(tmp_path: Path, host: str) -> None:
    async with studio_here(tmp_path) as client:
        response = await client.get("/", headers={"host": host})
        assert response.status_code == 421
        assert response.json()["error"]["code"] == "foreign_host"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8731", "localhost:1", "LOCALHOST", "[::1]:8731", "[::1]"])
async def test_a_name_of_this_machine_is_let_in(tmp_path: Path, host: str) -> None:
    async with studio_here(tmp_path) as client:
        assert (await client.get("/", headers={"host": host})).status_code == 200


def test_a_server_for_others_goes_by_addresses_and_the_names_that_were_given() -> None:
    names = Names.of("0.0.0.0", ["Stories.example"])  # noqa: S104 - is not listened at
    assert all(map(names.allow, ("192.168.0.7:80", "[fe80::1]", "stories.example", "localhost")))
    assert not names.allow("evil.example")
    assert Names.of("127.0.0.1") == Names()


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_what_another_site_sends_is_refused(tmp_path: Path, site: str) -> None:
    async with studio_here(tmp_path) as client:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            response = await client.request(method, "/", headers={"sec-fetch-site": site})
            assert (response.status_code, response.json()["error"]["code"]) == (403, "cross_site_request")
        loaded = await client.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"})
        assert loaded.status_code == 403
        opened = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        assert (await client.get("/", headers=opened)).status_code == 200
        framed = await client.get("/", headers=opened | {"sec-fetch-dest": "iframe"})
        assert framed.status_code == 403


async def test_an_old_browser_names_the_origin(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert (await client.post("/", headers={"origin": "https://evil.example"})).status_code == 403
        assert (await client.post("/", headers={"origin": "null"})).status_code == 403
        assert (await client.post("/", headers={"origin": "http://["})).status_code == 403
        assert (await client.post("/", headers={"origin": HOST})).status_code == 405


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/studio.css", "/api/v1/nothing", "/login?token=wrong"])
async def test_every_answer_has_the_policy(tmp_path: Path, path: str) -> None:
    async with studio_here(tmp_path) as client:
        for headers in ({}, PAGE, {"host": "evil.example"}, {"authorization": ""}):
            response = await client.get(path, headers=headers)
            assert response.headers["content-security-policy"] == POLICY
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["../application.py", "%2e%2e/application.py", "..%2fapplication.py", "/etc/passwd"])
async def test_no_path_leads_out_of_the_static_files(tmp_path: Path, path: str) -> None:
    async with studio_here(tmp_path) as client:
        assert (await client.get(f"/static/{path}")).status_code == 404
        assert (await client.get(f"/static/{studio_assets().version}/{path}")).status_code == 404


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..", ".fabula", "sample%2f..%2f..", "nothing"])
async def test_no_name_leads_out_of_the_shelf(tmp_path: Path, name: str) -> None:
    async with studio_here(tmp_path) as client:
        for path in (f"/api/v1/projects/{name}", f"/projects/{name}/measure"):
            assert (await client.get(path)).status_code == 404


async def test_files_are_kept_for_ever_under_their_version(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        first = await client.get(studio_assets().address("studio.css"), headers={"authorization": ""})
        assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
        again = await client.get("/static/studio.css", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.headers["cache-control"], again.content) == (304, "no-cache", b"")


async def test_no_page_has_script_or_style_of_its_own(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        for path in ("/", "/nothing"):
            text = (await client.get(path, headers=PAGE)).text
            assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=|https?://", text)


async def test_errors_are_a_page_for_a_person_a_line_for_a_form_and_json_for_a_program(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert "<h1>Not found</h1>" in (await client.get("/nothing", headers=PAGE)).text
        assert (await client.get("/nothing", headers={"hx-request": "true"})).text.startswith('<p class="problem">')
        assert (await client.get("/nothing")).json()["error"]["code"] == "unknown_url"
        assert (await client.get("/api/v1/nothing", headers=PAGE)).json()["error"]["code"] == "unknown_url"


async def test_a_body_has_a_bound(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        response = await client.post("/", content=b"x" * 20_000_001)
        assert response.status_code == 413
        assert "Send a shorter text." in response.json()["error"]["message"]


async def test_a_project_that_was_deleted_is_gone(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert f"/projects/{SAMPLE}/" in (await client.get("/")).text
        shutil.rmtree(tmp_path / SAMPLE)
        assert f"/projects/{SAMPLE}/" not in (await client.get("/")).text


def test_markdown_is_made_harmless() -> None:
    made = markdown(
        "# A\n\n<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) ![p](http://e/p.png)\n\n"
        "[y](https://example.org) *kept*"
    )
    assert "<h1>A</h1>" in made
    assert "<em>kept</em>" in made
    assert 'href="https://example.org" rel="noreferrer noopener nofollow"' in made
    assert not re.search(r"<script|<img|href=\"javascript", made)


async def test_a_page_hears_of_what_happened_while_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with studio_here(tmp_path) as client:
        feed, shown = client.state.runs.feed, plan._shown  # type: ignore[attr-defined] # what the studio knows
        before = feed.last

        def shown_late(workspace: Project, read: plan.CardsRead) -> dict[str, Any]:
            found = shown(workspace, read)
            feed.tell("project_changed")
            return found

        monkeypatch.setattr(plan, "_shown", shown_late)
        text = (await client.get("/projects/sample/plan", headers=PAGE)).text
        assert feed.last > before
        assert f'data-after="{before}"' in text


def test_a_studio_starts_without_the_packages_that_only_measuring_and_asking_need(tmp_path: Path) -> None:
    """They would take a fifth of the time that the first page takes."""
    program = (
        "import asyncio, sys, httpx\n"
        "from pathlib import Path\n"
        "from fabula.project.sample import copy_sample\n"
        "from fabula.server.browser import Names, OwnKeys\n"
        "from fabula.server.gate import AccessTokens\n"
        "from fabula.verbs.home import Home\n"
        "from fabula.server.state import StudioState\n"
        "from fabula.server.studio.application import application\n"
        "async def main():\n"
        "    copy_sample(Path(sys.argv[1]) / 'sample')\n"
        "    state = StudioState(Home.of([Path(sys.argv[1])]))\n"
        "    app = application(state, OwnKeys(AccessTokens.of(['a' * 32])), Names(), 'fabula')\n"
        "    headers = {'authorization': 'Bearer ' + 'a' * 32}\n"
        "    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers) as client:\n"
        "        for path in ('/', '/projects/sample/write', '/projects/sample/edit', '/api/v1/projects'):\n"
        "            print((await client.get('http://127.0.0.1' + path)).status_code)\n"
        "asyncio.run(main())\n"
        "print({'numpy', 'scipy', 'httpx2', 'genai_prices', 'xllamacpp', 'docx'} & set(sys.modules))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert said.stdout.split() == ["200"] * 4 + ["set()"], said.stderr[-2000:]
