"""The client for Python, against a server on a socket: every verb, its errors, and events that resume."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ConflictError, FabulaError, GoneError, ServerError, UsageError
from fabula.server.client import Client, RemoteProject, ServerConnection
from fabula.server.studio.application import document
from fabula.verbs.base import HEARS, every
from studio import SAMPLE, TOKEN, studio_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabula.verbs.base import Verb
    from studio import There

PART = "exposition"


@pytest.fixture
def there(tmp_path: Path) -> Iterator[There]:
    with studio_there(tmp_path / "shelf") as running:
        yield running


@pytest.fixture
def client(there: There) -> Client:
    return Client(there.address, TOKEN)


def test_what_was_measured_is_read_through_the_client(client: Client) -> None:
    sample = client.project(SAMPLE)
    (line,) = sample.reports().reports
    assert (line.name, line.evaluator, line.earlier) == ("evaluation/atlas", "atlas", False)
    report = sample.report(line.name)
    assert {"of": "story", "what": "findings", "value": 1.0}.items() <= report.rows[0].items()
    found = sample.verdicts(line.name, most=1)
    assert (found.total, len(found.verdicts)) == (2, 1)
    assert found.verdicts[0].reason.startswith("Paragraph 34 has the kettle")
    with pytest.raises(UsageError, match="Did you mean 'evaluation/atlas'"):
        sample.report("evaluation/altas")


def test_where_nothing_was_learned_the_client_says_so(client: Client) -> None:
    sample = client.project(SAMPLE)
    assert not sample.learned().is_there
    with pytest.raises(UsageError, match="Nothing was learned"):
        sample.use_learned(use=False)
    assert not sample.forget_learned().is_there


def test_a_project_is_looked_at_through_the_client(client: Client) -> None:
    assert [one.project for one in client.projects().projects] == [SAMPLE]
    sample = client.project(SAMPLE)
    assert sample.status().title == "Sufficient Knowledge"
    listed = sample.artefacts("story").artefacts
    assert (listed[0].name, listed[0].stale) == (PART, False)
    assert sample.artefacts(marks=False).artefacts[1].stale is None
    text = sample.text("story/01-exposition.md")
    assert (text.name, text.version) == (PART, 1)
    assert sample.versions(PART).versions[0].role == "exposition"
    assert sample.alternatives(PART).versions[0].number == 1
    assert sample.difference(PART, 1).places
    assert sample.changes().changes == []
    assert sample.estimate().total_calls == 0
    assert sample.estimate({"setting": "A harbour."}).total_calls > 0
    assert sample.plan().plan.scenes
    assert sample.world(of="Wendy", at="1").of == "Wendy Clabburn"
    assert sample.findings().checked
    calls = sample.calls("Avery").calls
    assert sample.call(calls[0].id).messages
    assert sample.final_edits().edits
    assert "epub" in sample.formats().formats
    assert sample.export("epub").content.startswith(b"PK")
    chat = sample.conversations().chats[0]
    view = sample.conversation(chat.name)
    assert len(view.turns) == chat.turns
    assert view.turns[0].answer in sample.transcript(chat.name).text
    assert sample.why(chat.name, 1).who == view.turns[0].who


def test_a_project_is_changed_through_the_client(client: Client) -> None:
    sample = client.project(SAMPLE)
    read = sample.text(PART)
    saved = sample.edit(PART, "Mine.", read.base)
    assert saved.changed
    with pytest.raises(ConflictError, match="has changed since you read it") as refused:
        sample.edit(PART, "Theirs.", read.base)
    assert (refused.value.theirs, refused.value.base) == ("Mine.", saved.base)
    assert sample.undo().wording == "edit of Exposition"  # its title, never its name
    assert sample.redo().artefacts == (PART,)
    assert sample.choose(PART, 1).words == read.words
    assert sample.pin(PART).artefacts == [PART]
    assert sample.pins().artefacts == [PART]
    assert sample.unpin(PART).artefacts == [PART]
    assert sample.retake(PART, "Shorter.").revised
    assert sample.approve("climax").artefacts == ["climax"]
    first = sample.final_edits().edits[0].id
    assert sample.refuse_edits([first]).edits[0].refused
    plan = sample.plan()
    names = [scene.name for scene in plan.plan.scenes]
    assert sample.reorder(names[::-1], plan.base).name == "plan"
    key = sample.findings().findings[0].key
    assert sample.dismiss(key, "He had two.").findings[0].dismissed == "He had two."
    assert not sample.count_again(key).findings[0].dismissed
    url = "http://127.0.0.1:9/v1"
    made = client.new("# The Ferry\n\nA ferry.", words="300", model="openai-chat:tale", base_url=url)
    assert (made.project, made.model) == ("the-ferry", "openai-chat:tale")
    assert client.sample().project == "sample-2"


def test_a_conversation_goes_on_through_the_client(client: Client) -> None:
    sample = client.project(SAMPLE)
    begun = sample.converse(["Ivan"], "Wendy")
    assert (begun.others, begun.player) == (["Ivan Utting"], "Wendy Clabburn")
    chat = next(one for one in sample.conversations().chats if one.turns)
    branched = sample.branch(chat.name, 2)
    assert (len(branched.turns), branched.branched_from) == (2, chat.name)
    assert len(sample.take_back(branched.name).turns) == 1
    with pytest.raises(UsageError, match="no answer 7"):
        sample.choose_answer(branched.name, 7)
    with pytest.raises(UsageError, match="nothing:x"):
        sample.chat("And the kettle?", conversation=branched.name, model="nothing:x")
    with pytest.raises(FabulaError, match="empty"):
        sample.say(branched.name, "")
    assert sample.listen(branched.name) is None
    assert len(sample.stop_answer(branched.name).turns) == 1
    with pytest.raises(UsageError, match="How far you may stray cannot be set to 'rails' here"):
        sample.set_scene(branched.name, freedom="rails")  # it was started with the paper's prompts
    assert branched.name not in [one.name for one in sample.delete_conversation(branched.name).chats]


def test_what_the_server_refuses_is_an_error_of_ours(client: Client, there: There) -> None:
    with pytest.raises(UsageError, match="Did you mean 'exposition'"):
        client.project(SAMPLE).text("expositoin")
    with pytest.raises(UsageError, match="Did you mean 'sample'"):
        client.project("sampel").status()
    with pytest.raises(ServerError, match="token") as refused:
        Client(there.address, "another-token-of-16").projects()
    assert (refused.value.status, refused.value.code) == (401, "invalid_api_key")
    with pytest.raises(UsageError, match="not the address of a server"):
        Client("127.0.0.1:8731", TOKEN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerError, match="cannot be reached") as unreachable:
        Client(f"http://127.0.0.1:{port}", TOKEN).projects()
    assert unreachable.value.code == "unreachable"
    shutil.rmtree(there.state.shelf.folder(SAMPLE), ignore_errors=True)  # the server may be taking files away, too
    with pytest.raises(GoneError):
        client.project(SAMPLE).text(PART)


class _AskedError(Exception):
    """What was asked of a server that is not there."""


class _Heard(ServerConnection):
    """A server's wire on which only is written down what is asked."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", TOKEN, 1.0)
        self.asked: set[tuple[str, str]] = set()

    def open(self, method: str, path: str, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - never gives anything
        self.asked.add((method, "/api/v1" + path.partition("?")[0]))
        raise _AskedError


def _ask(verb: Callable[..., Any]) -> None:
    """Call a verb with the least that it takes."""
    made: dict[object, Any] = {"str": "x", "int": 1, "bool": True, "Sequence[str]": ["x"], "str | None": "x"}
    made |= {str: "x", str | None: "x", int: 1, bool: True, Sequence[str]: ["x"], list[str]: ["x"]}  # of verbs
    fits = {"passage": "1-2"}  # where not every text does
    places, named = [], {}
    for one in inspect.signature(verb).parameters.values():
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty:
            named[one.name] = fits.get(one.name, made[one.annotation])
        elif one.kind is one.VAR_POSITIONAL or (one.kind is not one.KEYWORD_ONLY and one.default is one.empty):
            places.append(fits.get(one.name, made[one.annotation]))
    with pytest.raises(_AskedError):
        list(verb(*places, **named))


def _dry_run_of(project: RemoteProject, verb: Verb) -> Callable[..., Any]:
    asked = partial(project.dry_run, verb.name)
    taken = [one.replace(kind=one.KEYWORD_ONLY) for one in verb.method_signature.parameters.values()]
    asked.__signature__ = inspect.Signature([one for one in taken if one.name not in ("self", HEARS)])  # type: ignore[attr-defined] # what `inspect` looks at
    return asked


def test_every_address_of_the_api_has_a_verb() -> None:
    heard = _Heard()
    client, project = Client("http://127.0.0.1:9", TOKEN), RemoteProject(heard, "x")
    client._wire = heard  # a wire of our own, where no server is
    apart = ("project", "do", "estimated", "dry_run", "start", "result")
    for owner in (client, project):
        for name, _ in inspect.getmembers(type(owner), inspect.isfunction):
            if not name.startswith("_") and not name.endswith("_async") and name not in apart:
                _ask(getattr(owner, name))
    for verb in every().values():
        if verb.long:
            _ask(_dry_run_of(project, verb))
    heard.asked.add(("GET", "/api/v1/projects/x/runs/x/result"))  # once the run is known: test_verbs.py asks it
    with pytest.raises(_AskedError):
        project.estimate({"setting": "A harbour."})
    offered = {
        (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)))
        for path, methods in document()["paths"].items()
        for method in methods
    }
    for method, path in offered:
        assert any(method == asked and path.fullmatch(where) for asked, where in heard.asked), (method, path.pattern)
    for asked, where in heard.asked:
        assert any(method == asked and path.fullmatch(where) for method, path in offered), (asked, where)


