"""A project that is served: in this process for its application, or on a socket in a thread of its own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

import httpx

from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options
from fabula.models.base import Capabilities, Reply, Request, Usage
from fabula.project.folder import ProjectFolder
from fabula.server.chat.app import Dependencies, application
from fabula.server.chat.projects import ServedProjects, served
from fabula.server.chat.running import Offer, base_url, serve
from fabula.server.chat.turns import measure
from fabula.server.gate import AccessTokens, Bounds
from fabula.story import Brief
from fabula.story.personas import Persona, Personas, write_personas
from threads import serving
from witnesses import marks_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from fabula.models.base import OnText
    from fabula.server.chat.projects import ServedProject
    from fabula.server.gate import App

TOKEN = "a-token-that-only-tests-know"  # noqa: S105 - of tests alone
STORY = (
    "Mara kept the lamp of the cape. In the evening Tobias brought Mara a letter, and Henrik came with Tobias. "
    "Tobias asked Mara for light, but Mara had an order. Then Mara lit the lamp, and Henrik laughed."
)
PEOPLE = ("Tobias", "Mara", "Henrik")
CONFIG = {"player": "Tobias", "npc": "Mara"}
MODEL = "fabula/lamp/Mara"
BOTH = "fabula/lamp/Henrik+Mara"


@dataclass
class Engine:
    """A model that plays whom it is told to; its answers tell the number of the draw, in pieces. It can wait and fail.

    Attributes:
        gate: where it is set, answers wait for it.
        fails: is raised.
        started: how many calls have begun.
    """

    gate: asyncio.Event | None = None
    fails: Exception | None = None
    started: int = 0
    asked: list[Request] = field(default_factory=list)
    name: str = "scripted:engine"  # as what runs here, it costs nothing where it says nothing of it
    identity: str = "engine"
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(parallel=1000))
    _begun: asyncio.Queue[None] = field(default_factory=asyncio.Queue)

    async def begun(self, calls: int) -> None:
        """Wait until so many more calls have begun."""
        for _ in range(calls):
            await self._begun.get()

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        if request.path.endswith("/witnesses"):
            return Reply(marks_of(request))
        self.started += 1
        self._begun.put_nowait(None)
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        self.asked.append(request)
        who = request.messages[0].content.partition("You play ")[2].split(" ")[0].strip(".,")
        text = f"[{who}: (looks up) {request.sampling.seed} times I have told you that the lamp stays dark.]"
        if on_text is not None:
            for piece in text.split(" "):
                on_text(f"{piece} ")
        return Reply(text, Usage(prompt=400, cached=40, reply=20), model=self.identity)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass
class SnapEngine(Engine):
    """As its base, with what SNAP asks besides."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        texts = {
            "label": '{"characters": [{"name": "Tobias"}, {"name": "Mara"}, {"name": "Henrik"}]}',
            "plan": "#1. Tobias brings Mara a letter\n#2. Tobias asks Mara for light",
            "summarise": "Tobias brought Mara a letter.",
        }
        name = request.path.rpartition("/")[2]
        return Reply(texts[name]) if name in texts else await super().ask(request, on_text)


def project(
    folder: Path,
    people: Sequence[str] = (),
    **settings: Any,  # noqa: ANN401 - fields of a project's settings
) -> ProjectFolder:
    """A project `lamp` below `folder`, made where it is not there."""
    if (folder / "lamp" / "brief.md").exists():
        return ProjectFolder.open(folder / "lamp")
    values = {"system": "vanilla", "model": "scripted:none", "config": CONFIG} | settings
    made = ProjectFolder.create(folder / "lamp", Brief(STORY), values)
    if people:
        made.write_given("plan/personas.yaml", write_personas(Personas("", tuple(map(Persona, people)))))
    return made


@dataclass
class Here:
    """A server without a socket."""

    app: App
    catalogue: ServedProjects
    client: httpx.AsyncClient
    engine: Engine

    @property
    def served(self) -> ServedProject:
        return self.catalogue.projects["lamp"]

    async def say(self, *messages: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - fields of a request
        """Send a conversation: the player's words and the character's in turns, the player first."""
        heard = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(messages)]
        headers = more.pop("headers", {})
        return await self.client.post(
            "/v1/chat/completions", json={"model": MODEL, "messages": heard} | more, headers=headers
        )

    async def answer(self, *messages: str, **more: Any) -> str:  # noqa: ANN401 - fields of a request
        """The answer to a conversation."""
        response = await self.say(*messages, **more)
        assert response.status_code == 200, response.text
        return str(response.json()["choices"][0]["message"]["content"])

    def logs(self) -> list[str]:
        """The names of all sessions on disk."""
        return sorted(file.stem for file in (self.served.conversing.project.folder / "chat").glob("*.jsonl"))


@asynccontextmanager
async def here(
    folder: Path,
    engine: Engine | None = None,
    bounds: Bounds | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    player: str = "",
    **settings: Any,  # noqa: ANN401 - fields of a project's settings
) -> AsyncIterator[Here]:
    """The project `lamp`, served in this process; `settings` are those of a new one."""
    engine = engine or Engine()
    made = project(folder, PEOPLE, **settings)
    with mock.patch("fabula.project.casting.open_model", return_value=engine):
        async with conversing(made, settings_for(made.settings), Options(listeners=(measure,))) as open_:
            catalogue = ServedProjects({"lamp": await served("lamp", open_, player)})
            means = Dependencies(
                catalogue, AccessTokens.of([TOKEN]), bounds or Bounds(), clock, lambda: 1000.0, lambda: "id"
            )
            app = application(means)
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app, raise_app_exceptions=False),
                base_url="http://server",
                headers={"authorization": f"Bearer {TOKEN}"},
            ) as client:
                yield Here(app, catalogue, client, engine)


@dataclass
class There:
    """A server on a socket, in a thread of its own."""

    address: str
    engine: Engine
    loop: asyncio.AbstractEventLoop
    problems: list[BaseException]


@contextmanager
def there(folder: Path, engine: Engine | None = None, bounds: Bounds | None = None) -> Iterator[There]:
    """The project `lamp`, served on loopback."""
    engine, made = engine or Engine(), project(folder, PEOPLE)
    offer = Offer([(made, settings_for(made.settings))], Options(), [TOKEN], bounds or Bounds())
    with (
        mock.patch("fabula.project.casting.open_model", return_value=engine),
        serving(lambda opened, ready: serve(offer, opened, lambda _: ready())) as served_,
    ):
        yield There(base_url(served_.opened), engine, served_.loop, served_.problems)
