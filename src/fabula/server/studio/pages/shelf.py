"""The shelf: all projects with their states, and ways to begin one: from a brief, from a story or with the sample."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Form, Request, UploadFile
from fastapi.responses import Response

from fabula.app.beginning import Beginning, Kind, begin, expected, planned
from fabula.app.importing import KINDS as MANUSCRIPTS
from fabula.app.importing import read_manuscript
from fabula.app.item_files import MAX_STORY_BYTES
from fabula.app.sources import read_story
from fabula.base.errors import FabulaError, UsageError
from fabula.models.finding import look
from fabula.models.hub import fetched
from fabula.models.known import KNOWN, installed, models_home
from fabula.models.providers import KINDS, keys_set
from fabula.project.default_model import offered_model
from fabula.project.settings import Settings
from fabula.server.api.depends import ProjectName, RunsDep, ShelfDep, StateDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page, pages_of
from fabula.story import count_words, one_line
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.app.workspace import Overview
    from fabula.engine.dry_run import DryRun
    from fabula.server.runs.children import Runs
    from fabula.verbs.home import Home

router = APIRouter(include_in_schema=False)
_PATIENCE: Final = 0.15  # seconds within which the page must appear, however many projects there are
# Separate threads for the list: those of other pages and those that read projects may all be busy for a long time.
_LISTING: Final = ThreadPoolExecutor(2, "list")
_LOOKING: Final = ThreadPoolExecutor(8, "shelf")
_BEGINS: Final = 60  # characters that show the beginning of a part
_LONGEST_NAME: Final = 200  # characters of a file's name that are kept
T = TypeVar("T")


@dataclass(frozen=True)
class ShelfEntry:
    """A project on the shelf.

    Attributes:
        name: its name in addresses.
        title: the title of its story, otherwise its name.
        about: its state; `None` if it cannot be read.
        problem: why it cannot be read, or why it cannot be run.
        runs: whether a run is in progress.
        late: whether there was no time to read its state.
    """

    name: str
    title: str
    about: Overview | None = None
    problem: str = ""
    runs: bool = False
    late: bool = False


@router.get("/")
async def shelf(request: Request, shelf: ShelfDep, runs: RunsDep) -> Response:
    """All projects; if reading a project's state takes longer, its row follows later."""
    experiments = _in(_LOOKING, _experiments, shelf)
    standings = await _standings(shelf, runs)
    named = await _in(_LISTING, lambda: [(name, name) for name in shelf.experiment_folders])
    await asyncio.wait([experiments], timeout=_PATIENCE)
    named = experiments.result() if experiments.done() else named
    shown = {"projects": standings, "experiments": named, "home": str(shelf.home)}
    return page(request, "shelf.html", first=_first_page(request), **shown)


@router.get("/cards")
async def cards(request: Request, shelf: ShelfDep, runs: RunsDep) -> Response:
    """Only the projects, with their current states."""
    return page(request, "shelf_cards.html", projects=await _standings(shelf, runs), first=_first_page(request))


@router.get("/cards/{project}")
async def card(request: Request, project: ProjectName, shelf: ShelfDep, runs: RunsDep) -> Response:
    """The row of a project, however long it takes to read its state."""
    standing = await _in(_LOOKING, _standing, shelf, runs, project)
    return page(request, "shelf_cards.html", projects=[standing], first=_first_page(request), alone=True)


@router.post("/sample")
def sample(request: Request, shelf: ShelfDep) -> Response:
    """Copy the sample project, and open it."""
    return _go_to(request, shelf.add_sample())


@router.get("/new")
async def new(request: Request, shelf: ShelfDep, state: StateDep) -> Response:
    """The form for a new story."""
    chosen = await offered_model(state.options.environ)
    return page(
        request,
        "new.html",
        home=str(shelf.home),
        chosen=chosen,
        systems=[(name, system.paper) for name, system in systems().items()],
        kinds=",".join(MANUSCRIPTS),
    )


@router.get("/new/models")
async def models(request: Request, state: StateDep) -> Response:
    """The models that are known on this machine."""
    environ = state.options.environ
    home = models_home(environ)
    here = [f"embedded:{name}" for name in KNOWN if installed(name, home)]
    here += [f"embedded:{model.name}" for model in fetched(home)]
    servers = await look(environ)
    here += [f"{server.kind}:{model.name}" for server in servers for model in server.models]
    keys = [name for name, is_set in keys_set(environ).items() if is_set]
    hosted = sorted({kind.title for kind in KINDS.values() if set(kind.keys) & set(keys)})
    return page(request, "new_models.html", models=here, hosted=hosted)


async def beginning_of(
    kind: Annotated[Kind, Form()] = "brief",
    text: Annotated[str, Form()] = "",
    title: Annotated[str, Form(max_length=200)] = "",
    system: Annotated[str, Form(max_length=200)] = "",
    model: Annotated[str, Form(max_length=500)] = "",
    base_url: Annotated[str, Form(max_length=500)] = "",
    words: Annotated[str, Form(max_length=100)] = "",
    author: Annotated[str, Form(max_length=200)] = "",
    own: Annotated[bool, Form()] = False,  # noqa: FBT002 - FastAPI's form of a box
    file: UploadFile | None = None,
) -> Beginning:
    """The new project that the form asks for.

    Raises:
        UsageError: the file cannot be read as a story.
    """
    parts, source = None, ""
    if file is not None and file.filename:
        source = Path(file.filename).name[:_LONGEST_NAME]
        if kind == "manuscript":
            parts = await asyncio.to_thread(_uploaded, file, read_manuscript)
        else:
            story = await asyncio.to_thread(_uploaded, file, read_story)
            text = story.manuscript() if kind == "story" else story.text
    wanted = Beginning(
        text.replace("\r\n", "\n"),
        kind,
        title=title.strip(),
        system=system.strip(),
        model=model.strip(),
        base_url=base_url.strip(),
        words=words.strip(),
        parts=parts,
        author=one_line(author),
        own=own,
    )
    return replace(wanted, source=source) if source else wanted


