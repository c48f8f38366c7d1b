"""The Edit page: any text of a project, the effects of its changes, and its history."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError

from fabula.app.cards import cards_of
from fabula.app.codex import codex_of
from fabula.app.editing import VersionStage, beside, last_rewritten, stages, written_again
from fabula.app.replacing import Search
from fabula.app.saving import BRIEF
from fabula.app.titles import Titles
from fabula.base.errors import FabulaError, UsageError
from fabula.craft.numbers import LARGEST
from fabula.craft.suggesting import WISHES
from fabula.project.folder import MAX_FILE, STORY, STYLE
from fabula.server.api.depends import ProjectName, RunsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.pages.plan import foreseen
from fabula.server.studio.pages.write import doing_of, exports_of
from fabula.server.studio.rendering import page
from fabula.story import plain
from fabula.story.comparing import compare, merge, taken, word_pieces
from fabula.verbs.base import adapter
from fabula.verbs.style import StyleSheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.plan_cards import PlanCard
    from fabula.app.workspace import Artefact, ArtefactVersion
    from fabula.server.runs.children import Runs
    from fabula.story.comparing import TextStretch
    from fabula.verbs.home import Project

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/edit"
PARTS: Final = "/projects/{project}/edit-parts"
_TAKES: Final = 4  # versions next to each other at first
_FACTS: Final = 6  # facts of each kind next to a text

Name = Annotated[str, Form(max_length=500)]
Text = Annotated[str, Form(max_length=MAX_FILE)]


class Both(BaseModel):
    """A text that could not be saved because it was changed elsewhere.

    Attributes:
        name: the name of the artefact.
        base: the text that was edited.
        mine: the text that could not be saved.
    """

    name: str
    base: str
    mine: str


class Words(BaseModel):
    """The form that finds and replaces words.

    Attributes:
        take: the numbers of the places to replace.
        shown: how many places the form shows.
        base: identifies the places; empty for a preview.
    """

    artefact: Name
    old: Name = ""
    new: Text = ""
    how: list[Literal["whole_word", "case", "everywhere"]] = []
    within: Name = ""
    take: list[int] = []
    shown: int = 0
    base: Name = ""


# the page -------------------------------------------------------------------------------------------------------------


@router.get(PAGE, response_model=None)
def first(request: Request, workspace: WorkspaceDep) -> Response:
    """The page with the first text of the story, or with the brief if there is none."""
    tree = workspace.shown(marks=False)
    names = [one.name for branch in tree for one in branch.artefacts if branch.name == "story"]
    return edit(request, workspace, names[0] if names else BRIEF)


@router.get(PAGE + "/{name:path}", response_model=None)
def edit(request: Request, workspace: WorkspaceDep, name: str) -> Response:
    """The page with a text."""
    text = workspace.text(name)
    about = _texts(workspace, text.name, marks=False) | {"text": text, "swap": False, "wishes": WISHES}
    line = about["line"]
    about |= {
        "exports": exports_of(workspace),
        "said": "",
        "note": workspace.text(line.note) if line and line.note else None,
    }
    about["describes"] = workspace.cached("describes", lambda: _describes(workspace))
    return page(request, "edit.html", **about)


def _describes(workspace: Project) -> bool:
    """Whether there are samples of the author's own prose, but no style sheet."""
    project = workspace.texts()
    with suppress(FabulaError):
        return not project.style and bool(project.samples)
    return False


@router.post(PARTS + "/style", response_model=None)
def style(
    request: Request,
    workspace: WorkspaceDep,
    project: ProjectName,
    runs: RunsDep,
    *,
    run: Name = "",
    accept: Annotated[bool, Form()] = False,
) -> Response:
    """Propose a style sheet, counted in the author's samples or as a run has read them; or save it, and open it.

    No model is called here: a run can be stopped, and goes on when its page is closed.
    """
    found = _style_of(runs, project, run) if run else workspace.style(counted=True, accept=accept)
    if accept:
        if run:
            workspace.edit(STYLE, found.text, "")
        where = request.url.path.removesuffix("-parts/style") + f"/{STYLE}"
        return Response(status_code=204, headers={"hx-redirect": where})
    about = {} if run else foreseen(lambda: workspace.dry_run("style"))
    return page(request, "edit_style.html", found=found, run=run, **about)


