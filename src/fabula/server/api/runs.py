"""Long work: start, follow, stop, go on."""

from __future__ import annotations

import asyncio
from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import PRIVATE, read_text, write_atomically
from fabula.models.answer_files import ANSWER, LARGEST, PROMPT
from fabula.server.api.depends import ProjectName, RunsDep, StateDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.wire import Answer, Messages, Prompt, Prompts, RunEvents, RunList
from fabula.server.runs.record import RunRecord  # noqa: TC001 - FastAPI reads it
from fabula.story import plain
from fabula.verbs.base import every

if TYPE_CHECKING:
    from fabula.server.runs.children import Runs

router = APIRouter(tags=["runs"])

_MOST: Final = 200


def _needed(result: Any) -> int:  # noqa: ANN401 - a class
    """How many fields a result must have; a program that tries one class after the other begins with the fullest."""
    return sum(one.default is MISSING and one.default_factory is MISSING for one in fields(result))


_RESULTS: Final = sorted({one.result for one in every().values() if one.long}, key=lambda one: one.__name__)
_RESULT: Final[Any] = reduce(or_, sorted(_RESULTS, key=_needed, reverse=True))


@router.get("/projects/{project}/runs", summary="The runs of a project")
async def runs(project: ProjectName, runs: RunsDep, most: Annotated[int, Query(ge=1, le=_MOST)] = 50) -> RunList:
    """The newest first; the logs of old ones are removed."""
    return RunList(runs=(await asyncio.to_thread(runs.of, project))[:most])


@router.get("/projects/{project}/runs/{run}", summary="One run")
async def one(project: ProjectName, run: str, runs: RunsDep) -> RunRecord:
    """How it stands, and what it has taken."""
    return runs.get(project, run)


@router.get("/projects/{project}/runs/{run}/events", summary="What has happened in a run")
async def events(project: ProjectName, run: str, runs: RunsDep) -> RunEvents:
    """From its beginning; `/api/v1/events?after=` goes on from there."""
    after, found = await runs.events(project, run)
    return RunEvents(after=after, events=found)


@router.get("/projects/{project}/runs/{run}/result", summary="What a run has come to", response_model=_RESULT)
async def result(project: ProjectName, run: str, runs: RunsDep) -> Response:
    """What its verb gives, once it is finished."""
    return Response(await asyncio.to_thread(runs.result, project, run), media_type="application/json")


@router.get("/projects/{project}/runs/{run}/messages", summary="What a run has said")
async def messages(project: ProjectName, run: str, runs: RunsDep) -> Messages:
    """The last lines that its command printed beside its result."""
    runs.get(project, run)
    return Messages(messages=runs.messages(project, run))


@router.post("/projects/{project}/runs/{run}/stop", summary="Stop a run")
async def stop(project: ProjectName, run: str, runs: RunsDep) -> RunRecord:
    """It ends within a second, and what is finished is kept; asked a second time it is killed."""
    return runs.stop(project, run)


@router.post("/projects/{project}/runs/{run}/again", summary="Go on with a run", status_code=202)
async def again(project: ProjectName, run: str, state: StateDep) -> RunRecord:
    """The same again, as a new run: what is kept is not asked again."""
    return await state.again(project, run)


@router.get("/projects/{project}/runs/{run}/prompts", summary="Prompts that wait for an answer")
async def prompts(project: ProjectName, run: str, runs: RunsDep) -> Prompts:
    """Those of a model that is whoever answers in a folder (`files:DIR`)."""
    found = runs.get(project, run)
    return Prompts(prompts=await asyncio.to_thread(awaited, found))


@router.post("/projects/{project}/runs/{run}/answers", summary="Answer a prompt", status_code=204)
async def answer(project: ProjectName, run: str, answer: Answer, runs: RunsDep) -> None:
    """Put the answer where the run looks for it."""
    await asyncio.to_thread(put_answer, runs, project, run, answer)


def awaited(run: RunRecord) -> list[Prompt]:
    """The prompts for which a run waits, with their texts."""
    found = []
    for file in run.awaited if run.is_open else ():
        if file.endswith(ANSWER) and "/" not in file:
            name = file.removesuffix(ANSWER)
            prompt = Path(run.awaited_in) / f"{name}{PROMPT}"
            found.append(Prompt(name=name, prompt=read_text(prompt, LARGEST, links=False)))
    return found


def put_answer(runs: Runs, project: str, name: str, answer: Answer) -> None:
    """Write the answer to a prompt for which a run waits.

    Raises:
        UnknownNameError: it does not wait for that one.
        UsageError: there is no text.
    """
    run = runs.get(project, name)
    file = f"{answer.name}{ANSWER}"
    if not run.is_open or file not in run.awaited or "/" in file:
        raise UnknownNameError("prompt that waits", answer.name, [one.removesuffix(ANSWER) for one in run.awaited])
    if not plain(answer.text):
        raise UsageError("The answer is empty. Paste what the model said.")
    write_atomically(Path(run.awaited_in) / file, plain(answer.text) + "\n", mode=PRIVATE)
