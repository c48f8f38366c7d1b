"""Raters in tests: a study of made stories, its application in this process, and people who rate as they are told.

Each story of a system on a prompt has a quality; a rater sees it with an error of their own, and says that two are
about the same where they seem close. What that means for strengths and agreement is known from many more such raters.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Any, Final

import httpx
import numpy as np

from fabula.app.studies import assign, study_of_characters, study_of_stories
from fabula.measure.items import Item
from fabula.measure.studies.answering import Answers
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.project.folder import ProjectFolder
from fabula.server.browser import Names, link_to
from fabula.server.study.application import Means, application, prose
from fabula.server.study.running import StudyOffer, serve_study
from fabula.stats.agreement import fleiss_kappa
from fabula.stats.bradley_terry import bradley_terry
from fabula.story import Brief, Scene, Story, count_words
from threads import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fabula.measure.studies.study import Study, Task
    from fabula.server.study.conversations import RatersConversations

HOST: Final = "http://127.0.0.1"
COOKIE: Final = "fabula-study-tests"
QUESTIONS: Final = ("plot", "creativity", "development", "language use", "overall")
SYSTEMS: Final = (
    *("Humans-quillon", "E2E-zs-quillon", "E2E-ft-quillon", "AR-zs-plan-quillon", "AR-zs-write-quillon"),
    *("AR-zs-both-quillon", "AR-ft-plan-quillon", "AR-ft-write-quillon", "AR-ft-both-quillon"),
)
"""Names that no story and no page has in it by chance."""
_SENTENCE: Final = "the lamp was lit and wind went round a reef where Mara counted boats by hand until dawn"
_WORDS: Final = tuple(_SENTENCE.split())


def stories(systems: Sequence[str], prompts: int, words: int = 1200, seed: int = 1) -> list[Item]:
    """Stories of every system on every prompt, each of another length, with words of its own in it."""
    rng = np.random.default_rng(seed)
    found = []
    for prompt in range(prompts):
        brief = Brief(f"Write of the lamp that went out in year {1800 + prompt}.")
        for place, system in enumerate(systems):
            length = words + int(rng.integers(0, words))
            told = [_WORDS[at] for at in rng.integers(0, len(_WORDS), length)]
            text = f"Story token t{prompt:03d}x{place:02d}q " + " ".join(told[: length // 2])
            text += ".\n\n" + " ".join(told[length // 2 :]) + "."
            found.append(Item(f"{system}/item-{prompt}", Story("", (Scene("", text),)), system, f"p-{prompt}", brief))
    return found


@dataclass
class Clock:
    """A clock that goes on by itself, a minute at each look."""

    at: datetime = datetime(2026, 11, 1, 9, tzinfo=UTC)
    step: timedelta = timedelta(seconds=40)

    def __call__(self) -> str:
        self.at += self.step
        return self.at.isoformat(timespec="milliseconds")


@dataclass
class Room:
    """A study that is served in this process.

    Attributes:
        responses: all that was answered to raters, for who looks into it.
    """

    folder: Path
    clock: Clock
    app: Any
    means: Means
    responses: list[tuple[str, httpx.Response]] = field(default_factory=list)

    @property
    def answers(self) -> Answers:
        """All that raters did."""
        return self.means.answers

    @property
    def study(self) -> Study:
        """As the server has it."""
        return self.means.study

    @asynccontextmanager
    async def rater(self, name: str) -> AsyncIterator[Rater]:
        """The browser of a rater who has opened the link."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url=HOST, headers={"accept": "text/html"}, follow_redirects=True
        ) as client:
            rater = Rater(self, name, client)
            await rater.get(f"/login?token={self.study.token(name)}")
            yield rater


@dataclass
class Rater:
    """A rater's browser; what it gets is kept in the room."""

    room: Room
    name: str
    client: httpx.AsyncClient

    async def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return self._kept(await self.client.get(path))

    async def post(self, path: str, data: Mapping[str, str] | None = None) -> httpx.Response:
        """Send a form."""
        return self._kept(
            await self.client.post(path, data=dict(data or {}), headers={"sec-fetch-site": "same-origin"})
        )

    def _kept(self, response: httpx.Response) -> httpx.Response:
        self.room.responses += [(self.name, one) for one in (*response.history, response)]
        return response


def key_in(page: str) -> str:
    """The key of the task that a page shows; empty for a page without one."""
    found = re.search(r'data-key="(\w+)"', page)
    return found[1] if found else ""


