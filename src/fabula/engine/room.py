"""What the model of a role can take: its window, its replies, and the help that it gets if it is small.

A model of a hundred million parameters repeats its prompt, runs in circles, loses what stands far above, and answers
an instruction with a greeting. What helps it binds a capable one. So the aids are one profile, on by itself for models
known to be small and off for others, and everything of that kind asks `Room.aids`:

| aid | where |
|---|---|
| leading words of a reply (`{% block opening %}`) | `Run`, for models that can go on from them |
| simpler wording in prompts | files of their own (`plan_scene_small.jinja`) |
| echoes of the prompt, loops and repeated sentences taken out of prose | `craft.prose` |
| replies of few tokens | `Room.reply_tokens` |
| little of the story in a prompt | `Room.prompt_tokens` |
| no words repeated from far up in the prompt (DRY over all of it) | `Room.repetition_window` |
| sentences copied from earlier parts taken out | `craft.telling`, `craft.prose` |
| short texts and lists in typed replies (`short(...)` in their types) | `replies.schema_of` |

`--aids on` and `--aids off` overrule what is known of the model. The preset `faithful` is what the paper says, so it
has aids only with `--aids on`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.engine.roles import Person

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.engine.roles import Assignment
    from fabula.models.base import Model

USUAL_WINDOW: Final = 65_536
"""Tokens of a context window where the model does not say: models that write long stories have as much, and most more.

With less, the plan of a story of 5,000 words had no room in a prompt."""
DEFAULT_REPLY_TOKENS: Final = 4096  # target length of Agents' Room, section 5
_WHOLE_PROMPT: Final = 8000  # tokens; the embedded engine refuses -1
_PROMPT_SHARE: Final = 0.4


@dataclass(frozen=True, slots=True)
class Room:
    """What whoever plays a role can take in and give, and whether a small model is helped with it (`Run.room`)."""

    assignment: Assignment
    setting: Aids = "auto"

    @property
    def model(self) -> Model:
        """Who plays the role: `identity` names it, `capabilities` say how it can be asked."""
        return self.assignment.performer

    @property
    def aids(self) -> bool:
        """Whether the role gets the help for small models; "auto" helps those known to be small."""
        return self.model.capabilities.small if self.setting == "auto" else self.setting == "on"

    @property
    def is_person(self) -> bool:
        """Whether a person plays the role, who would rather write a text than fill in a form with lists in lists."""
        return isinstance(self.model, Person)

    @property
    def window(self) -> int | None:
        """How many tokens prompt and reply may have together, where the model says so."""
        return self.model.capabilities.context

    @property
    def repetition_window(self) -> int | None:
        """Over how many tokens of its prompt a role with aids is kept from repeating itself in prose.

        `None` for all others, and for models without such a penalty (DRY).
        """
        return _WHOLE_PROMPT if self.assignment.base.dry_multiplier and self.aids else None

    @property
    def reply_budget(self) -> int:
        """How many tokens a typed reply may well have: the model's longest reply, or a quarter of its window."""
        longest = self.model.capabilities.reply or DEFAULT_REPLY_TOKENS
        return min(longest, (self.window or USUAL_WINDOW) // 4)

    def reply_tokens(self, short: int) -> int | None:
        """A reply's `max_tokens`: `short` with aids, else `None`, the model's own limit."""
        return short if self.aids else None

    def prompt_tokens(self, short: int, share: float = _PROMPT_SHARE) -> int:
        """How many tokens of a prompt may go to one kind of text: a share of the window, with aids `short` at most."""
        most = int((self.window or USUAL_WINDOW) * share)
        return min(short, most) if self.aids else most