async def test_a_verb_may_be_awaited_in_a_thread(client: Client) -> None:
    found = await asyncio.to_thread(client.project(SAMPLE).text, PART)
    assert found.name == PART


async def test_what_happens_in_a_run_is_followed_in_an_event_loop(client: Client) -> None:
    sample = client.project(SAMPLE)
    run = await asyncio.to_thread(sample.start, "write")
    assert [one.type async for one in sample.follow_async(run.id)][-1] == "run_ended"
    told = [one async for one in client.events_async(0, follow=False)]
    assert run.id in {one.run for one in told}


def test_a_run_is_started_followed_and_stopped(client: Client) -> None:
    sample = client.project(SAMPLE)
    run = sample.start("write")
    found = list(sample.follow(run.id))
    assert found[-1].type == "run_ended"
    assert {(event.project, event.run) for event in found} == {(SAMPLE, run.id)}
    assert sample.run(run.id).ended is not None
    told = [event.type for event in sample.follow(run.id)]  # again, when it is over: it ends, too
    assert told[0] == "command_started"
    assert "command_ended" in told
    again = sample.again(run.id)
    assert [one.id for one in sample.runs().runs] == [again.id, run.id]
    assert sample.prompts(run.id).prompts == []
    assert "your text" in sample.messages(run.id).messages
    with pytest.raises(UsageError, match="prompt that waits"):
        sample.answer(run.id, "draft", "Once.")
    assert client.project(SAMPLE).stop(run.id).id == run.id
    everything = list(client.events(0, follow=False))
    assert [event.n for event in everything] == list(range(everything[0].n, everything[-1].n + 1))
    assert {event.project for event in everything} == {SAMPLE}


