"""The cards of a plan, read from texts that were written without one; ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from fabula.craft.packing import around, in_pieces
from fabula.models.base import Sampling
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.accounts import Earlier
    from fabula.engine.run import Run

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
