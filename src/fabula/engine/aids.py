"""Help for small models: one profile, on by itself for models known to be small, off for others.

A model of a hundred million parameters repeats its prompt, runs in circles, loses what stands far above, and answers
an instruction with a greeting. What helps it binds a capable one. So everything of that kind asks `Run.aids(role)`:

| aid | where |
|---|---|
| leading words of a reply (`{% block opening %}`) | `Run`, for models that can go on from them |
| reminders and simpler wording in prompts (`{% if aids %}`) | prompt files |
| echoes of the prompt, loops and repeated sentences taken out of prose | `craft.prose` |
| replies of few tokens | `Run.reply_tokens` |
| little of the story in a prompt | `Run.prompt_tokens` |
| no words repeated from far up in the prompt (DRY over all of it) | `Run.looks_back` |
| sentences copied from earlier parts taken out | `craft.telling`, `craft.prose` |
| short texts and lists in typed replies (`short(...)` in their types) | `replies.schema_of` |

`--aids on` and `--aids off` overrule what is known of the model. The preset `faithful` is what the paper says, so it
has aids only with `--aids on`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.models.base import Model

USUAL_WINDOW: Final = 65_536
"""Tokens of a context window where the model does not say: models that write long stories have as much, and most more.

With less, the plan of a story of 5,000 words had no room in a prompt (`Run.assumes_window` says what is assumed)."""
WHOLE_PROMPT: Final = 8000
"""Tokens over which a small model is kept from repeating itself in prose; the embedded engine refuses -1."""
PROMPT_SHARE: Final = 0.4
"""Share of its window that a prompt gives to one kind of text, unless a system says otherwise."""


def gets_aids(performer: Model, setting: Aids) -> bool:
    """Whether a model is helped, as the setting has it; "auto" helps those known to be small."""
    return performer.capabilities.small if setting == "auto" else setting == "on"
