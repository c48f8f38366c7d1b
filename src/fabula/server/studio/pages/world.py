"""The World page: the facts as a graph and as a table, each with its sentence, and the contradictions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Depends, Query, Request

from fabula.app.findings import mended
from fabula.app.saving import base_of
from fabula.app.world import READ_FILE
from fabula.base.errors import UnknownNameError, UsageError
from fabula.server.api.depends import ProjectName, RunsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.pages.plan import FieldsDep, expectation, foreseen
from fabula.server.studio.rendering import page
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi.responses import Response

    from fabula.app.facts_shown import FactRow, ProjectWorld
    from fabula.server.runs.children import Runs
    from fabula.server.runs.record import RunRecord
    from fabula.verbs.home import Project

router = APIRouter(prefix="/projects/{project}/world", include_in_schema=False)
ROWS: Final = 100  # rows on a page of the table
DRAWN: Final = 150  # facts in the graph
_MOST_CONFLICTS: Final = 50
_LABEL: Final = 40
Kind: TypeAlias = Literal["check", "facts", "codex", "cards"]
OfText: TypeAlias = Annotated[str, Query(max_length=500)]
"""The part of the story whose findings are shown, or empty for all findings."""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """A query for facts.

    Attributes:
        at: the number of the scene at whose end the facts hold; empty for the end of the story.
        of: the character who believes the facts; empty for all current facts.
    """

    at: str = ""
    of: str = ""
    search: str = ""

    @property
    def scene(self) -> int | None:
        """The scene's number; `None` for the end of the story.

        Raises:
            UnknownNameError: the text is not a number.
        """
        if not self.at:
            return None
        if not (self.at.isascii() and self.at.isdigit() and len(self.at) < 8):  # noqa: PLR2004 - no story has ten million scenes
            raise UnknownNameError("scene", self.at, ())
        return int(self.at)


def asked_of(
    at: Annotated[str, Query(max_length=20)] = "",
    of: Annotated[str, Query(max_length=200)] = "",
    search: Annotated[str, Query(max_length=200)] = "",
) -> FactQuery:
    """The query for facts in an address."""
    return FactQuery(at, of, search)


AskedDep: TypeAlias = Annotated[FactQuery, Depends(asked_of)]


@router.get("", response_model=None)
def world(
    request: Request,
    workspace: WorkspaceDep,
    asked: AskedDep,
    fact: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """The World page; with `fact`, the sentence of that fact is shown."""
    shown = _facts(workspace, asked, 1)
    was_read = (workspace.folder / READ_FILE).is_file()
    return page(request, "world.html", fact=fact, was_read=was_read, **shown)


@router.get("/facts", response_model=None)
def facts(
    request: Request, workspace: WorkspaceDep, asked: AskedDep, number: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """A page of the table."""
    return page(request, "world_facts.html", **_facts(workspace, asked, number))


@router.get("/facts/{number}", response_model=None)
def fact(request: Request, workspace: WorkspaceDep, number: int) -> Response:
    """A fact, and its sentence in its scene."""
    return page(request, "world_fact.html", **_fact(workspace, number))


@router.get("/graph", response_model=None)
def graph(workspace: WorkspaceDep, asked: AskedDep) -> dict[str, Any]:
    """The facts as nodes and edges; only the first if there are many."""
    return _graph(workspace, asked)


@router.get("/findings", response_model=None)
def findings(request: Request, workspace: WorkspaceDep) -> Response:
    """The findings of the last check."""
    return page(request, "findings.html", said="", of="", found=workspace.last_check())


@router.get("/findings/{key}/mend/{side}", response_model=None)
def mend_form(request: Request, workspace: WorkspaceDep, key: str, side: str, of: OfText = "") -> Response:
    """The form that rewords one of the two sentences."""
    found = workspace.last_check()
    finding = found.find(key)
    return page(request, "findings_mend.html", one=finding, place=finding.place(side), of=of)


@router.post("/findings/{key}/mend/{side}/preview", response_model=None)
def mend_preview(request: Request, workspace: WorkspaceDep, key: str, side: str, fields: FieldsDep) -> Response:
    """The effects of a new wording."""
    new = mended(workspace.last_check(), key, side, fields.get("wording", ""))
    return page(request, "expected_line.html", **expectation(workspace, {new.name: new.new}))


@router.post("/findings/{key}/mend/{side}", response_model=None)
def mend(
    request: Request, workspace: WorkspaceDep, key: str, side: str, fields: FieldsDep, of: OfText = ""
) -> Response:
    """Reword one of the two sentences by editing its text."""
    new = mended(workspace.last_check(), key, side, fields.get("wording", ""))
    workspace.edit(new.name, new.new, base_of(new.old))
    said = (
        f"“{workspace.titles()(new.name)}” is saved. You can undo this on the Edit page. To see whether the two "
        "sentences agree now, run a new check."
    )
    return _after(request, workspace, said, of)


@router.post("/findings/{key}/propose/{side}/expected", response_model=None)
def propose_expected(request: Request, workspace: WorkspaceDep, key: str, side: str) -> Response:
    """The estimate for a proposed wording from the model that wrote the text."""
    asked = _passage(workspace, key, side)
    found = foreseen(lambda: workspace.dry_run("rewrite", **asked))
    return page(request, "findings_propose.html", key=key, side=side, **found)


@router.post("/findings/{key}/propose/{side}", response_model=None)
def propose(request: Request, workspace: WorkspaceDep, key: str, side: str) -> Response:
    """A wording from the model that wrote the text; nothing is saved."""
    wording = workspace.rewrite(**_passage(workspace, key, side), propose=True).wording
    return page(request, "findings_wording.html", key=key, side=side, wording=wording)


def _passage(workspace: Project, key: str, side: str) -> dict[str, Any]:
    """The arguments of the verb `rewrite`: the text with one place of a finding, its sentence, and a note.

    Raises:
        UsageError: the sentence has changed since the check.
    """
    one = workspace.last_check().find(key)
    here = one.place(side)
    there = one.place("y" if side == "x" else "x")
    if here.quoted is None:
        raise UsageError("This sentence is no longer in the story. Check the story again.")
    note = (
        f"This passage says: {here.says}. Elsewhere the story says: {there.says} ({there.sentence!r}). Both cannot be "
        "true. Word this passage so that it agrees with the other, and change nothing else of what it tells."
    )
    passage = f"{here.quoted.start + 1}-{here.quoted.end}"
    return {"artefact": here.quoted.part.name, "passage": passage, "note": note}


@router.post("/findings/{key}/dismiss", response_model=None)
def dismiss(request: Request, workspace: WorkspaceDep, key: str, fields: FieldsDep, of: OfText = "") -> Response:
    """Dismiss a finding, with a reason."""
    workspace.dismiss(key, fields.get("reason", ""))
    return _after(
        request, workspace, ("The finding was dismissed with your reason. The next check will not report it."), of
    )


@router.post("/findings/{key}/count", response_model=None)
def count(request: Request, workspace: WorkspaceDep, key: str, of: OfText = "") -> Response:
    """Count a dismissed finding again."""
    workspace.count_again(key)
    return _after(request, workspace, "The finding counts again.", of)


def _after(request: Request, workspace: Project, said: str, of: str) -> Response:
    """The findings after a decision about one of them; only those `of` a text if they are shown next to it."""
    found = workspace.last_check()
    if not of:
        return page(request, "findings_list.html", said=said, of="", found=found)
    response = page(request, "findings_list.html", said=said, of=of, found=found.of(of))
    response.headers["hx-trigger"] = json.dumps({"fabula:look": True, "fabula:saved": True})
    return response


@router.get("/expected/{kind}", response_model=None)
def expected(request: Request, workspace: WorkspaceDep, project: ProjectName, runs: RunsDep, kind: Kind) -> Response:
    """The estimate for reading the story and the button that begins it, or the state of the present or last reading."""
    before = _last(runs, project, kind)
    if before and before.is_open:
        return page(request, "world_begun.html", run=before, kind=kind)
    verb, asked = _reading(kind)
    found = foreseen(lambda: workspace.dry_run(verb, **asked))
    return page(request, "world_run.html", kind=kind, before=before, **found)


@router.post("/run/{kind}", response_model=None)
def run(request: Request, project: ProjectName, runs: RunsDep, kind: Kind, fields: FieldsDep) -> Response:
    """Begin to read the story, with another model if one is named; the run does not depend on the server."""
    model = fields.get("model", "").strip()
    verb, asked = _reading(kind)
    begun = runs.start(project, verb, {**asked, "model": model})
    return page(request, "world_begun.html", run=begun, kind=kind)


# what is shown ------------------------------------------------------------------------------------------------------


def _facts(workspace: Project, asked: FactQuery, number: int) -> dict[str, Any]:
    known = workspace.known_facts()
    rows = known.facts(asked.scene, asked.of, asked.search)
    first = (number - 1) * ROWS
    at = known.at(asked.scene)
    conflicts = [one for one in known.state.conflicts() if one.later.told <= at] if known.there else []
    return {
        "world": known,
        "asked": asked,
        "rows": rows[first : first + ROWS],
        "total": len(rows),
        "number": number,
        "last": max((len(rows) + ROWS - 1) // ROWS, 1),
        "drawn": min(len(rows), DRAWN),
        "conflicts": [(known.row(one.earlier.id), known.row(one.later.id)) for one in conflicts[:_MOST_CONFLICTS]],
        "more_conflicts": max(len(conflicts) - _MOST_CONFLICTS, 0),
    }


def _fact(workspace: Project, number: int) -> dict[str, Any]:
    known = workspace.known_facts()
    row, found = known.row(number), known.sentence(number)
    return {"row": row, "quote": known.state.fact(number).quote, "part": known.part(row.scene),
            "pieces": found.pieces() if found else None}  # fmt: skip


def _graph(workspace: Project, asked: FactQuery) -> dict[str, Any]:
    """The facts that show best how people and things are connected, in cytoscape's format."""
    known = workspace.known_facts()
    rows = known.facts(asked.scene, asked.of, asked.search)
    chosen = _first(rows, DRAWN)
    kinds = {known.state.index.owner(one.name): one.kind for one in known.state.entities()}
    drawing = _Drawing(known, kinds)
    for row in chosen:
        drawing.draw(row)
    return {"nodes": list(drawing.nodes.values()), "edges": drawing.edges, "drawn": len(chosen), "total": len(rows)}


