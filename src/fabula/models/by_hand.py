"""The model of a project whose texts were written by hand: recorded replies are replayed, and no model is called."""

from __future__ import annotations

from typing import Final

from fabula.base.errors import ModelUnavailableError
from fabula.models.base import Capabilities, OnText, Reply, Request

HAND: Final = "hand"


class ByHand:
    """A model with only recorded replies, like a model that is gone; a person (`--play ROLE=me`) may replace it."""

    name = HAND
    identity = HAND
    capabilities = Capabilities(schema=True, choices=True, sampling=frozenset())

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Fail, because there is no model.

        Raises:
            ModelUnavailableError: always; the message says who could write instead.
        """
        del on_text
        role = request.role
        raise ModelUnavailableError(
            f"A person wrote the texts here, so the role {role!r} has no model. Add --model NAME, such as --model "
            "smollm2, to the same command (`fabula models` lists the models). With `fabula write` and `fabula "
            f"update`, use --model {role}=NAME, or --play {role}=me to write the text yourself. To keep the model, "
            f'write the line [roles.{role}] and, under it, model = "NAME" in fabula.toml.',
            model=self.name,
        )

    async def close(self) -> None:
        """Do nothing, because nothing is open."""
