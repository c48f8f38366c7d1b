from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ModelError
from fabula.models import answer_files
from fabula.models.answer_files import AnswerFiles, file_name, unanswered
from fabula.models.base import Message, Reply, Request, Sampling
from fabula.models.prompt_text import json_instruction, prompt_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.models.answer_files import OnWait

ASKED = Request(
    (Message("system", "You write."), Message("user", "Write about Mara.")),
    Sampling(seed=7, temperature=0.5),
    role="climax",
    path="story/climax/section",
)
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def model(folder: Path, parallel: int = 8, on_wait: OnWait | None = None) -> AnswerFiles:
    return AnswerFiles(folder, parallel, on_wait, settled=0.02, every=0.01)


async def asked(files: AnswerFiles, request: Request = ASKED, *, answer: str | bytes = "Mara waited.") -> Reply:
    task = asyncio.create_task(files.ask(request))
    await waiting(files.folder, 1)
    place = files.folder / f"{file_name(request)}.answer.md"
    place.write_bytes(answer.encode() if isinstance(answer, str) else answer)
    return await asyncio.wait_for(task, 120)


async def waiting(folder: Path, count: int) -> None:
    """Wait until so many prompts wait for an answer."""

    def ready() -> bool:
        return folder.is_dir() and len(unanswered(folder)) == count

    async with asyncio.timeout(120):
        while not ready():  # noqa: ASYNC110 - it looks at files
            await asyncio.sleep(0.01)


def test_a_prompt_is_left_and_its_answer_taken(tmp_path: Path) -> None:
    heard: list[tuple[str, tuple[str, ...]]] = []
    files = model(tmp_path / "to" / "answer", on_wait=lambda where, names: heard.append((where, names)))
    reply = asyncio.run(asked(files))
    name = file_name(ASKED)
    assert name.startswith("climax--story.climax.section--1-")
    assert reply.text == "Mara waited."
    assert (reply.usage.cost, reply.usage.estimated) == (0.0, reply.usage.prompt + reply.usage.reply)
    assert reply.usage.prompt > 0
    assert set(reply.dropped) == {"seed", "temperature"}
    assert (files.folder / f"{name}.prompt.md").read_text() == "You write.\n\nWrite about Mara.\n"
    data = json.loads((files.folder / f"{name}.prompt.json").read_text())
    assert data["messages"][1] == {"role": "user", "content": "Write about Mara."}
    assert (data["role"], data["path"], data["number"]) == ("climax", "story/climax/section", 1)
    assert data["sampling"] == {"seed": 7, "temperature": 0.5}
    assert data["answer"] == f"{name}.answer.md"
    assert heard == [(str(files.folder), (f"{name}.answer.md",)), (str(files.folder), ())]
    assert unanswered(files.folder) == []
    assert "# 0 without an answer" in (files.folder / "index.md").read_text()


def test_several_wait_at_once_and_are_answered_in_any_order(tmp_path: Path) -> None:
    requests = [Request((Message("user", f"Part {n}"),), role="part", path=f"story/{n}") for n in range(5)]

    async def run() -> list[str]:
        files = model(tmp_path, parallel=3)
        tasks = [asyncio.create_task(files.ask(request)) for request in requests]
        await waiting(tmp_path, 3)
        while not all(task.done() for task in tasks):
            for one in reversed(unanswered(tmp_path)):
                (tmp_path / one["answer"]).write_text(f"answer to {one['path']}")
            await asyncio.sleep(0.01)
        return [task.result().text for task in tasks]

    assert asyncio.run(run()) == [f"answer to story.{n}" for n in range(5)]


