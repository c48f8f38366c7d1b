"""`rewrite`, `suggest`: one passage rewritten, or suggestions for one place of a text, which do not change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import shorten
from typing import Annotated, Final

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.rewriting import Passage, Rewritten, characters_of, place_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.writing import at_cursor_in, dry_run_at_cursor_in, rewritten, suggested
from fabula.base.errors import OtherLengthError, UsageError
from fabula.craft.length import WordRange, parse_range
from fabula.craft.suggesting import MOST, Amount, SuggestionKind, Wanted, joins
from fabula.project.folder import MAX_FILE
from fabula.story import count_words, plain
from fabula.verbs.base import LONG, PAGE_ONLY, ArtefactName, ModelName, MostDollars, MostTokens, verb

_MOST_SHOWN: Final = 1_000  # characters of a new passage in an error


@verb("POST", "/rewrite", "runs", long=True)
async def rewrite(
    project: Workspace,
    artefact: ArtefactName,
    passage: Annotated[
        str,
        Field(
            pattern=r"^[1-9]\d{0,6}-[1-9]\d{0,6}$",
            description="The first and last character of the passage, counted from 1.",
            examples=["120-480"],
        ),
    ],
    note: Annotated[str, Field(max_length=LONG, description="What you want changed.", examples=["Colder."])] = "",
    *,
    anew: Annotated[bool, Field(description="Accept the new passage regardless of its length.")] = False,
    propose: Annotated[bool, Field(description="Return the new passage without changing the text.")] = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Rewritten:
    """Have the role that wrote a text rewrite one passage; every other byte stays unchanged.

    Raises:
        OtherLengthError: the new passage is much longer or shorter than the old one; `anew` accepts it anyway.
        FabulaError: any error; a finished call is kept.
    """
    at_work = await asking(project, caps=(budget_tokens, budget_usd))
    settings, options, wish = at_work.settings, at_work.options, plain(note).strip()
    check(settings, project.environ)
    looking = at_work.only_foreseen
    found = Passage.of(at_work.project, artefact, lambda text, _: characters_of(text, passage), looking=looking)
    asked = (at_work.project, settings, options, found, rewritten(wish))
    await at_work.begin(lambda: dry_run_at_cursor_in(*asked))
    new = await at_cursor_in(*asked)
    at_work.bill.remember(settings)
    lengths = found.lengths(new)
    if propose:
        return found.offered(new)
    if not (anew or lengths.alike):
        shown = shorten(found.in_(new), _MOST_SHOWN)
        raise OtherLengthError(f"{lengths} The new passage was not accepted. It is: {shown}")
    return found.take(at_work.project, new)


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggestions for one place of an artefact; the text is unchanged.

    Attributes:
        artefact: the name of the artefact.
        file: its file.
        kind: what is suggested.
        start: how many characters come before the place.
        end: the end of the selection; the same as `start` if nothing is selected.
        texts: the suggestions, in the order in which they were made.
        taken: the number of the one that is now in the text; 0 for none.
        joins: for each, what separates it from the text before, from more of the same, and from the text after.
        off_length: which ones are far from the length that you asked for in words; empty if none is.
    """

    artefact: str
    file: str
    kind: SuggestionKind
    start: int
    end: int
    texts: list[str]
    taken: int = 0
    joins: list[tuple[str, str, str]] = field(default_factory=list)
    off_length: str = ""