def _answering(pieces: list[bytes], heard: list[str]) -> tuple[int, threading.Thread]:
    """A server that answers each request with one piece of a stream, and cuts it off."""
    opened = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with opened:
            for piece in pieces:
                connection, _ = opened.accept()
                with connection:
                    heard.append(connection.recv(65_536).decode().split(" ")[1])
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + piece)

    thread = threading.Thread(target=answer)
    thread.start()
    return opened.getsockname()[1], thread


def _event(n: int, **more: Any) -> bytes:  # noqa: ANN401 - JSON
    return f"id: {n}\ndata: {json.dumps({'n': n, 'project': 'x', 'run': 'r', 'type': 'noted'} | more)}\n\n".encode()


def test_a_stream_that_is_cut_off_goes_on_where_it_ended() -> None:
    half = _event(3)[:20]
    pieces = [_event(1) + b": beat\n\n" + _event(2) + half, b"", _event(3) + _event(4, text="Zwölf")]
    heard: list[str] = []
    port, thread = _answering(pieces, heard)
    found = []
    for event in Client(f"http://127.0.0.1:{port}", TOKEN).events(0):
        found.append(event)
        if event.n == 4:
            break
    thread.join(10)
    assert [event.n for event in found] == [1, 2, 3, 4]
    assert found[-1].data["text"] == "Zwölf"
    assert [path.rpartition("after=")[2] for path in heard] == ["0", "2", "2"]


def test_a_turn_that_is_being_made_is_listened_to() -> None:
    piece, idle = b'event: piece\ndata: {"who": "Mara", "text": "Zw\\u00f6lf"}\n\n', b"event: idle\ndata: {}\n\n"
    heard: list[str] = []
    port, thread = _answering([piece, idle], heard)
    project, said = Client(f"http://127.0.0.1:{port}", TOKEN).project("ferry"), list[str]()
    with pytest.raises(ServerError, match="was cut off"):
        project.listen("mara", said.append)
    assert said == ["Zwölf"]
    assert project.listen("mara") is None
    thread.join(10)
    assert heard == ["/api/v1/projects/ferry/chats/mara/turns/live"] * 2


def test_the_client_needs_no_web_framework() -> None:
    code = (
        "import sys; sys.modules.update({name: None for name in ('fastapi', 'starlette', 'uvicorn', 'httpx')});"
        "import fabula; fabula.Client"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