def test_an_answer_that_is_there_already_is_found_again(tmp_path: Path) -> None:
    async def broken_off() -> None:
        task = asyncio.create_task(model(tmp_path).ask(ASKED))
        await waiting(tmp_path, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(broken_off())
    before = (tmp_path / f"{file_name(ASKED)}.prompt.md").stat().st_mtime_ns
    (one,) = unanswered(tmp_path)
    (tmp_path / one["answer"]).write_text("Said while nobody waited.")
    assert asyncio.run(model(tmp_path).ask(ASKED)).text == "Said while nobody waited."
    assert (tmp_path / f"{file_name(ASKED)}.prompt.md").stat().st_mtime_ns == before


def test_an_answer_counts_once_it_stays_as_it_is(tmp_path: Path) -> None:
    async def run() -> str:
        at = 0.0
        files = AnswerFiles(tmp_path, settled=1.5, every=0.001, clock=lambda: at)
        task = asyncio.create_task(files.ask(ASKED))
        await waiting(tmp_path, 1)
        place = tmp_path / f"{file_name(ASKED)}.answer.md"
        place.write_text("")
        for n in range(5):
            with place.open("a") as file:
                file.write(f"line {n}\n")
            at += 1.0  # longer than it has to stay, in all
            await asyncio.sleep(0.02)
        assert not task.done()
        at += 1.5
        return (await task).text

    assert asyncio.run(run()).splitlines() == [f"line {n}" for n in range(5)]


def test_names_tell_requests_apart() -> None:
    others = [
        Request(ASKED.messages, Sampling(seed=8), role="climax", path=ASKED.path),
        Request(ASKED.messages, ASKED.sampling, role="climax", path=ASKED.path, ordinal=1),
        Request(ASKED.messages, ASKED.sampling, role="climax", path="story/climax"),
        Request(ASKED.messages, ASKED.sampling, schema=SCHEMA, role="climax", path=ASKED.path),
    ]
    assert len({file_name(one) for one in (ASKED, *others)}) == 5
    hostile = Request((), role="../../etc/passwd\n", path="a" * 1000 + "/\x00--1-0123456789")
    name = file_name(hostile)
    assert "/" not in name
    assert "\n" not in name
    assert len(name) < 160


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (
            lambda place: place.symlink_to("/etc/hostname"),
            ("is not a regular file, so fabula does not read it. Replace it with a file that contains"),
        ),
        (os.mkfifo, "is not a regular file, so fabula does not read it. Replace it with a file that contains"),
        (
            lambda place: place.mkdir(),
            ("is not a regular file, so fabula does not read it. Replace it with a file that contains"),
        ),
        (lambda place: place.write_bytes(b"x" * 2_000_001), "is larger than 2,000,000 bytes"),
        (lambda place: place.write_bytes(b"\xff\xfe\x00"), "is not UTF-8 text"),
        (lambda place: place.write_bytes(b"\x00\x01" * 50), "contains binary data"),
    ],
)
def test_what_is_no_answer_is_said(tmp_path: Path, put: Callable[[Path], object], said: str) -> None:
    put(tmp_path / f"{file_name(ASKED)}.answer.md")
    with pytest.raises(ModelError, match=said):
        asyncio.run(asyncio.wait_for(model(tmp_path).ask(ASKED), 60))


def test_an_answer_that_becomes_a_link_just_now_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "diary").write_text("Mine.")
    place = tmp_path / f"{file_name(ASKED)}.answer.md"
    place.write_text("An answer.")
    seen = answer_files._state(place)
    place.unlink()
    place.symlink_to(tmp_path / "diary")
    monkeypatch.setattr(answer_files, "_state", lambda _: seen)
    with pytest.raises(ModelError, match="This answer cannot be used"):
        asyncio.run(asyncio.wait_for(model(tmp_path).ask(ASKED), 60))


def test_an_answer_of_100_kb_is_cleaned_and_whole(tmp_path: Path) -> None:
    text = "Mara said: \u201cno\u201d.\n" * 6_000
    reply = asyncio.run(asked(model(tmp_path), answer=text.replace("said", "sa\x1b[31mid").replace("\n", "\r\n")))
    assert reply.text.replace("\r\n", "\n") == text


def test_links_in_the_way_of_a_prompt_are_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in (f"{file_name(ASKED)}.prompt.md", f"{file_name(ASKED)}.prompt.json", "index.md", "index.json"):
        (folder / name).symlink_to(target)
    (folder / "evil--name--1-0123456789.prompt.json.lnk").write_text("{}")
    (folder / "a|b\x1b[2J--x--1-0123456789.prompt.json").write_text("{}")
    asyncio.run(asked(model(folder)))
    assert target.read_text() == "mine"
    assert unanswered(folder) == []


def test_while_it_waits_it_looks_at_each_answer_a_few_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: Counter[Path] = Counter()
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 80:
            raise KeyError

    monkeypatch.setattr(answer_files, "_state", lambda file: looked.update([file]))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(KeyError):
        asyncio.run(AnswerFiles(tmp_path).ask(Request((), path="0")))
    assert [*looked.values()] == [80], "one look before each time of sleep"
    assert min(slept) >= 0.1


def test_the_text_of_a_prompt_says_turns_and_form() -> None:
    turns = (
        Message("system", "You judge."),
        Message("user", "Judge."),
        Message("assistant", "{broken"),
        Message("user", "Again."),
    )
    said = prompt_text(Request(turns, schema=SCHEMA))
    assert said.startswith(
        "You judge.\n\nJudge.\n\n## Your earlier answer\n\n{broken\n\n## What I say to that\n\nAgain."
    )
    assert said.endswith('that fits this JSON schema:\n{"type":"object","properties":{"ok":{"type":"boolean"}}}')
    assert prompt_text(Request(turns[:2], choices=("A", "B"))).endswith("with nothing else: A | B")
    assert said.endswith(json_instruction(SCHEMA))
