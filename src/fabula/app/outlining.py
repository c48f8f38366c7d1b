"""Filling the cards of a book's list of chapters by having its texts read; the author accepts each card."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from fabula.app.arranging import ListedTexts, assemble
from fabula.app.deciding import edit_all
from fabula.app.plan_cards import BLOCK, CHAPTERS, PlanCard
from fabula.app.writing import Options, PreparedMethod, answer_in_language_of
from fabula.base.errors import UsageError
from fabula.craft.accounts import Earlier
from fabula.craft.packing import around, in_pieces
from fabula.engine.run import Run
from fabula.models.base import Sampling
from fabula.story import one_line, plain

if TYPE_CHECKING:
    from fabula.engine.context import RunContext
    from fabula.engine.dry_run import DryRun
    from fabula.engine.journal import Journal
    from fabula.project.folder import ProjectFolder
    from fabula.project.settings import Settings


@dataclass(frozen=True, slots=True)
class CardFound:
    """A card that was read from a text.

    Attributes:
        name: the name of the text.
        text: the card.
        accepted: whether it was put into the plan.
        refused: whether the author has refused exactly this card, so that it is not proposed again.
    """

    name: str
    text: str
    accepted: bool = False
    refused: bool = False


async def cards_in(
    project: ProjectFolder, settings: Settings, options: Options, only: Sequence[str]
) -> list[CardFound]:
    """The cards of the texts in `only`, or of all whose card is empty; nothing is saved.

    Raises:
        FabulaError: an error of any kind; finished calls are kept and used when the same is asked again.
    """
    with project.recorded() as journal:
        async with PreparedMethod(settings, options).opened(journal) as context:
            with context.recording_failures():
                return await _read(project, journal, context, settings, only)


async def dry_run_cards_in(project: ProjectFolder, settings: Settings, options: Options, only: Sequence[str]) -> DryRun:
    """The calls and cost of `cards_in` now. Calls no model and writes nothing."""
    with project.journal as journal:
        async with PreparedMethod(settings, options).opened(journal, dry=True) as context:
            await _read(project, journal, context, settings, only)
        return context.dry_run


async def _read(
    project: ProjectFolder, journal: Journal, context: RunContext, settings: Settings, only: Sequence[str]
) -> list[CardFound]:
    listed, parts = _listed(journal), list[Earlier]()
    wanted = {project.artefact(journal, name) for name in only}
    for path in wanted:
        listed.place(path)
    for card, name in zip(listed.cards.cards, listed.names, strict=True):
        text, said = journal.artefacts.newest(name), card.text.partition("\n")[2].strip()
        if text is not None:
            parts.append(
                Earlier(name, card.title, text, "" if name in wanted or (not wanted and not said) else said or "-")
            )
    answer_in_language_of(parts[0].text if parts else "", context, settings)
    role = context.writer_of(parts[0].name) if parts else ""
    found = await read_cards(Run(context).scope("cards"), role, project.brief.title, parts)
    cards = [(part.name, found[part.name]) for part in parts if part.name in found]
    return [CardFound(name, text, refused=journal.decisions.refused(name, text)) for name, text in cards]


async def accept(project: ProjectFolder, cards: Mapping[str, str], options: Options) -> Collection[str]:
    """Put cards into the plan, by the names of their texts; one undo takes it back. Returns the names.

    Raises:
        UsageError: a card is empty, or has a heading, which would begin another card.
    """
    for name, text in cards.items():
        if not text.strip() or BLOCK.search(text):
            wrong = "has a line that begins with #, which would begin another card" if text.strip() else "is empty"
            raise UsageError(f"The card of {name!r} {wrong}. Change it, and accept it again.")
    with project.recorded() as journal:
        listed = _listed(journal)
        blocks = [
            f"{card.text.partition(chr(10))[0]}\n{plain(cards[name])}" if name in cards else card.text
            for card, name in zip(listed.cards.cards, listed.names, strict=True)
        ]
        await edit_all(project, journal, {CHAPTERS: listed.cards.with_blocks(blocks)}, options)
        assemble(project, journal)
    return [*cards]


def is_empty(card: PlanCard) -> bool:
    """Whether a card of a list of chapters says nothing of a text that is written."""
    return bool(card.name) and not card.text.partition("\n")[2].strip()


def _listed(journal: Journal) -> ListedTexts:
    listed = ListedTexts.of(journal)
    if listed is None:
        raise UsageError(
            "This story has no list of chapters, whose cards could be filled. `fabula plan --from-story` makes a plan "
            "from a story."
        )
    return listed


# reading a card, which is ours: the cards of a plan, from texts that were written without one ------------------------

_BEFORE, _READ = 0.25, 0.4  # shares of the window: for the cards before, and for the text
_SHORT: Final = 800  # tokens of each, for small models


class CardReply(BaseModel):
    """What the card of a chapter says."""

    model_config = ConfigDict(extra="ignore")

    synopsis: Annotated[
        str,
        Field(
            min_length=1,
            description="What happens, in the order of the telling: two to five sentences in the present tense.",
        ),
    ]
    viewpoint: Annotated[
        str, Field(description="The person whose point of view it has, by name; empty if it is nobody's.")
    ] = ""
    present: Annotated[list[str], Field(description="Those who are there, by the names that the story uses.")] = []
    when: Annotated[str, Field(description="When it happens, in the words of the story; empty if it is not said.")] = ""
    where: Annotated[str, Field(description="Where it happens; empty if it is not said.")] = ""
    planted: Annotated[
        list[str],
        Field(
            description="What it opens that the story has to come back to: a question, a promise, a secret, a thing "
            "that is shown for later. One short sentence each."
        ),
    ] = []
    due: Annotated[
        list[str], Field(description="What was opened before and is answered, kept or used in it. One sentence each.")
    ] = []

    @property
    def text(self) -> str:
        """The card as it stands in the plan, below its heading."""
        details = {
            "Point of view": self.viewpoint,
            "Present": ", ".join(map(one_line, self.present)),
            "When": self.when,
            "Where": self.where,
            "Planted": " ".join(map(one_line, self.planted)),
            "Due": " ".join(map(one_line, self.due)),
        }
        lines = (f"{label}: {one_line(said)}" for label, said in details.items() if said.strip())
        return "\n".join([one_line(self.synopsis).lstrip("# "), *lines])


async def read_cards(run: Run, role: str, book: str, parts: Sequence[Earlier]) -> dict[str, str]:
    """The cards of the texts for which nothing is planned, by name, each read with the cards before it. One call each.

    A text that is longer than a prompt takes a call for each piece.

    Raises:
        ReplyError: the role gave no card.
    """
    told: list[str] = []
    short: list[str] = []
    found: dict[str, str] = {}
    room = run.room(role)
    if room.aids:
        run.note("A small model reads cards poorly. Check each card before you accept it.", "notice")
    for part in parts:
        if not (card := part.planned):
            before = around(told, short, len(told) - 1, room.prompt_tokens(_SHORT, _BEFORE)) if told else ()
            pieces = in_pieces(part.text, room.prompt_tokens(_SHORT, _READ))
            for n, piece in enumerate(pieces, 1):
                place = run.scope(part.name, *(("piece", n) if len(pieces) > 1 else ()))
                fields = {"book": book, "before": before, "title": part.title, "noted": card, "text": piece}
                card = (await place.ask_for(CardReply, role, "read_card", sampling=Sampling(), **fields)).text
            found[part.name] = card
        told.append(f"{part.title}: {one_line(card)}")
        opened = [line for line in card.split("\n") if line.startswith("Planted:")]
        short.append(f"{part.title}: {one_line(' '.join(opened)) or '-'}")
    return found