def _style_of(runs: Runs, project: str, run: str) -> StyleSheet:
    """The style sheet that a run proposes."""
    try:
        found: StyleSheet = adapter(StyleSheet).validate_json(runs.result(project, run))
    except ValidationError as error:  # the files of a project may be anything
        raise UsageError("This run proposes no style sheet. Describe your style again.") from error
    return found


def _texts(workspace: Project, name: str, *, marks: bool) -> dict[str, Any]:
    """All texts as a tree, and the state of the text that is open."""
    tree, contents = workspace.shown(marks=marks), workspace.contents()
    named = {one.name: one for branch in tree for one in branch.artefacts}
    about = {"tree": tree, "named": named, "contents": contents, "overview": workspace.overview(), "name": name}
    one = named.get(name)
    return about | {"one": one, "line": contents.of(name), "was_written": _was_written(workspace, one)}


def _was_written(workspace: Project, one: Artefact | None) -> bool:
    """Whether there is a written text before the author's edits that the author can restore."""
    if one is None or one.name in (BRIEF, STYLE, STORY) or one.source not in ("edited", "rewritten"):
        return False
    with suppress(FabulaError):  # a new file has no history yet
        return bool(workspace.alternatives(one.name).versions)
    return False


@router.get(PARTS + "/expected", response_model=None)
def expected(request: Request, workspace: WorkspaceDep, *, name: str, fit: bool = False) -> Response:
    """The texts that a run would rewrite, or revise to `fit`, with its cost, and all texts with their marks."""
    about, titles = foreseen(lambda: workspace.expected(fit=fit)), workspace.titles()
    if (expected := about["expected"]) is not None:
        about |= {"again": written_again(expected, titles.files), "doing": doing_of(titles, expected)}
    about |= {"swap": True, "fit": fit, "titles": titles, "behind": workspace.is_behind()}
    about |= _texts(workspace, name, marks=True)
    return page(request, "edit_expected.html", **about)


@router.get(PARTS + "/beside", response_model=None)
def beside_text(request: Request, workspace: WorkspaceDep, *, name: str) -> Response:
    """Details of a part of the story: its card of the plan, the facts at its end, and contradictions."""
    cards = cards_of(workspace)[0].of(name)
    about = _facts_beside(workspace, name, cards) | _findings_beside(workspace, name)
    return page(request, "edit_beside.html", name=name, cards=cards, of=name, said="", **about)


@router.get(PARTS + "/who", response_model=None)
def who(
    workspace: WorkspaceDep,
    name: Annotated[str, Query(max_length=500)],
    before: Annotated[str, Query(max_length=500)] = "",
    after: Annotated[str, Query(max_length=500)] = "",
) -> dict[str, list[str]]:
    """Whom or what a text names between the words `before` and `after`, and what is known of it by that text's end."""
    codex = codex_of(workspace)
    scene = next((part.number for part in codex.world.parts if part.name and part.name == name), None)
    return {"said": codex.said_at(before + after, len(before), scene)}


def _facts_beside(workspace: Project, name: str, cards: Sequence[PlanCard]) -> dict[str, object]:
    """The facts at the end of a part of the story, and the characters that the world knows."""
    nothing: dict[str, object] = {"facts": None, "here": None, "known": (), "no_facts": ""}
    try:
        world = workspace.known_facts()
        here = next((part for part in world.parts if part.name and part.name == name), None)
        if here is None or not world.there:
            return nothing
        people = [who for card in cards for who in card.scene.present]  # in an imported book, those whom it names
        people = people or codex_of(workspace).mentioned_in(here.number)
    except FabulaError as error:
        return nothing | {"no_facts": str(error)}
    facts = world.beside(here.number, people, _FACTS)
    return nothing | {"facts": facts, "here": here, "known": frozenset(world.people)}


def _findings_beside(workspace: Project, name: str) -> dict[str, object]:
    try:
        return {"found": workspace.last_check().of(name), "no_findings": ""}
    except FabulaError as error:
        return {"found": None, "no_findings": str(error)}


# versions -------------------------------------------------------------------------------------------------------------


@router.get(PARTS + "/history", response_model=None)
def history(request: Request, workspace: WorkspaceDep, *, name: str, all_: bool = False) -> Response:
    """The versions of a text, with author and time; versions saved during typing are shown only on request."""
    versions = (workspace.versions(name)).versions
    found = [VersionStage(made) for made in versions] if all_ else stages(versions)
    return page(request, "edit_history.html", name=name, stages=found[::-1], hidden=len(versions) - len(found))