def texts_in(page: str) -> list[str]:
    """The mark of each text that a page shows, A first."""
    return re.findall(r"t\d{3}x\d{2}q", unescape(page))


def room_of(study: Study, clock: Clock | None = None, conversations: RatersConversations | None = None) -> Room:
    """A study, served."""
    clock = clock or Clock()
    means = Means(Answers(study, clock), clock, Names(), conversations)
    return Room(study.folder, clock, application(means, COOKIE), means)


def study_here(
    folder: Path, systems: Sequence[str] = SYSTEMS[:3], prompts: int = 6, wanted: AssignmentOptions | None = None
) -> Study:
    """A new study with tasks for everybody."""
    made = study_of_stories(folder, "pairwise", "Lamps", stories(systems, prompts)).study
    study, _ = assign(made, wanted or AssignmentOptions(), datetime(2026, 11, 1, tzinfo=UTC))
    return study


@dataclass
class There:
    """A study on a socket, as a rater's browser meets it (`studio.sign_in`).

    Attributes:
        address: without a slash at its end.
        link: the rater's own.
    """

    address: str
    link: str


@contextmanager
def study_there(study: Study, rater: str = "", conversations: RatersConversations | None = None) -> Iterator[There]:
    """A study on a socket, in a thread of its own, with the link of a rater (by default the first)."""
    offer = StudyOffer(study, conversations=conversations)
    with serving(lambda opened, ready: serve_study(offer, opened, ready)) as served:
        link = link_to(served.opened, study.token(rater or study.raters[0]))
        yield There(link_to(served.opened).rstrip("/"), link)


STORY: Final = (
    "Mara kept the lamp of the cape. In the evening Tobias brought Mara a letter. Tobias asked Mara for light, but "
    "Mara had an order. Then Mara lit the lamp."
)
SAID: Final = {"quillon-plain": "The lamp goes dark on Saturday.", "quillon-other": "Ask me no more of the lamp."}


def characters_here(tmp_path: Path, raters: int = 2) -> Study:
    """A new study of two characters of one story, each of which says one thing; all raters have both."""
    places = []
    for name, answer in SAID.items():
        witnesses = [{"sentence": n, "witnesses": ["Mara", "Tobias"]} for n in range(1, 5)]
        said = {"npc": f"[Mara: (looks up) {answer}]", "labeller": json.dumps({"sentences": witnesses})}
        script = tmp_path / f"{name}.toml"
        script.write_text("[replies]\n" + "".join(f"{role} = {json.dumps(text)}\n" for role, text in said.items()))
        settings = {
            "system": "vanilla",
            "model": f"scripted:{script}",
            "config": {"player": "Tobias", "npc": "Mara"},
        }
        places.append(ProjectFolder.create(tmp_path / name, Brief(STORY), settings).folder)
    made = study_of_characters(tmp_path / "vault-quillon", "Talk", places, "Tobias", "Mara").study
    return assign(made, AssignmentOptions(overlap=raters), datetime(2026, 11, 1, tzinfo=UTC))[0]