@verb("POST", "/suggestions", "runs", command="text suggest", long=True, here=True)
async def suggest(
    project: Workspace,
    artefact: ArtefactName,
    kind: Annotated[
        SuggestionKind, Field(description="Other wordings, what follows, a description or ideas.")
    ] = "reword",
    *,
    passage: Annotated[
        str,
        Field(
            max_length=LONG,
            description="First and last character (120-480), or words.",
            examples=["The lamp ... went out."],
        ),
    ] = "",
    at: Annotated[
        int | None, Field(ge=0, le=9_999_999, description="Characters before the cursor; default: all.")
    ] = None,
    note: Annotated[
        str,
        Field(
            max_length=LONG,
            description="What you want, or one of: shorter, slower, show, voice, less.",
            examples=["shorter"],
        ),
    ] = "",
    count: Annotated[int, Field(ge=1, le=MOST, description="How many suggestions.")] = 3,
    amount: Annotated[
        Amount | None, Field(description="For `continue`: how much to write; default: a sentence.")
    ] = None,
    words: Annotated[str, Field(max_length=40, description="The length instead: 120 or 100-140.")] = "",
    skip: Annotated[int, Field(ge=0, le=1_000, description="How many were seen.")] = 0,
    take: Annotated[int, Field(ge=0, le=MOST, description="Put this one into the text; 0: none.")] = 0,
    unsaved: Annotated[
        str | None, Field(max_length=MAX_FILE, description="The text that you are typing, if not saved yet."), PAGE_ONLY
    ] = None,
    model: ModelName = "",
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Suggestions:
    """Suggest other wordings, or what could follow; only `take` changes the text.

    Raises:
        UsageError: the place is not in the text, `reword` has no passage, there is nothing of that number to take, or
            `words` is no length, is for `reword` or `ideas`, or stands beside `amount`.
        FabulaError: of any kind; a finished call is kept.
    """
    if take and unsaved is not None:
        raise UsageError("Save the text before a suggestion is put into it.")
    if take and kind == "ideas":
        raise UsageError("An idea is no text of the story, so none can be taken. Give it as the note of another one.")
    length, amount = _length(kind, words, amount) if words else None, amount or "sentence"
    at_work = await asking(project, model=model, caps=(budget_tokens, budget_usd))
    settings, options = at_work.settings, at_work.options
    check(settings, project.environ)
    looking = at_work.only_foreseen
    found = Passage.of(
        at_work.project, artefact, lambda text, _: place_of(text, passage, at), looking=looking, unsaved=unsaved
    )
    if kind == "reword" and not found.words:
        raise UsageError('Select the passage to reword: --passage "The lamp ... went out."')
    wanted = Wanted(kind, plain(note).strip(), count, amount, skip, length)
    asked = (at_work.project, settings, options, found, suggested(wanted))
    await at_work.begin(lambda: dry_run_at_cursor_in(*asked))
    texts = await at_cursor_in(*asked)
    at_work.bill.remember(settings)
    if take > len(texts):
        raise UsageError(f"There is no suggestion {take}: {len(texts)} came. Ask for more of them with `count`.")
    (start, end), how = found.span, "paragraph" if kind == "describe" or length else amount
    before, after = found.text[: start if kind == "reword" else end], found.text[end:]
    around = ("", "") if kind == "reword" else (before, after)
    apart = [joins(text, *around, how) for text in texts]
    if take:
        first, _, last = apart[take - 1]
        found.take(at_work.project, f"{before}{first}{texts[take - 1]}{last}{after}")
    off = _far(texts, length) if length else ""
    return Suggestions(found.path, found.file, kind, start, end, texts, take, apart, off)


def _length(kind: SuggestionKind, words: str, amount: Amount | None) -> WordRange:
    if kind not in ("continue", "describe"):
        raise UsageError(f"--words is the length of a continuation or description. For {kind}, say it in --note.")
    if amount:
        raise UsageError("--amount and --words both say how much to write. Leave one of them out.")
    return parse_range(words)


def _far(texts: list[str], length: WordRange) -> str:
    """Which suggestions are far from a length: a quarter and more beyond its borders."""
    words = {number: count_words(text) for number, text in enumerate(texts, 1)}
    far = [f"suggestion {number} has {count:,}" for number, count in words.items() if not length.loose.holds(count)]
    return f"You asked for {length}; {', '.join(far)}." if far else ""
