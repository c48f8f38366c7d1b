"""`fabula lsp` as a process that speaks with an editor over its pipes: plain JSON, as any editor sends it."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from fabula.cli.main import main
from fabula.project.sample import copy_sample
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KETTLE, TEA = "After the New Year it was the kettle", "He had brought me a mug of tea from the kettle"
LIMIT = 60.0


class Editor:
    """An editor: sends requests and changes of texts, and collects what the server shows."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._numbers = process, itertools.count(1)
        self._read = queue.Queue[Any]()
        self.logged: list[str] = []
        self.answers: dict[str, Any] = {}
        self.asked: list[Any] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        out = self._process.stdout
        assert out is not None
        while head := out.readline():
            assert head.startswith(b"Content-Length:"), head
            while out.readline().strip():
                pass
            self._read.put(json.loads(out.read(int(head.split(b":")[1]))))

    def send(self, method: str, params: object, **more: object) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def respond(self, number: object, result: object) -> None:
        data = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def wait(self, method: str = "", number: int = 0) -> Any:  # noqa: ANN401 - JSON data
        while True:
            said = self._read.get(timeout=LIMIT)
            if said.get("method") in ("window/logMessage", "window/showMessage"):
                self.logged.append(said["params"]["message"])
            if said.get("method") in self.answers:  # a request of the server
                self.asked.append(said)
                self.respond(said["id"], self.answers[said["method"]])
            if (number and said.get("id") == number and "method" not in said) or (
                method and said.get("method") == method
            ):
                return said

    def ask(self, method: str, params: object) -> Any:  # noqa: ANN401 - as above
        number = next(self._numbers)
        self.send(method, params, id=number)
        said = self.wait(number=number)
        assert "error" not in said, said
        return said["result"]

    def found(self) -> list[Any]:
        """What is underlined next."""
        shown: list[Any] = self.wait("textDocument/publishDiagnostics")["params"]["diagnostics"]
        return shown

    def open(self, file: Path, text: str | None = None) -> None:
        text = file.read_text(encoding="utf-8") if text is None else text
        item = {"uri": file.as_uri(), "languageId": "markdown", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": item})

    def change(self, file: Path, text: str) -> None:
        whole = {"textDocument": {"uri": file.as_uri(), "version": 2}, "contentChanges": [{"text": text}]}
        self.send("textDocument/didChange", whole)

    def at(self, what: str, file: Path, word: str) -> Any:  # noqa: ANN401 - as above
        lines = file.read_text(encoding="utf-8").split("\n")
        line = next(number for number, one in enumerate(lines) if word in one)
        place = {"line": line, "character": lines[line].index(word) + 1}
        return self.ask(f"textDocument/{what}", {"textDocument": {"uri": file.as_uri()}, "position": place})

    def of(self, what: str, file: Path, **more: object) -> Any:  # noqa: ANN401 - as above
        return self.ask(f"textDocument/{what}", {"textDocument": {"uri": file.as_uri()}, **more})


@contextmanager
def editing(capabilities: object = None, options: object = None) -> Iterator[Editor]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fabula", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)
    )
    try:
        editor = Editor(process)
        asked = {
            "processId": None,
            "rootUri": None,
            "capabilities": capabilities or {},
            "initializationOptions": options,
        }
        assert "hoverProvider" in editor.ask("initialize", asked)["capabilities"]
        editor.send("initialized", {})
        yield editor
        editor.ask("shutdown", None)
        editor.send("exit", None)
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return copy_sample(tmp_path / "mine").folder


def quoted(text: str, found: dict[str, dict[str, int]]) -> str:
    """The underlined words, as an editor counts: lines, and units of UTF-16."""
    start, end = found["start"], found["end"]
    assert start["line"] == end["line"]
    units = text.replace("\r\n", "\n").split("\n")[start["line"]].encode("utf-16-le")
    return units[2 * start["character"] : 2 * end["character"]].decode("utf-16-le")


def test_both_passages_are_underlined_where_they_are_in_the_editor_now(sample: Path) -> None:
    climax, rising = sample / "story/03-climax.md", sample / "story/02-rising-action.md"
    text = climax.read_text(encoding="utf-8")
    with editing() as editor:
        editor.open(climax)
        (found,) = editor.found()
        assert quoted(text, found["range"]).startswith(TEA)
        assert (found["source"], found["severity"]) == ("fabula", 2)
        assert "made tea with the kettle in his cab. Paragraph 34" in found["message"]
        (other,) = found["relatedInformation"]
        assert other["location"]["uri"] == rising.as_uri()
        assert quoted(rising.read_text(encoding="utf-8"), other["location"]["range"]).startswith(KETTLE)

        odd = ("A 🕯️ and a\u2028separator.\n\n" + text.replace("He had brought", "🕯️ He had brought")).replace(
            "\n", "\r\n"
        )
        editor.change(climax, odd)
        (found,) = editor.found()
        assert quoted(odd, found["range"]).startswith(TEA)

        editor.open(sample / "story.md")
        whole = (sample / "story.md").read_text(encoding="utf-8")
        assert [quoted(whole, one["range"])[: len(KETTLE)] for one in editor.found()] == [KETTLE, TEA[: len(KETTLE)]]

        changed = rising.read_text(encoding="utf-8").replace(KETTLE, "In spring it was the kettle")
        editor.open(rising, changed)
        assert editor.found() == []
        editor.change(climax, text)
        (found,) = editor.found()
        assert found["severity"] == 3
        assert found["message"].endswith("The other passage has changed since the check.")


