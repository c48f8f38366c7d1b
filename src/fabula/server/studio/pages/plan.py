"""The Plan page: scenes as cards, also as read from the texts of a book, both orders of time, and who knows what."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Form, Query, Request
from markupsafe import Markup
from pydantic import ValidationError

from fabula.app.cards import cards_of, is_part
from fabula.app.outlining import accept, is_empty
from fabula.app.plan_cards import CHAPTERS, PlanCards, plan_cards
from fabula.app.planning import order_of_time
from fabula.app.saving import base_of
from fabula.base.errors import ConflictError, FabulaError, UsageError
from fabula.server.api.depends import ProjectName, RunsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.story import one_line
from fabula.story.plan import ARC
from fabula.story.timeline import Timeline, timeline_svg
from fabula.story.timeline.lines import KINDS
from fabula.story.world.knowing import Knowing
from fabula.verbs.base import adapter
from fabula.verbs.read_cards import CardsFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fastapi.responses import Response

    from fabula.app.bills import Estimate
    from fabula.app.outlining import CardFound
    from fabula.server.runs.children import Runs
    from fabula.story.plan import Plan
    from fabula.verbs.home import Project

router = APIRouter(prefix="/projects/{project}/plan", include_in_schema=False)
AT_ONCE: Final = 60  # cards that the page begins with; the others follow immediately
ROWS: Final = 50  # rows on a page of a table
MOST_CARDS: Final = 2_000  # cards that are accepted at once
_MOST_NUMBERS: Final = 20_000  # characters of a new order
_MOST_COLUMNS: Final = 12  # characters whose knowledge is shown at once
_FIELDS: Final = ("title", "place", "time", "date", "element", "importance", "people", "outline", "text")
_ECHOED: Final = ("do", "base", "order", "number", "after", "summary", *_FIELDS)


async def fields_of(request: Request) -> dict[str, str]:
    """The text fields of a form."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


FieldsDep: TypeAlias = Annotated[dict[str, str], Depends(fields_of)]


@dataclass(frozen=True, slots=True)
class CardsRead:
    """The plan, and the cards that the last run has read from the texts of the book.

    Attributes:
        cards: the plan as cards.
        base: identifies the text of the plan.
        empty: the names of the texts whose card says nothing.
        proposed: the cards that were read and wait for a decision, by the name of their text.
        refused: the names of those that the author has refused.
    """

    cards: PlanCards
    base: str
    empty: frozenset[str]
    proposed: Mapping[str, str]
    refused: frozenset[str]

    @property
    def unread(self) -> int:
        """The number of texts whose card is empty, and of which no card was read."""
        return len(self.empty - self.proposed.keys() - self.refused)


def cards_read(workspace: WorkspaceDep, project: ProjectName, runs: RunsDep) -> CardsRead:
    """The plan, and what was read."""
    cards, base = cards_of(workspace)
    empty = frozenset(card.name for card in cards.cards if cards.form == CHAPTERS and is_empty(card))
    found = {one.name: one.text for one in _found(runs, project) if one.name in empty} if empty else {}
    with workspace.texts().journal as journal:
        refused = frozenset(name for name, text in found.items() if journal.decisions.refused(name, text))
    return CardsRead(cards, base, empty, {name: found[name] for name in found if name not in refused}, refused)


ReadDep: TypeAlias = Annotated[CardsRead, Depends(cards_read)]


@router.get("", response_model=None)
def plan(request: Request, workspace: WorkspaceDep, read: ReadDep) -> Response:
    """The Plan page."""
    return page(request, "plan.html", **_shown(workspace, read))


@router.get("/cards", response_model=None)
def rest(request: Request, read: ReadDep, first: Annotated[int, Query(ge=1, le=1_000_000)] = 1) -> Response:
    """The cards from a number onwards, which follow those that the page begins with."""
    return page(request, "plan_cards.html", read=read, cards=read.cards, shown=read.cards.cards[first - 1 :], rest=0)


@router.get("/reading", response_model=None)
def reading(request: Request, workspace: WorkspaceDep, read: ReadDep) -> Response:
    """What was read from the texts, or what reading them would cost."""
    return page(request, "plan_reading.html", read=read, undo=workspace.overview().undo)