@router.get(PARTS + "/compare", response_model=None)
def compared(
    request: Request,
    workspace: WorkspaceDep,
    name: str,
    old: int | None = None,
    new: int | None = None,
    view: Literal["changes", "beside"] = "changes",
) -> Response:
    """Two versions: their changes, which can be accepted one by one, or both texts next to each other.

    Without numbers, they are the newest version and the previous one.
    """
    stands = workspace.text(name)
    after = workspace.text(name, new or stands.version)
    before = workspace.text(name, old or max(1, after.version - 1))
    lines = not stands.file.endswith(".md")
    about: dict[str, object] = {"name": name, "title": stands.title, "base": stands.base, "view": view}
    about |= {"old": before.version, "new": after.version}
    if view == "beside":
        about["rows"] = beside(before.text, after.text, lines=lines)
    else:
        about["changes"] = _shown(compare(before.text, after.text, lines=lines))
    return page(request, "edit_compare.html", **about)


@router.get(PARTS + "/review", response_model=None)
def review(request: Request, workspace: WorkspaceDep) -> Response:
    """The texts that the last run changed."""
    with workspace.texts().journal as journal:
        found, titles = last_rewritten(journal), Titles.in_(journal)
    return page(request, "edit_review.html", rewritten=found, titles=titles)


@router.post(PARTS + "/take", response_model=None)
def take(
    request: Request,
    workspace: WorkspaceDep,
    name: Name,
    old: Annotated[int, Form()],
    new: Annotated[int, Form()],
    base: Name,
    accepted: Annotated[list[int] | None, Form(alias="take")] = None,
) -> Response:
    """Save a text with the accepted changes between two versions."""
    before, after = workspace.text(name, old), workspace.text(name, new)
    changes = compare(before.text, after.text, lines=not after.file.endswith(".md"))
    count = max((one.number for one in changes), default=0)
    kept = {number for number in accepted or () if 1 <= number <= count}
    saved = workspace.edit(name, taken(changes, kept), base)
    said = f"“{workspace.titles()(name)}”: {len(kept)} of {count} changes accepted."
    return _done(request, said if saved.changed else f"{said} The text does not change.")


@router.get(PARTS + "/takes", response_model=None)
def takes(request: Request, workspace: WorkspaceDep, *, name: str, all_: bool = False) -> Response:
    """The different versions of a text, next to each other."""
    versions = _different(workspace, name)
    shown = versions if all_ else versions[:_TAKES]
    about = {"name": name, "titles": workspace.titles(), "takes": shown, "more": len(versions) - len(shown)}
    return page(request, "edit_takes.html", **about)


def _different(workspace: Project, name: str) -> list[tuple[ArtefactVersion, str]]:
    """The versions with different texts, newest first, with these texts."""
    texts: dict[str, ArtefactVersion] = {}
    for stage in reversed(stages(workspace.versions(name).versions)):
        texts.setdefault(workspace.text(name, stage.made.number).text, stage.made)
    return [(made, text) for text, made in texts.items()]


@router.post(PARTS + "/pick", response_model=None)
def pick(request: Request, workspace: WorkspaceDep, name: Name, version: Annotated[int, Form()]) -> Response:
    """Restore an earlier version."""
    saved = workspace.choose(name, version)
    said = (
        f"Version {version} of “{workspace.titles()(name)}” was restored."
        if saved.changed
        else "This is already the current version."
    )
    return _done(request, said)


# decisions ------------------------------------------------------------------------------------------------------------


@router.post(PARTS + "/decide", response_model=None)
def decide(
    request: Request,
    workspace: WorkspaceDep,
    what: Annotated[Literal["pin", "unpin", "approve", "revert", "undo", "redo"], Form()],
    name: Name = "",
) -> Response:
    """Pin, approve, revert, undo or redo."""
    return _done(request, _decided(workspace, what, name))


def _decided(workspace: Project, what: str, name: str) -> str:
    if what in ("undo", "redo"):
        decided = workspace.undo() if what == "undo" else workspace.redo()
        return f"{'Taken back' if what == 'undo' else 'Redone'}: {decided.wording}."
    if what == "approve":
        approved = workspace.approve(name).artefacts
        return f"Approved: {', '.join(approved)}." if approved else "The text was already approved."
    if what == "revert":
        return f"“{workspace.titles()(workspace.choose(name).file)}” was restored to the written text."
    done = workspace.pin(name) if what == "pin" else workspace.unpin(name)
    title = workspace.titles()(done.artefacts[0])
    return f"“{title}” is pinned: it will not be rewritten." if what == "pin" else f"“{title}” can change again."