def test_a_finding_that_is_intended_is_dismissed_and_nothing_else_is_written(sample: Path) -> None:
    climax = sample / "story/03-climax.md"

    def files() -> dict[str, bytes]:
        private = (sample / ".fabula").rglob("*")
        kept = {*sample.rglob("*")} - {*private}
        return {str(path.relative_to(sample)): path.read_bytes() for path in kept if path.is_file()}

    before = files()
    with editing() as editor:
        editor.open(climax)
        (found,) = editor.found()
        context: dict[str, Any] = {"diagnostics": [found]}
        here, there, action = editor.of(
            "codeAction", climax, range=found["range"], context=context | {"only": ["quickfix"]}
        )
        assert [one["title"].split(":")[0] for one in (here, there, action)] == [
            "Change here",
            "Change there",
            "On purpose",
        ]
        assert {one["kind"] for one in (here, there, action)} == {"quickfix"}
        uri, _, *_, note = there["command"]["arguments"]
        assert uri == (sample / "story/02-rising-action.md").as_uri()
        assert TEA in note
        assert files() == before
        editor.ask("workspace/executeCommand", {k: action["command"][k] for k in ("command", "arguments")})
        assert editor.found() == []
        wrong = [climax.as_uri(), "none", "No reason."]
        editor.ask("workspace/executeCommand", {"command": "fabula.intended", "arguments": wrong})
        assert "finding 'none'" in editor.logged[-1]
    (dismissed,) = Project.open(sample).last_check().findings
    assert dismissed.dismissed == "The author marked it as intended in an editor."
    assert all(name.startswith("evaluation/") for name, data in files().items() if before.get(name) != data)


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """An imported story whose suggestions are scripted."""
    (tmp_path / "lamp.md").write_text(
        "# The lamp\n\n## One\n\nAt six “Mara” lit the lamp.  \nIt rained.\n", encoding="utf-8"
    )
    folder = tmp_path / "project"
    assert (
        main(["import", str(tmp_path / "lamp.md"), "--out", str(folder), "--model", "scripted:replies.toml", "-q"]) == 0
    )
    said = {
        f"one/suggest/{n}/rewrite_passage": text
        for n, text in enumerate(("She lit it.", "Mara did it.", "It was lit."), 1)
    }
    (folder / "replies.toml").write_text(script_of({"writer:suggest": "The wind dropped."} | said), encoding="utf-8")
    return folder / "story/01-one.md"


def suggestions(
    editor: Editor, file: Path, start: tuple[int, int], end: tuple[int, int], *, invoked: bool = False
) -> list[Any]:
    chosen = {name: dict(zip(("line", "character"), at, strict=True)) for name, at in (("start", start), ("end", end))}
    context: dict[str, Any] = {"diagnostics": [], "triggerKind": 1 if invoked else 2}
    found: list[Any] = editor.of("codeAction", file, range=chosen, context=context)
    return found


def chosen_edit(editor: Editor, action: Any) -> Any:  # noqa: ANN401 - JSON data
    """What the server puts into the text for an action."""
    editor.asked.clear()
    editor.ask("workspace/executeCommand", {k: action["command"][k] for k in ("command", "arguments")})
    (asked,) = (one for one in editor.asked if one["method"] == "workspace/applyEdit")
    ((edit,),) = asked["params"]["edit"]["changes"].values()
    return edit


def test_suggestions_are_made_where_the_cursor_is_and_put_in_by_the_editor(lamp: Path) -> None:
    before = lamp.read_bytes()
    with editing({"window": {"workDoneProgress": True}}) as editor:
        editor.answers = {"workspace/applyEdit": {"applied": True}, "window/workDoneProgress/create": None}
        editor.open(lamp)
        sentence, paragraph, scene = suggestions(editor, lamp, (3, 10), (3, 10), invoked=True)
        assert sentence["title"].startswith("Continue: a sentence (about ")
        edit = chosen_edit(editor, sentence)
        assert (edit["newText"], edit["range"]["start"]) == (" The wind dropped.", {"line": 3, "character": 10})
        assert chosen_edit(editor, paragraph)["newText"] == "\n\nThe wind dropped."
        assert "to the end of the scene" in scene["title"]

        editor.answers["window/showMessageRequest"] = {"title": "Use 2"}
        (reword,) = suggestions(editor, lamp, (2, 7), (2, 26))
        assert reword["title"] == "Suggest three other wordings"
        assert chosen_edit(editor, reword)["newText"] == "Mara did it."
        assert "1. She lit it.\n\n2. Mara did it." in editor.asked[1]["params"]["message"]
        editor.change(lamp, "Unsaved.")
        editor.ask("workspace/executeCommand", {k: reword["command"][k] for k in ("command", "arguments")})
        assert editor.logged[-1] == "story/01-one.md is not saved. Save it, then ask for suggestions."
    assert lamp.read_bytes() == before
    project = Project.open(lamp.parents[1])
    calls = len(project.calls().calls)
    project.suggest("one", passage="“Mara” lit the lamp")
    assert len(project.calls().calls) == calls, "the same place was asked for"