BeginningDep = Annotated[Beginning, Depends(beginning_of)]


@router.post("/new/estimate")
def estimate(request: Request, state: StateDep, wanted: BeginningDep) -> Response:
    """The estimated calls and cost of the first run."""
    environ = state.options.environ
    tables = wanted.tables(environ)
    if wanted.kind == "manuscript":
        made = planned(wanted, tables)
        rows = [(Path(one.file).name, one_line(one.text[:_BEGINS]), count_words(one.text)) for one in made.texts]
        return page(request, "new_manuscript.html", made=made, rows=rows)
    dry = asyncio.run(expected(wanted, environ, tables))
    settings = Settings.of(tables, "the form")
    shown = {"settings": settings, "rows": _by_role(dry), "dry": dry}
    return page(request, "new_estimate.html", wanted=wanted, **shown)


@router.post("/new")
async def make(
    request: Request,
    shelf: ShelfDep,
    state: StateDep,
    wanted: BeginningDep,
    at_once: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Create the project, start its first run if requested, and open the project."""
    tables = await asyncio.to_thread(wanted.tables, state.options.environ)
    name = await asyncio.to_thread(shelf.make, wanted.called, lambda folder: begin(wanted, folder, tables))
    if at_once and wanted.kind != "manuscript":
        await state.start(name, "make_plan" if wanted.from_story else "write", {})
    return _go_to(request, name)


def _in(threads: ThreadPoolExecutor, look: Callable[..., T], *of: Any) -> asyncio.Future[T]:  # noqa: ANN401 - whatever it looks at
    return asyncio.get_running_loop().run_in_executor(threads, copy_context().run, look, *of)


async def _standings(shelf: Home, runs: Runs) -> Sequence[ShelfEntry]:
    """The states of the projects; slow projects have only their names and are read one by one later."""
    names = await _in(_LISTING, lambda: shelf.names)
    looks = {name: _in(_LOOKING, _standing, shelf, runs, name) for name in names}
    if looks:
        await asyncio.wait(looks.values(), timeout=_PATIENCE)
    found = [one.result() if one.done() else ShelfEntry(name, name, late=True) for name, one in looks.items()]
    for one in looks.values():
        one.cancel()  # entries that have not begun yet
    return found


def _experiments(shelf: Home) -> list[tuple[str, str]]:
    """The experiments, with their names in addresses and their titles."""
    found = []
    for name in shelf.experiment_folders:
        with suppress(FabulaError):
            found.append((name, shelf.find_experiment(name).title))
    return found


def _standing(shelf: Home, runs: Runs, name: str) -> ShelfEntry:
    """The state of a project; if it cannot be read, the reason, so that the other projects are still shown."""
    try:
        about, at_work = shelf[name].overview(), any(run.is_open for run in runs.of(name))
    except FabulaError as error:
        return ShelfEntry(name, name, problem=str(error))
    return ShelfEntry(name, about.title or name, about, about.problem, at_work)


def _first_page(request: Request) -> str:
    """The first page of a project."""
    return next((name for name, _ in pages_of(request)), "")


def _go_to(request: Request, name: str) -> Response:
    """Have the browser open a project."""
    where = f"/projects/{name}/{_first_page(request)}"
    if request.headers.get("hx-request"):
        return Response(status_code=204, headers={"hx-redirect": where})
    return Response(status_code=303, headers={"location": where})


def _shown(file: UploadFile) -> str:
    """The original name of a file, without the folders that some browsers send."""
    return PureWindowsPath(file.filename or "").name[:100]


def _uploaded(file: UploadFile, read: Callable[[Path], T]) -> T:
    """The result of reading an uploaded file.

    Raises:
        UsageError: the file is too large, has the wrong type, or is not text.
    """
    suffix = Path(file.filename or "").suffix.casefold()
    if suffix not in MANUSCRIPTS:
        raise UsageError(
            f"{_shown(file)} is not a supported file. Use a file of the type {', '.join(MANUSCRIPTS)}, or paste "
            "the text."
        )
    content = file.file.read(MAX_STORY_BYTES + 1)
    with TemporaryDirectory(prefix="fabula-") as spare:
        place = Path(spare) / f"story{suffix}"
        place.write_bytes(content)
        try:
            return read(place)
        except FabulaError as error:
            raise UsageError(str(error).replace(str(place), _shown(file))) from error


def _by_role(dry: DryRun) -> list[tuple[str, str, int, int, int]]:
    """For each role: its name, its player, its calls, and its prompt and reply tokens."""
    rows = []
    for role, who in dict.fromkeys((call.role, call.performer) for call in dry.planned):
        mine = [call for call in dry.planned if (call.role, call.performer) == (role, who)]
        rows.append((role, who, len(mine), sum(call.prompt for call in mine), sum(call.reply for call in mine)))
    return rows