@router.post(PARTS + "/mark", response_model=None)
def mark(
    request: Request,
    workspace: WorkspaceDep,
    name: Name,
    status: Annotated[str | None, Form(max_length=40)] = None,
    words: Annotated[str | None, Form(max_length=10)] = None,
) -> Response:
    """Note the status of a text, or its target."""
    workspace.mark(name, status, None if words is None and status is not None else _number(words or "") or 0)
    return _done(request, "Noted.")


@router.post(PARTS + "/note", response_model=None)
def note(
    request: Request, workspace: WorkspaceDep, name: Name, notes: Text = "", base: Annotated[str, Form()] = ""
) -> Response:
    """Save the author's notes on a text."""
    saved = workspace.note(name, notes, base)
    kept = workspace.text(saved.name) if notes.strip() else None
    return page(request, "edit_note.html", name=name, note=kept, said="Your notes are saved.")


@router.get(PARTS + "/replace", response_model=None)
def find(request: Request, *, name: str, old: str = "") -> Response:
    """The form that finds and replaces words."""
    given = Search(old, "")
    return page(request, "edit_replace.html", name=name, search=given, within="", everywhere=False, found=None, said="")


@router.post(PARTS + "/replace", response_model=None)
def replace_words(
    request: Request,
    workspace: WorkspaceDep,
    words: Annotated[Words, Form()],
) -> Response:
    """The places where words stand, or what was replaced."""
    search = Search(words.old, words.new, whole_word="whole_word" in words.how, case="case" in words.how)
    where = {"within": words.within, "everywhere": "everywhere" in words.how}
    how: dict[str, Any] = {"whole_word": search.whole_word, "case": search.case, **where}
    said = ""
    if words.base:
        taken, shown = set(words.take), range(1, words.shown + 1)
        skip = [number for number in shown if number not in taken]
        done = workspace.replace(search.old, search.new, **how, skip=skip, base=words.base)
        said = f"Replaced in {done.replaced:,} of {done.count:,} places. Undo takes all of it back."
    found = None if said else workspace.replace(search.old, search.new, **how, dry_run=True)
    response = page(request, "edit_replace.html", name=words.artefact, search=search, found=found, said=said, **where)
    if said:
        response.headers["hx-trigger"] = json.dumps({"fabula:look": True, "fabula:saved": True})
    return response


@router.get(PARTS + "/snapshots", response_model=None)
def snapshots(request: Request, workspace: WorkspaceDep, *, name: str) -> Response:
    """The snapshots of the book."""
    return page(request, "edit_snapshots.html", name=name, snapshots=workspace.snapshots().snapshots)


@router.post(PARTS + "/snapshots", response_model=None)
def snapshot(request: Request, workspace: WorkspaceDep, name: Name, called: Name) -> Response:
    """Name the present state of all texts."""
    return page(request, "edit_snapshots.html", name=name, snapshots=workspace.snapshot(called).snapshots)


@router.get(PARTS + "/snapshots/{number}", response_model=None)
def since_snapshot(request: Request, workspace: WorkspaceDep, number: int) -> Response:
    """The texts that differ from a snapshot."""
    found = workspace.since_snapshot(number)
    return page(request, "edit_since.html", found=found, named={one.name for one in workspace.rows(marks=False)})


@router.post(PARTS + "/snapshots/{number}", response_model=None)
def restore(request: Request, workspace: WorkspaceDep, number: int, text: Annotated[str, Form()] = "") -> Response:
    """Restore all texts of a snapshot, or one."""
    found = workspace.restore_snapshot(number, text)
    count = len(found.changes)
    done = f"{count} {'text is' if count == 1 else 'texts are'} as in “{found.snapshot.name}”."
    return _done(request, f"{done} Undo takes this back.")


@router.post(PARTS + "/retake", response_model=None)
def retake(
    request: Request, workspace: WorkspaceDep, name: Name, note: Text = "", anew: Annotated[str, Form()] = ""
) -> Response:
    """Have the next run rewrite a text or revise it according to a note."""
    wish = plain(note).strip() or None
    done = workspace.retake(name, wish, anew=bool(anew) and wish is not None)
    how = f"revise {done.artefact} according to your note" if done.revised else f"rewrite {done.artefact}"
    return _done(request, f"The next run will {how}. The old text remains in the history.")