# how simulated people rate --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class People:
    """How people rate.

    Attributes:
        strengths: of each system.
        spread: of the quality of one system's stories.
        error: of one rater's opinion of a story, by question.
        close: difference below which two seem about the same.
        left: by how much the story on the left seems better.
    """

    strengths: Mapping[str, float]
    spread: float = 1.0
    error: float = 0.75
    close: float = 0.3
    left: float = 0.0

    def qualities(self, prompts: int, seed: int) -> NDArray[np.float64]:
        """Of each prompt, system and question."""
        rng = np.random.default_rng(seed)
        mean = np.array([*self.strengths.values()])[None, :, None]
        return mean + rng.normal(0, self.spread, (prompts, len(self.strengths), len(QUESTIONS)))

    def opinions(self, ahead: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """1 where the first seems better, -1 where the second does, 0 where they seem the same."""
        seems = ahead + rng.normal(0, self.error * 2**0.5, ahead.shape)
        return np.where(np.abs(seems) < self.close, 0, np.sign(seems)).astype(np.int64)


def expected(people: People, raters: int = 3, prompts: int = 4000) -> tuple[dict[str, float], float]:
    """The strengths and Fleiss' kappa that very many of such people would give, on one question."""
    rng = np.random.default_rng(99)
    names, quality = [*people.strengths], people.qualities(prompts, 98)[:, :, 0]
    wins, counts = np.zeros((len(names), len(names))), []
    for one in range(len(names)):
        for other in range(one + 1, len(names)):
            said = people.opinions(np.repeat((quality[:, one] - quality[:, other])[:, None], raters, 1), rng)
            score = (said + 1) / 2
            wins[one, other] += score.sum()
            wins[other, one] += (1 - score).sum()
            both = np.stack([(said == value).sum(axis=1) for value in (-1, 0, 1)], axis=1)
            counts += [both, both[:, ::-1]]  # a pair has no first story
    found = bradley_terry(wins).log
    kappa = fleiss_kappa(np.concatenate(counts))
    assert found is not None
    assert kappa is not None
    return dict(zip(names, found.tolist(), strict=True)), kappa


async def rate_all(room: Room, people: People, seed: int = 5, *, drafts: bool = False) -> int:
    """Have every rater do every task through the pages, by what the pages show; gives how many tasks were done."""
    names = [*people.strengths]
    prompts = list(dict.fromkeys(entry.prompt for entry in room.study.entries.values()))
    quality, done = people.qualities(len(prompts), seed), 0
    for number, name in enumerate(room.study.raters):
        rng = np.random.default_rng([seed, number])
        async with room.rater(name) as rater:
            await rater.get("/")
            page = (await rater.post("/consent")).text
            while key := key_in(page):
                (prompt, one), (_, other) = ((int(mark[1:4]), int(mark[5:7])) for mark in dict.fromkeys(texts_in(page)))
                ahead = quality[prompt, one] - quality[prompt, other] + people.left
                said = people.opinions(ahead, rng)
                given = {
                    question: {1: "A", 0: "S", -1: "B"}[int(value)]
                    for question, value in zip(QUESTIONS, said, strict=True)
                }
                if drafts:
                    await rater.post(f"/task/{key}/draft", dict(list(given.items())[:2]))
                page = (await rater.post(f"/task/{key}", {**given, "seconds": "300", "depths": "[1, 1]"})).text
                done += 1
                if "Enough for this sitting" in page:
                    page = (await rater.post("/go-on")).text
            assert "Thank you" in page, page
    assert names
    return done


# blindness ------------------------------------------------------------------------------------------------------------


def leaks(room: Room) -> list[str]:
    """What the answers to raters say of systems, items, files or lengths, beside the texts themselves."""
    study = room.study
    names = {entry.system for entry in study.entries.values()} | set(study.entries) | {str(study.folder)}
    names |= {entry.prompt for entry in study.entries.values()} | {study.folder.name}
    lengths = {count_words(entry.text) for entry in study.entries.values()}
    lengths |= {len(entry.text) for entry in study.entries.values()}
    texts = [_shown(entry.text) for entry in study.entries.values()]
    marks = {mark: text for text in texts for mark in re.findall(r"t\d{3}x\d{2}q", text)}
    found = []
    for rater, response in room.responses:
        head = f"{response.request.url.path}\n" + "\n".join(
            f"{name}: {value}"
            for name, value in response.headers.items()
            if name not in ("content-length", "set-cookie")
        )
        body = response.text
        for mark in dict.fromkeys(texts_in(body)):
            body = body.replace(marks[mark], "")
        said = unescape(head + body)
        found += [f"{rater}, {response.request.url.path}: {name}" for name in names if name and name in said]
        numbers = set(map(int, re.findall(r"(?<![\w.-])\d{2,6}(?![\w.%-])", said))) & lengths
        found += [f"{rater}, {response.request.url.path}: the number {number}" for number in sorted(numbers)]
    return found


def _shown(text: str) -> str:
    """A text as it stands in a page."""
    return str(prose(text))


def bare_pages(room: Room) -> dict[str, set[str]]:
    """The task pages by their headings, without texts, prompt and the task's key: what is left says nothing."""
    study = room.study
    texts = {mark: _shown(e.text) for e in study.entries.values() for mark in texts_in(e.text)}
    found: dict[str, set[str]] = {}
    for _, response in room.responses:
        body = response.text
        key = key_in(body)
        if not key or response.status_code != httpx.codes.OK or "changing an answer" in body:
            continue
        task: Task = study.by_key[key]
        body = body.replace(_shown(study.entries[task.items[0]].asked), "PROMPT")
        for mark in dict.fromkeys(texts_in(body)):
            body = body.replace(texts[mark], "TEXT")
        for one in (key, *(other.key for other in study.tasks_of[task.rater])):
            body = body.replace(one, "KEY")
        found.setdefault(re.findall(r"<h1>([^<]+)</h1>", body)[0], set()).add(body)
    return found