def test_the_whole_story_has_suggestions_too_and_other_files_have_none(lamp: Path) -> None:
    story = lamp.parents[1] / "story.md"
    with editing(options={"chooses": True}) as editor:
        editor.answers = {"workspace/applyEdit": {"applied": True}, "fabula/choose": 2}
        editor.open(story)
        lines = story.read_text(encoding="utf-8").split("\n")
        line = next(n for n, one in enumerate(lines) if one.startswith("At six"))
        (reword,) = suggestions(editor, story, (line, 7), (line, 26))
        assert chosen_edit(editor, reword)["newText"] == "It was lit."
        assert editor.asked[0]["params"]["texts"] == ["She lit it.", "Mara did it.", "It was lit."]
        assert suggestions(editor, lamp.parents[1] / "brief.md", (0, 0), (0, 0)) == []


def test_a_name_says_who_it_is_and_what_is_known_by_this_scene(sample: Path) -> None:
    first, climax = sample / "story/01-exposition.md", sample / "story/03-climax.md"
    with editing() as editor:
        editor.open(first)
        editor.open(climax)
        said = editor.at("hover", climax, "Ivan")["contents"]
        assert said["kind"] == "plaintext"
        assert said["value"].startswith("Ivan Utting (person)\n\nIvan Utting (the one who is weighed, man, 58)")
        assert "Known by the end of “Climax”:\n- Ivan Utting, weight: 60 kg" in said["value"]
        earlier = editor.at("hover", first, "Ivan")["contents"]["value"]
        assert "owner-driver for Peckover" in earlier
        assert "weight: 60 kg" not in earlier, "it is told later"
        assert editor.at("hover", climax, "brown") is None
        told = editor.at("definition", climax, "Ivan")
        assert told[0]["uri"] == climax.as_uri()
        assert quoted(climax.read_text(encoding="utf-8"), told[0]["range"]) == "I put sundries."
        assert told[-1]["uri"] == first.as_uri()
        whole = sample / "story.md"
        editor.open(whole)
        assert editor.at("hover", whole, "Ivan")["contents"]["value"] == earlier
        names = {
            one["label"]: one["detail"] for one in editor.of("completion", climax, position={"line": 0, "character": 0})
        }
        assert (names["Wendy Clabburn"], names["vehicle 31"]) == ("person", "thing")


def test_a_stale_text_says_what_a_run_would_cost(sample: Path) -> None:
    plan, climax = sample / "plan/plan.yaml", sample / "story/03-climax.md"
    with editing() as editor:
        editor.open(climax)
        assert not editor.of("codeLens", climax)
        plan.write_text(plan.read_text(encoding="utf-8").replace("Large, courteous", "Small, rude"), encoding="utf-8")
        (lens,) = editor.of("codeLens", climax)
        assert lens["command"]["title"].startswith("stale: 1 call, about ")
        (lens,) = editor.of("codeLens", sample / "story.md")
        assert lens["command"]["title"].startswith("stale: 8 calls, about ")


def test_what_another_program_changes_is_shown_again(sample: Path) -> None:
    climax = sample / "story/03-climax.md"
    with editing() as editor:
        editor.open(climax)
        (found,) = editor.found()
        Project.open(sample).dismiss(found["code"], "He has two of them.")
        while editor.found():
            pass


def test_files_outside_a_project_get_nothing_in_silence(tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text("Not a project.", encoding="utf-8")
    note = tmp_path / "note.md"
    note.write_text("Ivan had tea.", encoding="utf-8")
    with editing() as editor:
        editor.open(note)
        assert editor.at("hover", note, "Ivan") is None
        for uri in ("untitled:Untitled-1", "file:///%00/story.md", "no address", "file://"):
            at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
            assert editor.ask("textDocument/hover", at) is None
        assert editor.logged == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["brief.md", "note.md"]


def test_a_project_that_cannot_be_read_is_reported_and_the_server_goes_on(sample: Path) -> None:
    climax = sample / "story/03-climax.md"
    (sample / "evaluation/atlas.json").write_text("{", encoding="utf-8")
    (sample / ".fabula/world.db").write_text("no database", encoding="utf-8")
    with editing() as editor:
        editor.open(climax)
        said = editor.at("hover", climax, "Ivan")["contents"]["value"]
        assert said.startswith("Ivan Utting (person)")
        assert "world.db" in said.split("\n\n")[-1], "what could not be read"
        editor.wait("window/logMessage") if not any("atlas.json" in one for one in editor.logged) else None
        assert any("atlas.json" in one for one in editor.logged), editor.logged
        assert editor.of("completion", climax, position={"line": 0, "character": 0})
