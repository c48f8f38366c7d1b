"""The limits of a role's model: its window, its replies, and the help that it gets if it is small.

A model of a hundred million parameters repeats its prompt, falls into loops, forgets what is far up in the prompt, and
answers an instruction with a greeting. The remedies would restrict a capable model. They therefore form one profile,
which is on for models known to be small and off for others, and every remedy checks `Room.aids`:

| aid | where |
|---|---|
| leading words of a reply (`{% block opening %}`) | `Run`, for models that can continue from them |
| simpler wording in prompts | separate files (`plan_scene_small.jinja`) |
| echoes of the prompt, loops and repeated sentences taken out of prose | `craft.prose` |
| replies of few tokens | `Room.reply_tokens` |
| little of the story in a prompt | `Room.prompt_tokens` |
| no words repeated from far up in the prompt (DRY over all of it) | `Room.repetition_window` |
| sentences copied from earlier parts taken out | `craft.telling`, `craft.prose` |
| short texts and lists in typed replies (`short(...)` in their types) | `replies.schema_of` |

`--aids on` and `--aids off` override what is known about the model. The preset `faithful` follows the paper, so it has
aids only with `--aids on`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.engine.roles import Assignment, Person

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.models.base import Model


USUAL_WINDOW: Final = 65_536
"""Tokens of a context window of unknown size: models that write long stories have at least this, and most have more.

With a smaller window, the plan of a story of 5,000 words does not fit into a prompt."""
DEFAULT_REPLY_TOKENS: Final = 4096  # target length of Agents' Room, section 5
_WHOLE_PROMPT: Final = 8000  # tokens; the embedded engine refuses -1
_PROMPT_SHARE: Final = 0.4


@dataclass(frozen=True, slots=True)
class Room:
    """The limits of a role's player for prompts and replies, and whether it gets the aids (`Run.room`)."""

    assignment: Assignment
    setting: Aids = "auto"

    @property
    def model(self) -> Model:
        """The player of the role: `identity` names it, and `capabilities` say how it can be called."""
        return self.assignment.performer

    @property
    def aids(self) -> bool:
        """Whether the role gets the help for small models; "auto" helps models known to be small."""
        return self.model.capabilities.small if self.setting == "auto" else self.setting == "on"

    @property
    def is_person(self) -> bool:
        """Whether a person plays the role; a person prefers writing a text to filling in a form with nested lists."""
        return isinstance(self.model, Person)

    @property
    def window(self) -> int | None:
        """The number of tokens that prompt and reply may have together, if the model reports it."""
        return self.model.capabilities.context

    @property
    def repetition_window(self) -> int | None:
        """The number of prompt tokens whose words a role with aids is kept from repeating in prose.

        `None` for all others, and for models without such a penalty (DRY).
        """
        return _WHOLE_PROMPT if self.assignment.base.dry_multiplier and self.aids else None

    @property
    def reply_budget(self) -> int:
        """The number of tokens allowed for a typed reply: the model's longest reply, or a quarter of its window."""
        longest = self.model.capabilities.reply or DEFAULT_REPLY_TOKENS
        return min(longest, (self.window or USUAL_WINDOW) // 4)

    def reply_tokens(self, short: int) -> int | None:
        """A reply's `max_tokens`: `short` with aids, otherwise `None`, which means the model's own limit."""
        return short if self.aids else None

    def prompt_tokens(self, short: int, share: float = _PROMPT_SHARE) -> int:
        """The number of prompt tokens for one kind of text: a share of the window, and with aids at most `short`."""
        most = int((self.window or USUAL_WINDOW) * share)
        return min(short, most) if self.aids else most