@router.post("/accept", response_model=None)
def accept_cards(
    request: Request,
    workspace: WorkspaceDep,
    project: ProjectName,
    runs: RunsDep,
    name: Annotated[list[str], Form(max_length=MOST_CARDS)],
    text: Annotated[list[str], Form(max_length=MOST_CARDS)],
) -> Response:
    """Put cards into the plan, as they were read or as the author has changed them; gives the new plan."""
    count = len(_accept(workspace, runs, project, dict(zip(name, text, strict=False))))
    shown = _shown(workspace, cards_read(workspace, project, runs))
    return page(request, "plan_body.html", said=f"{count} cards are in the plan.", **shown)


@router.post("/accept/{name}", response_model=None)
def accept_card(
    request: Request,
    workspace: WorkspaceDep,
    project: ProjectName,
    runs: RunsDep,
    name: str,
    text: Annotated[str, Form()],
) -> Response:
    """Put a card into the plan, as it was read or as the author has changed it; gives the new card."""
    _accept(workspace, runs, project, {name: text})
    return _one(request, cards_read(workspace, project, runs), name, "The card is in the plan.")


@router.post("/refuse/{name}", response_model=None)
def refuse_card(request: Request, workspace: WorkspaceDep, project: ProjectName, runs: RunsDep, name: str) -> Response:
    """Refuse a card that was read, so that it is not proposed again; gives the card of the plan."""
    text = _waiting(cards_read(workspace, project, runs), name)
    with workspace.decided() as (_, journal):
        journal.decisions.add(name, "refuse", text)
    return _one(request, cards_read(workspace, project, runs), name, "The card that was read is refused.")


@router.post("/undo", response_model=None)
def undo(request: Request, workspace: WorkspaceDep, project: ProjectName, runs: RunsDep) -> Response:
    """Take the last decision back; gives the new plan."""
    said = f"Taken back: {workspace.undo().wording}."
    return page(request, "plan_body.html", said=said, **_shown(workspace, cards_read(workspace, project, runs)))


@router.get("/states", response_model=None)
def states(workspace: WorkspaceDep) -> dict[str, tuple[str, ...]]:
    """The states of each part of the story, by its name; stale parts are known only after a dry run."""
    found = workspace.rows()
    return {one.name: one.states for one in found if is_part(one)}


@router.get("/rails", response_model=None)
def rails(request: Request, workspace: WorkspaceDep) -> Response:
    """Both orders of time."""
    return page(request, "plan_rails.html", rails=_drawn(workspace))


@router.get("/cards/{number}", response_model=None)
def card(request: Request, workspace: WorkspaceDep, number: int) -> Response:
    """The form that changes a card.

    Raises:
        UsageError: no card of that number can be changed here.
    """
    cards, base = cards_of(workspace)
    if not (cards.movable and 1 <= number <= len(cards.cards)):
        raise UsageError(f"The plan has no card {number} that you can change here. Reload the page.")
    return page(request, "plan_form.html", card=cards.cards[number - 1], form=cards.form, base=base, arc=ARC)


@router.post("/preview", response_model=None)
def preview(request: Request, workspace: WorkspaceDep, fields: FieldsDep) -> Response:
    """The effects of a change of the plan, before it is made."""
    return page(request, "plan_change.html", **_previewed(workspace, fields))


@router.post("/save", response_model=None)
def save(request: Request, workspace: WorkspaceDep, project: ProjectName, runs: RunsDep, fields: FieldsDep) -> Response:
    """Change the plan by editing its file; gives the new plan."""
    said = _saved(workspace, fields)
    read = cards_read(workspace, project, runs)
    return page(request, "plan_body.html", said=said, depends=True, **_shown(workspace, read))


