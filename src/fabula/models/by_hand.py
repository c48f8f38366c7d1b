"""Nobody's model, of a project whose texts were written by hand: what is recorded is replayed, nothing is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import ModelUnavailableError
from fabula.models.base import Capabilities

if TYPE_CHECKING:
    from fabula.models.base import OnText, Reply, Request

HAND: Final = "hand"


class ByHand:
    """Known by what it has said, as a model that is gone; a person (`--play ROLE=me`) may stand in for it."""

    name = HAND
    identity = HAND
    capabilities = Capabilities(schema=True, choices=True, sampling=frozenset())

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Nothing.

        Raises:
            ModelUnavailableError: always; says who could write instead.
        """
        del on_text
        role = request.role
        raise ModelUnavailableError(
            f"The texts here were written by hand, and nobody is there to write for {role!r}: name a model that does "
            f"(`--model {role}=NAME`; `fabula models` lists them), or write it yourself (`--play {role}=me`).",
            model=self.name,
        )

    async def close(self) -> None:
        """Nothing is held."""