@router.post(PARTS + "/continue", response_model=None)
def write_on(
    request: Request, workspace: WorkspaceDep, name: Name, words: Annotated[str, Form(max_length=10)] = ""
) -> Response:
    """Have a text continued."""
    number = _number(words)
    done = workspace.continue_text(name, words=number)
    more = f"about {number:,} words" if number else "a continuation"
    calls = f"{done.calls} call{'s' if done.calls != 1 else ''}"
    return _done(request, f"The next run will add {more} to {done.artefact}, in {calls}.")


def _number(words: str) -> int | None:
    """A number of words; `None` if the field is empty."""
    if words and not (words.isdecimal() and 1 <= int(words) <= LARGEST):
        raise UsageError(
            f"{words!r} is not a number of words. Enter a number from 1 to {LARGEST:,}, or leave the field empty."
        )
    return int(words) if words else None


@router.get(PARTS + "/final", response_model=None)
def final(request: Request, workspace: WorkspaceDep) -> Response:
    """The changes of the final reading of the story."""
    return page(request, "edit_final.html", edits=(workspace.final_edits()).edits)


@router.post(PARTS + "/final", response_model=None)
def refuse(
    request: Request,
    workspace: WorkspaceDep,
    edit: Name,
    what: Annotated[Literal["refuse", "accept"], Form()],
) -> Response:
    """Refuse a change of the final reading, or accept it after all."""
    refused, accepted = ([edit], []) if what == "refuse" else ([], [edit])
    workspace.refuse_edits(refused, accepted)
    said = "The change is refused" if what == "refuse" else "The change is accepted"
    return _done(request, f"{said}. The next run updates the story without calling a model.", final=True)


# two who edit ---------------------------------------------------------------------------------------------------------


@router.post(PARTS + "/merge", response_model=None)
def both(request: Request, workspace: WorkspaceDep, both: Both) -> Response:
    """A text that could not be saved, the current text, and a merged text with both changes."""
    stands = workspace.text(both.name)
    lines = not stands.file.endswith(".md")
    merged = merge(plain(both.base), plain(both.mine), stands.text, lines=lines)
    changes = _shown(compare(stands.text, merged.text, lines=lines))
    about = {"name": stands.name, "title": stands.title, "base": stands.base, "mine": both.mine}
    about |= {"theirs": stands.text, "merged": merged.text}
    return page(request, "edit_merge.html", changes=changes, conflicts=merged.conflicts, **about)


@router.post(PARTS + "/merged", response_model=None)
def settle(
    request: Request,
    workspace: WorkspaceDep,
    name: Name,
    base: Name,
    what: Annotated[Literal["both", "mine", "theirs"], Form()],
    mine: Text = "",
    merged: Text = "",
    accepted: Annotated[list[int] | None, Form(alias="take")] = None,
) -> Response:
    """Save the text that was chosen after a conflict."""
    stands = workspace.text(name)
    if what == "theirs":
        said = f"“{stands.title}” keeps the other version. Yours is not saved."
        return _done(request, said, settled=True)
    text = mine
    if what == "both":
        changes = compare(stands.text, plain(merged), lines=not stands.file.endswith(".md"))
        text = taken(changes, set(accepted or ()))
    workspace.edit(name, text, base)
    said = f"“{stands.title}” is saved with {'your text' if what == 'mine' else 'both changes'}."
    return _done(request, said, settled=True)


def _shown(stretches: Sequence[TextStretch]) -> list[dict[str, object]]:
    """Stretches with their words; spaces at the start of a change are separate, since its box comes after them."""
    found: list[dict[str, object]] = []
    for one in stretches:
        pieces = word_pieces(one.old, one.new) if one.number else []
        words = pieces[0].text.lstrip() if pieces else ""
        blanks = pieces[0].text.removesuffix(words) if pieces else ""
        pieces = [replace(pieces[0], text=words), *pieces[1:]] if words else pieces[1:]
        found.append({"number": one.number, "text": one.old, "blanks": blanks, "pieces": pieces})
    return found


def _done(request: Request, said: str, *, settled: bool = False, final: bool = False) -> Response:
    """A sentence about what was done; it also tells the page to reload its parts."""
    response = page(request, "edit_done.html", said=said, final=final)
    happened = {"fabula:settled" if settled else "fabula:look": True, "fabula:saved": True}
    response.headers["hx-trigger"] = json.dumps(happened)
    return response
