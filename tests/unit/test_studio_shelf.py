"""The shelf: where projects stand, and how one begins: from a brief, from a story, or the sample."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from fabula.app.workspace import Workspace
from fabula.base.errors import DiskFullError, GoneError, UnknownNameError, UsageError
from fabula.models.finding import ServedModel, Server
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.story import Brief
from fabula.verbs.home import Home
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from fabula.app.workspace import Overview

BRIEF = "Mara keeps the lamp of the cape. One night a letter comes that she wrote herself."
FORM = {"hx-request": "true"}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has the time that it needs to say where projects stand, in tests that read it."""
    monkeypatch.setattr("fabula.server.studio.pages.shelf._PATIENCE", 60.0)


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that nobody has to fetch."""
    file = tmp_path / "script.toml"
    file.write_text('[replies]\nwriter = "The lamp went out."\n')
    return f"scripted:{file}"


async def sent(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    """The form, filled in and sent; a file is named by its content in `upload`."""
    upload = fields.pop("upload", None)
    files: dict[str, Any] = {"file": (fields.pop("name", "story.md"), upload)} if upload is not None else {}
    return await client.post(path, data={"kind": "brief"} | fields, files=files or {"none": b""}, headers=FORM)


async def test_every_project_says_where_it_stands(tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy_sample(home / "sample")
    ProjectFolder.create(home / "lamp", Brief(BRIEF, "The <Lamp>"), {"model": "hand"})
    (home / "broken").mkdir()
    (home / "broken" / "brief.md").write_text("Something.")
    (home / "broken" / "fabula.toml").write_text("model = [")
    (home / "no project").mkdir()
    async with studio_here(home) as client:
        text = (await client.get("/")).text
    assert "Sufficient Knowledge" in text
    assert "3,234 words" in text
    assert "The &lt;Lamp&gt;" in text
    assert "Nothing has been written yet" in text
    assert "fabula.toml" in text
    assert "no project" not in text


async def test_a_project_that_takes_long_keeps_neither_the_list_nor_other_rows_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, looked, go_on = tmp_path / "home", Workspace.overview, threading.Event()
    copy_sample(home / SAMPLE)
    for number in range(3):
        ProjectFolder.create(home / f"slow-{number}", Brief(BRIEF, f"The Slow {number}"), {"model": "hand"})

    def overview(workspace: Workspace) -> Overview:
        assert not workspace.name.startswith("slow") or go_on.wait(60)
        return looked(workspace)

    monkeypatch.setattr(Workspace, "overview", overview)
    monkeypatch.setattr("fabula.server.studio.pages.shelf._PATIENCE", 0.01)
    try:
        async with asyncio.timeout(120), studio_here(home) as client:
            first = (await client.get("/")).text
            rows = re.findall(r'hx-get="(/cards/[^"]+)" hx-trigger="load"', first)
            assert {f"/cards/slow-{number}" for number in range(3)} <= set(rows), "these are asked for one by one"
            assert "Checking its state " in first
            waiting = asyncio.create_task(client.get("/cards/slow-1"))
            assert "3,234 words" in (await client.get(f"/cards/{SAMPLE}")).text, "it is known before the slow ones"
            assert not waiting.done()
            go_on.set()
            row = (await waiting).text
            assert "The Slow 1" in row
            assert row.count("<li") == 1
            assert "Unknown project &#39;nothing&#39;" in (await client.get("/cards/nothing")).text
    finally:
        go_on.set()


async def test_an_empty_shelf_says_how_to_begin(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with studio_here(home) as client:
        shutil.rmtree(home / SAMPLE)
        assert "There is nothing here yet" in (await client.get("/")).text
        made = await client.post("/sample", headers=FORM)
        assert (made.status_code, made.headers["hx-redirect"].rpartition("/")[0]) == (204, "/projects/sample")
        again = await client.post("/sample")  # a browser without script
        assert (again.status_code, again.headers["location"].rpartition("/")[0]) == (303, "/projects/sample-2")
        assert (home / "sample-2" / "story.md").is_file()


async def test_a_price_that_is_not_known_is_said_in_words(tmp_path: Path) -> None:
    async with studio_here(tmp_path / "home") as client:
        wanted = {"text": BRIEF, "model": "openai-chat:tale-1", "base_url": "http://127.0.0.1:9/v1"}
        looked = await sent(client, "/new/estimate", **wanted)
    assert "<strong>price unknown</strong>" in looked.text
    assert "about unknown" not in looked.text


async def test_a_brief_is_estimated_and_then_made_a_project(tmp_path: Path, script: str) -> None:
    home = tmp_path / "home"
    wanted = {"text": BRIEF, "title": "The Lamp", "model": script, "words": "300-400", "system": "end-to-end"}
    async with studio_here(home) as client:
        looked = await sent(client, "/new/estimate", **wanted)
        assert looked.status_code == 200, looked.text
        assert re.search(r"About <strong>\d calls?</strong>", looked.text)
        assert "the model runs on this machine" in looked.text
        assert not (home / "the-lamp").exists()
        made = await sent(client, "/new", **wanted)
        assert made.headers["hx-redirect"].startswith("/projects/the-lamp/")
        assert "The Lamp" in (await client.get("/")).text
    project = ProjectFolder.open(home / "the-lamp")
    assert (project.brief.text, project.brief.title) == (BRIEF, "The Lamp")
    assert project.settings.config["words"] == "300-400"
    assert (project.settings.system, project.settings.model) == ("end-to-end", script)


async def test_the_form_for_a_story_offers_systems_that_write_from_plans(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        for_story = (await client.get("/new?kind=story")).text
        assert 'value="agents-room"' in for_story
        assert 'value="vanilla"' not in for_story
        assert 'value="vanilla"' in (await client.get("/new")).text


@pytest.mark.parametrize("upload", [False, True])
async def test_a_story_becomes_a_project_whose_plan_is_read_off(tmp_path: Path, script: str, *, upload: bool) -> None:
    home, story = tmp_path / "home", "# The Lamp\n\nMara kept the lamp. Then the letter came."
    wanted = {"kind": "story", "model": script} | ({"upload": story} if upload else {"text": story})
    async with studio_here(home) as client:
        looked = await sent(client, "/new/estimate", **wanted)
        assert looked.status_code == 200, looked.text
        assert "Estimate for extracting the plan" in looked.text
        made = await sent(client, "/new", **wanted)
        assert made.headers["hx-redirect"].startswith("/projects/the-lamp/")
    assert "Mara kept the lamp." in (home / "the-lamp" / ".fabula" / "source.md").read_text()


MANUSCRIPT = "# The Lamp\n\n## One <b>\n\nMara kept the lamp.\n\n## Two\n\nThen the letter came.\n"


@pytest.mark.parametrize("upload", [False, True])
async def test_a_manuscript_becomes_a_project_word_for_word_and_nobody_is_asked(
    tmp_path: Path, *, upload: bool
) -> None:
    home = tmp_path / "home"
    wanted = {"kind": "manuscript"} | (
        {"upload": MANUSCRIPT, "name": "my novel.md"} if upload else {"text": MANUSCRIPT}
    )
    async with studio_here(home) as client:
        form = (await client.get("/new?kind=manuscript")).text
        assert "word for word" in form
        assert 'name="system"' not in form
        looked = await sent(client, "/new/estimate", **wanted)
        assert looked.status_code == 200, looked.text
        assert "“The Lamp” in 2 parts" in looked.text
        assert "## One &lt;b&gt; Mara kept the lamp." in looked.text
        assert not (home / "the-lamp").exists()
        made = await sent(client, "/new", author="Ada  Quill", **wanted)
        assert made.headers["hx-redirect"] == "/projects/the-lamp/write"
        idle = (await client.get("/projects/the-lamp/write-parts/expected")).text
        assert '<a class="button primary" href="/projects/the-lamp/edit">Edit the story</a>' in idle
        assert "Put the story together" not in idle
        assert '<button class="primary"' not in idle
        shown = await client.get("/projects/the-lamp/edit/two")
        assert "Then the letter came." in shown.text
        assert "Restore the written text" not in shown.text
        space = client.state.shelf["the-lamp"]  # type: ignore[attr-defined] # set by `studio_here`
        await asyncio.to_thread(space.edit, "two", "## Two\n\nThen a letter came.\n", space.text("two").base)
        shown = await client.get("/projects/the-lamp/edit/two")
        assert "Then a letter came." in shown.text
        assert "Then a letter came." in (await client.get("/api/v1/projects/the-lamp/exports/markdown")).text
        after = (await client.get("/projects/the-lamp/edit-parts/expected?name=two")).text
        assert "Put the story together" in after
        assert "Nothing would change" not in after
        busy = (await client.get("/projects/the-lamp/write-parts/expected")).text
        assert '<button class="primary">Put the story together</button>' in busy
        assert "Edit the story" not in busy
        assert "Restore the written text" not in shown.text
        await asyncio.to_thread(space.undo)
        assert "Then a letter came." not in (await client.get("/api/v1/projects/the-lamp/exports/markdown")).text
        assert (
            "Put the story together" not in (await client.get("/projects/the-lamp/edit-parts/expected?name=two")).text
        )
        history = await client.get("/projects/the-lamp/edit-parts/history?name=two")
        assert f"you, from {'my novel.md' if upload else 'pasted text'}" in history.text
        again = await sent(client, "/new", **wanted)
        assert again.headers["hx-redirect"] == "/projects/the-lamp-2/write"
    assert ProjectFolder.open(home / "the-lamp").settings.author.name == "Ada Quill"
    assert not (home / "the-lamp" / "voice").exists(), "nobody said that it is the author's own prose"
    story = (home / "the-lamp" / "story.md").read_text()
    assert [line for line in story.split("\n") if line and "<!--" not in line] == MANUSCRIPT.split("\n\n")[:1] + [
        line for line in MANUSCRIPT.split("\n")[1:] if line
    ]


@pytest.mark.parametrize(("kind", "begun"), [("brief", "write"), ("story", "make_plan")])
async def test_it_is_begun_at_once_where_that_is_wanted(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch, kind: str, begun: str
) -> None:
    started = []
    monkeypatch.setattr("fabula.server.runs.children.Runs.start", lambda _, *run: started.append(run))
    async with studio_here(tmp_path / "home") as client:
        await sent(client, "/new", kind=kind, text=BRIEF, model=script, title="The Lamp", at_once="yes")
    ((name, verb, _),) = started
    assert (name, verb) == ("the-lamp", begun)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"text": ""}, "The brief"),
        ({"text": BRIEF, "system": "agent-room"}, "Did you mean &#39;agents-room&#39;?"),
        ({"text": BRIEF, "system": "./evil"}, "Unknown system"),
        ({"text": BRIEF, "model": "embeded:x"}, "embedded"),
        ({"text": BRIEF, "words": "many"}, "many"),
        ({"kind": "story", "text": " "}, "The story is empty"),
        ({"kind": "manuscript", "text": " "}, "The manuscript is empty"),
        ({"kind": "manuscript", "upload": "%PDF-1.7 Mara", "name": "a.md"}, "is a PDF file"),
        ({"kind": "manuscript", "upload": "PK", "name": "a.pages"}, "a.pages is not a supported file"),
        ({"kind": "manuscript", "text": "Mara.", "system": "snap"}, "snap divides a story into parts according to"),
        ({"upload": "x", "name": "story.exe"}, "story.exe is not a supported file"),
        ({"upload": "\0\1\2", "name": "story.md"}, "story"),
    ],
)
async def test_what_cannot_be_begun_is_said_in_words(
    tmp_path: Path, script: str, fields: dict[str, str], says: str
) -> None:
    async with studio_here(tmp_path / "home") as client:
        for path in ("/new/estimate", "/new"):
            response = await sent(client, path, **({"model": script} | fields))
            assert response.status_code in (400, 404), response.text
            assert response.text.startswith('<p class="problem">')
            assert says in response.text
    assert [one.name for one in (tmp_path / "home").iterdir()] == [SAMPLE]


async def test_where_there_is_no_model_the_form_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {"FABULA_MODELS": str(tmp_path / "none"), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}

    async def no_servers(environ: object) -> list[object]:
        return []

    monkeypatch.setattr("fabula.project.default_model.look", no_servers)
    monkeypatch.setattr("fabula.server.studio.pages.shelf.look", no_servers)
    async with studio_here(tmp_path / "home", nothing) as client:
        assert "There is no model on this machine yet." in (await client.get("/new")).text
        found = (await client.get("/new/models")).text
        assert "<code>fabula models pull best</code>" in found
        keyed = await client.get("/new/models")
        assert "Keys are set" not in keyed.text
    async with studio_here(tmp_path / "home", nothing | {"OPENAI_API_KEY": "sk-secret"}) as client:
        found = (await client.get("/new/models")).text
        assert "Keys are set for OpenAI" in found
        assert "sk-secret" not in found


@pytest.mark.parametrize("kind", ["brief", "story", "manuscript"])
async def test_a_model_that_answers_here_is_taken_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    nothing = {"FABULA_MODELS": str(tmp_path / "none"), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}

    async def one_server(environ: object) -> list[Server]:
        return [Server("ollama", "http://127.0.0.1:11434"), Server("llamacpp", "there", (ServedModel("large"),))]

    monkeypatch.setattr("fabula.project.default_model.look", one_server)
    async with studio_here(tmp_path / "home", nothing) as client:
        form = (await client.get(f"/new?kind={kind}")).text
        assert 'value="llamacpp:large"' in form
        assert "on this machine serves" in form
        assert "There is no model" not in form


async def test_a_manuscript_keeps_the_model_that_was_named_for_it(tmp_path: Path, script: str) -> None:
    async with studio_here(tmp_path / "home") as client:
        await sent(client, "/new", kind="manuscript", text=MANUSCRIPT, model=script)
        assert client.state.shelf["the-lamp"].settings().model == script  # type: ignore[attr-defined] # set by `studio_here`


def test_projects_keep_their_names(tmp_path: Path) -> None:
    ProjectFolder.create(tmp_path / "b" / "Lamp!", Brief(BRIEF))
    ProjectFolder.create(tmp_path / "b" / "lamp", Brief(BRIEF))
    shelf = Home.of([tmp_path / "b" / "lamp", tmp_path / "b"])
    assert shelf.names == ["lamp", "lamp-2"]
    assert shelf.home == tmp_path / "b"
    assert shelf.folder("lamp-2") == tmp_path / "b" / "Lamp!"
    ProjectFolder.create(tmp_path / "b" / "ferry", Brief(BRIEF))
    assert shelf["ferry"].folder == tmp_path / "b" / "ferry"
    shutil.rmtree(tmp_path / "b" / "lamp")
    with pytest.raises(GoneError, match="is no longer available"):
        shelf.folder("lamp")
    with pytest.raises(UnknownNameError, match="Did you mean 'ferry'"):
        shelf.folder("fery")
    assert shelf.names == ["lamp-2", "ferry"]


def test_a_link_in_a_folder_of_projects_is_not_followed(tmp_path: Path) -> None:
    ProjectFolder.create(tmp_path / "elsewhere", Brief(BRIEF))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "elsewhere")
    assert Home.of([tmp_path / "home"]).names == []


async def test_a_project_that_may_not_be_read_keeps_nobody_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lamp", "shut"):
        ProjectFolder.create(tmp_path / name, Brief(BRIEF, name.title()))
    async with studio_here(tmp_path) as client:
        assert (await client.get("/projects/shut/write", headers={"accept": "text/html"})).status_code == 200
        whole = os.stat

        def guarded(path: Any, *rest: Any, **more: Any) -> os.stat_result:  # noqa: ANN401 - as the function that it stands in for
            if str(path).startswith(str(tmp_path / "shut" / "")):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return whole(path, *rest, **more)

        monkeypatch.setattr(os, "stat", guarded)
        first = await client.get("/", headers={"accept": "text/html"})
        assert (first.status_code, "Lamp" in first.text, "Shut" in first.text) == (200, True, False)
        gone = await client.get("/api/v1/projects/shut")
        assert gone.status_code == 410
        assert "its folder was removed or renamed, or cannot be read." in gone.json()["error"]["message"]


def test_a_project_among_thousands_of_folders_is_found(tmp_path: Path) -> None:
    for number in range(1100):
        (tmp_path / f"a{number}").mkdir()
    ProjectFolder.create(tmp_path / "zoo", Brief(BRIEF))
    assert Home.of([tmp_path]).names == ["zoo"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no folder .* Specify a project"):
        Home.of([tmp_path / "nowhere"])


def test_a_sample_for_which_there_is_no_room_leaves_no_part_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFullError) as error:
        copy_sample(tmp_path / "sample")
    assert str(error.value) == (
        f"Cannot write {tmp_path}/sample. The disk or quota is full. Free some space and run the command again. No "
        "earlier data is lost."
    )
    assert [*tmp_path.iterdir()] == []


async def test_the_page_says_in_which_older_encoding_a_manuscript_was_read(tmp_path: Path) -> None:
    file = ("old.txt", "Schöne Grüße, sagte er über die Straße.".encode("cp1252"), "text/plain")
    async with studio_here(tmp_path) as client:
        looked = await client.post("/new/estimate", data={"kind": "manuscript"}, files={"file": file})
        assert "old.txt is not UTF-8. It was read as cp1252" in looked.text
        assert "UTF-8" not in (await sent(client, "/new/estimate", kind="manuscript", text=MANUSCRIPT)).text


async def test_a_manuscript_of_ones_own_is_a_sample_from_which_the_style_is_described(tmp_path: Path) -> None:
    home, edit = tmp_path / "home", "/projects/mine/edit"
    own = copy_sample(home / "sample").story().text
    async with studio_here(home) as client:
        assert "learn my style from it" in (await client.get("/new?kind=manuscript")).text
        assert "learn my style from it" not in (await client.get("/new")).text
        await sent(client, "/new", kind="manuscript", title="Mine", text=own, own="true")
        assert "Describe my style" in (await client.get(edit)).text
        read = {"person": "first", "tense": "past", "does": ["Ends on a bare fact."], "avoids": ["shimmering"]}
        (home / "mine/script.toml").write_text(script_of({"reader:read_voice": json.dumps(read)}), encoding="utf-8")
        (home / "mine/fabula.toml").write_text(
            'system = "end-to-end"\nmodel = "scripted:script.toml"\n', encoding="utf-8"
        )

        async def style(**given: str) -> httpx.Response:
            return await client.post("/projects/mine/edit-parts/style", data=given, headers=FORM)

        counted = (await style()).text
        assert "<li>Sentences: " in counted
        assert "what you avoid: 1 call, about" in counted
        assert '<button type="button" data-style>Have a model read them</button>' in counted
        run = (await client.post("/api/v1/projects/mine/style", json={})).json()["id"]
        for _ in range(1_200):
            if (standing := (await client.get(f"/api/v1/projects/mine/runs/{run}")).json())["state"] == "finished":
                break
            await asyncio.sleep(0.05)
        assert standing["total"]["calls"] == 1, standing
        (home / "mine/script.toml").unlink()  # from here on no model answers
        proposed = (await style(run=run)).text
        assert "Ends on a bare fact." in proposed
        assert "A model has read this in your samples." in proposed
        assert "data-style" not in proposed
        assert not (home / "mine/style.md").exists(), "a proposal saves nothing"
        assert (await style(run="nothing")).status_code == 404
        done = await style(run=run, accept="true")
        assert done.headers.get("hx-redirect") == f"{edit}/style.md", done.text
        sheet = (await client.get(f"{edit}/style.md")).text
        assert "- Ends on a bare fact." in sheet
        assert re.findall("Undo reverts: [^<]*", sheet) == ["Undo reverts: edit of Style."]
        assert "Describe my style" not in (await client.get(edit)).text
        undone = await client.post("/projects/mine/edit-parts/decide", data={"name": "style.md", "what": "undo"})
        assert undone.status_code == 200, undone.text
        assert not (home / "mine/style.md").exists()
        assert "Describe my style" in (await client.get(edit)).text
    assert (home / "mine" / "voice" / "pasted-text.md").read_text("utf-8").split() == own.split()


async def test_an_imported_chapter_has_its_title_once_and_the_facts_about_whom_it_names(tmp_path: Path) -> None:
    home, at = tmp_path / "home", "/projects/light"
    text = "# Part One\n\n## The Lamp\n\nMara lit it.\n\n# Part Two\n\n## The Boats\n\nThey came home.\n"
    async with studio_here(home) as client:
        await sent(client, "/new", kind="manuscript", title="Light", text=text)
        shown = (await client.get(f"{at}/write")).text
        text_shown = shown[shown.index('<article id="text"') : shown.index("</article>")]
        assert text_shown.count("The Lamp") == 1, "above the text, and not again in it"
        for part in ("compare", "takes"):
            answer = await client.get(f"{at}/edit-parts/{part}", params={"name": "the-lamp"})
            assert re.search("(The Lamp: version|versions of The Lamp)", answer.text), part
            assert ".md" not in answer.text
        await asyncio.to_thread(Home.of([home])["light"].set_entry, "Mara", secret="She set it.", known_to=["Tobias"])
        beside = [(await client.get(f"{at}/edit-parts/beside?name={name}")).text for name in ("the-lamp", "the-boats")]
        assert re.search(r"Mara, secret: She set it\.</a> <span class=\"faint\">known to Tobias", beside[0])
        assert "Facts at this point" not in beside[1], "there is nothing to say"
        (home / "light/plan/codex.yaml").write_text("entries: [{nme: Mara}]", encoding="utf-8")
        broken = await client.get(f"{at}/edit-parts/beside?name=the-lamp")
        assert (broken.status_code, broken.text.count('class="note"')) == (200, 1)


async def test_a_story_is_exported_from_both_pages_first_as_what_it_was_imported_from(tmp_path: Path) -> None:
    async with studio_here(tmp_path / "home") as client:
        titles = r'exports/\w+" download>([\w ]+) <span|(PDF or print)<'
        for source, first in (("lamp.fountain", "Fountain"), ("lamp.rtf", "Word")):
            screenplay = "INT. LIGHTHOUSE - NIGHT\n\nMara lights the lamp.\n"
            upload = screenplay if source.endswith("fountain") else r"{\rtf1 Mara lights the lamp.}"
            made = await sent(client, "/new", kind="manuscript", title=first, upload=upload, name=source)
            at = made.headers["hx-redirect"].removesuffix("/write")
            pages = [(await client.get(f"{at}/{name}")).text for name in ("write", "edit")]
            lists = [["".join(one) for one in re.findall(titles, text)] for text in pages]
            assert lists[0] == lists[1]
            rest = ["Word", "EPUB", "PDF or print", "OpenDocument", "Rich Text", "Markdown", "Plain text", "Fountain"]
            rest += ["Final Draft", "JSON"]
            came = "Fountain" if source.endswith("fountain") else "Rich Text"
            assert lists[0] == [came, *(one for one in rest if one != came)]
            assert "Mara lights the lamp." in (await client.get(f"{at}/print")).text