def _first(rows: Sequence[FactRow], most: int) -> Sequence[FactRow]:
    """The facts to draw, in their order: those that link two names, then those about the names with the most facts."""
    if len(rows) <= most:
        return rows
    said: dict[str, int] = {}
    for row in rows:
        said[row.subject] = said.get(row.subject, 0) + 1
    places = sorted(range(len(rows)), key=lambda n: (not rows[n].about, -said[rows[n].subject], n))
    return [rows[n] for n in sorted(places[:most])]


@dataclass
class _Drawing:
    """Collects nodes and edges."""

    known: ProjectWorld
    kinds: dict[str, str]

    def __post_init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []

    def draw(self, row: FactRow) -> None:
        """Draw a fact as an edge to each name that it concerns, otherwise to a node with its value."""
        mine = self._entity(row.subject)
        ends = [self._entity(name) for name in row.about]
        if not ends:
            ends = [f"value:{row.id}"]
            self.nodes[ends[0]] = {"id": ends[0], "label": _short(row.value), "kind": "value", "fact": row.id}
        for place, end in enumerate(ends):
            same = not row.about or row.value.casefold() in (name.casefold() for name in row.about)
            label = _short(row.slot if same else f"{row.slot}: {row.value}")
            self.edges.append({"id": f"fact:{row.id}:{place}", "source": mine, "target": end, "label": label,
                               "fact": row.id, "outdated": row.outdated, "said": bool(row.said)})  # fmt: skip

    def _entity(self, name: str) -> str:
        owner = self.known.state.index.owner(name)
        number = f"entity:{owner}"
        if number not in self.nodes:
            label = _short(self.known.state.index.called(owner) or name)
            self.nodes[number] = {"id": number, "label": label, "kind": self.kinds.get(owner) or "thing"}
        return number


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LABEL else line[: _LABEL - 1] + "…"


def _last(runs: Runs, project: str, kind: Kind) -> RunRecord | None:
    """The last run that read the story in this way."""
    verb, asked = _reading(kind)
    wanted = verb, asked.get("evaluator")
    return next((run for run in runs.of(project) if (run.verb, run.arguments.get("evaluator")) == wanted), None)


def _reading(kind: Kind) -> tuple[str, dict[str, str]]:
    """The verb that reads the story in this way, and its arguments."""
    verb = {"check": "check", "codex": "read_codex", "cards": "read_cards"}.get(kind)
    return (verb, {}) if verb else ("evaluate", {"evaluator": kind})
