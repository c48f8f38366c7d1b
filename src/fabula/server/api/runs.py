"""Long-running work: start, follow, stop and continue it."""

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
    """The number of required fields of a result; programs that try one class after another begin with the most."""
    return sum(one.default is MISSING and one.default_factory is MISSING for one in fields(result))


_RESULTS: Final = sorted({one.result for one in every().values() if one.long}, key=lambda one: one.__name__)
_RESULT: Final[Any] = reduce(or_, sorted(_RESULTS, key=_needed, reverse=True))


@router.get("/projects/{project}/runs", summary="The runs of a project")
async def runs(project: ProjectName, runs: RunsDep, most: Annotated[int, Query(ge=1, le=_MOST)] = 50) -> RunList:
    """The newest runs come first. The logs of old runs are removed."""
    return RunList(runs=(await asyncio.to_thread(runs.of, project))[:most])


@router.get("/projects/{project}/runs/{run}", summary="One run")
async def one(project: ProjectName, run: str, runs: RunsDep) -> RunRecord:
    """The state of the run, and its calls, tokens and cost so far."""
    return runs.get(project, run)


@router.get("/projects/{project}/runs/{run}/events", summary="The events of a run so far")
async def events(project: ProjectName, run: str, runs: RunsDep) -> RunEvents:
    """The events from the beginning of the run. `/api/v1/events?after=` continues from there."""
    after, found = await runs.events(project, run)
    return RunEvents(after=after, events=found)


@router.get("/projects/{project}/runs/{run}/result", summary="The result of a run", response_model=_RESULT)
async def result(project: ProjectName, run: str, runs: RunsDep) -> Response:
    """The result of the run's verb, once the run is finished."""
    return Response(await asyncio.to_thread(runs.result, project, run), media_type="application/json")


@router.get("/projects/{project}/runs/{run}/messages", summary="The messages of a run")
async def messages(project: ProjectName, run: str, runs: RunsDep) -> Messages:
    """The last lines that the run's command printed, apart from its result."""
    runs.get(project, run)
    return Messages(messages=runs.messages(project, run))


@router.post("/projects/{project}/runs/{run}/stop", summary="Stop a run")
async def stop(project: ProjectName, run: str, runs: RunsDep) -> RunRecord:
    """The run ends within a second, and finished work is kept. A second request kills the run."""
    return runs.stop(project, run)


@router.post("/projects/{project}/runs/{run}/again", summary="Continue a run", status_code=202)
async def again(project: ProjectName, run: str, state: StateDep) -> RunRecord:
    """The run is repeated as a new run. Calls that are in the journal are not made again."""
    return await state.again(project, run)


@router.get("/projects/{project}/runs/{run}/prompts", summary="Prompts that are waiting for an answer")
async def prompts(project: ProjectName, run: str, runs: RunsDep) -> Prompts:
    """The prompts for a model that is a person who answers in a folder (`files:DIR`)."""
    found = runs.get(project, run)
    return Prompts(prompts=await asyncio.to_thread(awaited, found))


@router.post("/projects/{project}/runs/{run}/answers", summary="Answer a prompt", status_code=204)
async def answer(project: ProjectName, run: str, answer: Answer, runs: RunsDep) -> None:
    """The answer is put where the run looks for it."""
    await asyncio.to_thread(put_answer, runs, project, run, answer)


def awaited(run: RunRecord) -> list[Prompt]:
    """The prompts that a run waits for, with their texts."""
    found = []
    for file in run.awaited if run.is_open else ():
        if file.endswith(ANSWER) and "/" not in file:
            name = file.removesuffix(ANSWER)
            prompt = Path(run.awaited_in) / f"{name}{PROMPT}"
            found.append(Prompt(name=name, prompt=read_text(prompt, LARGEST, links=False)))
    return found


def put_answer(runs: Runs, project: str, name: str, answer: Answer) -> None:
    """Write the answer to a prompt that a run waits for.

    Raises:
        UnknownNameError: the run does not wait for this prompt.
        UsageError: the answer is empty.
    """
    run = runs.get(project, name)
    file = f"{answer.name}{ANSWER}"
    if not run.is_open or file not in run.awaited or "/" in file:
        raise UnknownNameError("prompt that waits", answer.name, [one.removesuffix(ANSWER) for one in run.awaited])
    if not plain(answer.text):
        raise UsageError("The answer is empty. Paste the model's answer.")
    write_atomically(Path(run.awaited_in) / file, plain(answer.text) + "\n", mode=PRIVATE)