@router.get("/knowing", response_model=None)
def knowing(
    request: Request,
    workspace: WorkspaceDep,
    search: Annotated[str, Query(max_length=200)] = "",
    who: Annotated[str, Query(max_length=200)] = "",
    apart: Annotated[bool, Query()] = False,  # noqa: FBT002 - a tick in a form
    number: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """A page of the table of who knows what, and since when."""
    shown = _knowing(workspace, search, who, number, apart=apart)
    return page(request, "plan_knowing.html", **shown)


# what is shown ------------------------------------------------------------------------------------------------------


def _shown(workspace: Project, read: CardsRead) -> dict[str, Any]:
    artefacts = workspace.rows(marks=False)
    planned = [one for one in artefacts if one.folder == "plan"]
    many = len(read.cards.cards) > AT_ONCE
    return {
        "read": read,
        "cards": read.cards,
        "shown": read.cards.cards[:AT_ONCE],
        "rest": AT_ONCE + 1 if many else 0,
        "base": read.base,
        "planned": planned,
        "arc": ARC,
    }


def _found(runs: Runs, project: str) -> Sequence[CardFound]:
    """The cards that the last run has read."""
    run = next((one for one in runs.of(project) if one.verb == "read_cards" and one.state == "finished"), None)
    try:
        return adapter(CardsFound).validate_json(runs.result(project, run.id)).cards if run else ()
    except (FabulaError, ValidationError):  # the files of a project may be anything
        return ()


def _accept(workspace: Project, runs: Runs, project: str, given: dict[str, str]) -> Collection[str]:
    """Put cards into the plan that wait for a decision; returns the names of their texts."""
    read = cards_read(workspace, project, runs)
    for name in given:
        _waiting(read, name)
    with workspace.changing() as texts:
        return asyncio.run(accept(texts, given, workspace.options))


def _waiting(read: CardsRead, name: str) -> str:
    """The card that was read from a text, and waits for a decision.

    Raises:
        UsageError: the card is no longer proposed.
    """
    if name not in read.proposed:
        raise UsageError("No card is proposed here any more: it was accepted, refused or written. Reload the page.")
    return read.proposed[name]


def _one(request: Request, read: CardsRead, name: str, said: str) -> Response:
    """One card of the new plan, and, for the rest of the page, the base of that plan."""
    shown = [card for card in read.cards.cards if card.name == name]
    response = page(request, "plan_cards.html", read=read, cards=read.cards, shown=shown, rest=0, decided=said)
    response.headers["hx-trigger"] = json.dumps({"fabula:planned": {"base": read.base}})
    return response


def _drawn(workspace: Project) -> Rails | str:
    cards, _ = cards_of(workspace)
    if cards.plan is None or not cards.plan.scenes:
        return "There is no plan with scenes, so fabula cannot draw the order of events."
    said = workspace.text("order").text if any(one.name == "order" for one in workspace.rows(marks=False)) else ""
    return _rails(cards.plan, said)


@dataclass(frozen=True, slots=True)
class Rails:
    """Both orders of time as a picture and as tables."""

    picture: Markup
    summary: str
    note: str
    units: Sequence[tuple[int, str, str, int, str, str]]
    present: Sequence[tuple[str, bool, Sequence[int]]]


def _rails(plan: Plan, said: str) -> Rails | str:
    """Both orders of time; a sentence if the times of the plan contradict each other."""
    lines = (line.strip() for line in said.splitlines())
    order, source, wrong = order_of_time(plan, [one_line(line[2:]) for line in lines if line.startswith("- ")])
    note = "The order of events is not known for all scenes." if source == "assumed" else ""
    try:
        timeline = Timeline.of(plan, order)
        picture = timeline_svg(plan, order, note, lambda number: f"#scene-{number}")
    except UsageError as error:
        return f"The order of events cannot be drawn. {error}"
    units = [(line.scene, line.number, line.name, line.happens, line.time, KINDS[line.kind]) for line in timeline.lines]
    present = [(row.name, row.group, tuple(row.goals)) for row in timeline.rows]
    return Rails(Markup(picture), timeline.summary(), wrong or note, units, present)  # noqa: S704 - our own picture


def _knowing(workspace: Project, search: str, who: str, number: int, *, apart: bool) -> dict[str, Any]:
    world = workspace.known_facts()
    people = [world.person(who)] if who else list(world.people[:_MOST_COLUMNS])
    words = search.casefold().split()
    rows = {row.id: row for row in map(world.row, (fact.id for fact in world.state.facts())) if row.has(words)}
    facts = [fact for fact in world.state.facts() if fact.id in rows]
    found = Knowing.of(world.state, people, facts)
    found = found.told_apart() if apart and len(people) > 1 else found
    first = (number - 1) * ROWS
    return {
        "world": world,
        "people": people,
        "left_out": 0 if who else len(world.people) - len(people),
        "rows": [(rows[one.fact.id], one.scenes) for one in found.rows[first : first + ROWS]],
        "total": len(found.rows),
        "number": number,
        "last": max((len(found.rows) + ROWS - 1) // ROWS, 1),
        "asked": {"search": search, "who": who, "apart": apart},
    }


# what is changed ----------------------------------------------------------------------------------------------------


def _changed(workspace: Project, fields: Mapping[str, str]) -> tuple[PlanCards, str, str, str]:
    """The current cards, the plan's new text, its base, and a description of the change.

    Raises:
        ConflictError: the plan was changed since the page was made.
        UsageError: the change cannot be made.
    """
    cards, base = cards_of(workspace)
    if fields.get("base", "") != base:
        raise ConflictError(
            "The plan has changed since this page was loaded. Nothing was saved. Reload the page and try again.",
            theirs=cards.text,
            base=base,
        )
    what, number = fields.get("do", ""), _whole(fields.get("number", "0"))
    if what == "order":
        order = [_whole(part) for part in fields.get("order", "")[:_MOST_NUMBERS].split(",")]
        moved = [
            cards.cards[n - 1].title for place, n in enumerate(order, 1) if 0 < n <= len(cards.cards) and n != place
        ]
        return cards, cards.ordered(order), base, f"New order of telling: {_some(moved)}."
    if what == "add":
        after, title = _whole(fields.get("after", "0")), fields.get("title", "")
        return cards, cards.added(after, title, fields.get("summary", "")), base, f"New scene: {one_line(title)!r}."
    if what == "remove":
        text = cards.removed(number)
        return cards, text, base, f"Removed scene: {cards.cards[number - 1].title!r}."
    if what == "change":
        text = cards.changed(number, {name: fields[name] for name in _FIELDS if name in fields})
        return cards, text, base, f"Changed card: {cards.cards[number - 1].title!r}."
    raise UsageError(f"You can reorder a plan, or add, remove and change cards. {what[:40]!r} is none of these.")


def _previewed(workspace: Project, fields: Mapping[str, str]) -> dict[str, Any]:
    cards, text, _, said = _changed(workspace, fields)
    new = plan_cards({cards.name: text}, ())
    problems = [*new.problems, *(f"{card.title}: {problem}" for card in new.cards for problem in card.problems)]
    about = {} if problems else expectation(workspace, {cards.name: text})
    return about | {
        "said": said,
        "fields": {name: fields[name] for name in _ECHOED if name in fields},
        "same": base_of(text) == base_of(cards.text),
        "problems": problems,
    }


def _saved(workspace: Project, fields: Mapping[str, str]) -> str:
    cards, text, base, said = _changed(workspace, fields)
    saved = workspace.edit(cards.name, text, base)
    return f"Saved. {said}" if saved.changed else "The plan is unchanged."


def foreseen(look: Callable[[], Estimate]) -> dict[str, Any]:
    """An estimate as `expected`; if it cannot be made, the reason as `problem`."""
    try:
        return {"expected": look(), "problem": ""}
    except FabulaError as error:
        return {"expected": None, "problem": str(error)}


def expectation(workspace: Project, pending: Mapping[str, str]) -> dict[str, Any]:
    """The estimate of a run with these texts, and the texts that it would rewrite."""
    about, titles = foreseen(lambda: workspace.expected(pending=pending)), workspace.titles()
    stale = about["expected"].stale if about["expected"] else ()
    return about | {"stale": [titles(name) for name in stale if not name.startswith(("steps/", "world/"))]}


def _whole(said: str) -> int:
    said = said.strip()
    if not (said.isascii() and said.isdigit() and len(said) < 8):  # noqa: PLR2004 - no plan has ten million cards
        raise UsageError(f"{said[:40]!r} is not the number of a card. Reload the page.")
    return int(said)


def _some(names: Sequence[str]) -> str:
    """The first of some names, and the number of the others."""
    if not names:
        return "all scenes are where they were"
    shown = ", ".join(repr(name) for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown  # noqa: PLR2004 - as many as are shown
