"""The personas that an author gives a story (`plan/personas.yaml`), for every system that writes with them.

MAGNET is compared with two others that were given the same personas, objective and length (its section 4.2), so a
system takes them whatever it makes of them: `given_personas` are the author's own, `characters_of` the same people as
characters of a plan, and `labelled` all that they say, as texts for a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from fabula.engine.roles import role_key
from fabula.story.personas import Persona, Personas, parse_personas
from fabula.story.plan import Character
from fabula.story.sentences import as_sentence

if TYPE_CHECKING:
    from fabula.engine.run import Run


NAME: Final = "personas"
FOLDER: Final = "plan"
SUFFIX: Final = "yaml"


async def given_personas(run: Run) -> Personas | None:
    """The personas that the author wrote or changed; `None` if there are none. `run` is at the top of the story.

    Raises:
        PlanError: they have problems; all are named.
    """
    text = await run.given(NAME, folder=FOLDER, suffix=SUFFIX)
    return None if text is None else parse_personas(text)


def characters_of(start: Personas) -> tuple[Character, ...]:
    """The people as characters of a plan; what has no field of its own there is part of their set-up."""
    return tuple(map(_character, start.people))


def setting_of(start: Personas) -> str:
    """Where and when the story takes place, where it begins, and the state of its world then; empty if nothing says."""
    opening = f"The story begins here: {start.opening}" if start.opening else ""
    world = f"When it begins, this is so: {world_of(start)}" if start.world else ""
    return _sentences((start.setting, opening, world))


def world_of(start: Personas) -> str:
    """The state of the world before the story, on one line: "lamp_lit: true; boats_out: 3"."""
    return "; ".join(f"{key}: {str(value).lower() if isinstance(value, bool) else value}" for key, value in start.world)


def labelled(start: Personas) -> tuple[tuple[str, str], ...]:
    """All that is given, as labelled texts for one who knows all; what is not given has none."""
    parts = (
        ("Objective", start.goal),
        ("Character Descriptions", "\n\n".join(_full(persona) for persona in start.people)),
        ("Setting", setting_of(start)),
    )
    return tuple((label, text) for label, text in parts if text)


def _full(persona: Persona) -> str:
    state = "; ".join(f"{key}: {value}" for key, value in persona.state)
    looks = [("Appearance", persona.appearance), ("State", state)]
    return "\n".join((persona.full, *(f"{label}: {value}" for label, value in looks if value)))


def _character(persona: Persona) -> Character:
    ties = "; ".join(f"{name}: {tie}" for name, tie in persona.relationships)
    others = (
        ("Also called", ", ".join(persona.aliases)),
        ("Abilities", ", ".join(persona.abilities)),
        ("Fears", ", ".join(persona.fears)),
        ("At first", persona.location),
        ("State", "; ".join(f"{key}: {value}" for key, value in persona.state)),
    )
    return Character(
        persona.name,
        role=persona.role,
        setup=_sentences((persona.description, *(f"{label}: {text}" for label, text in others if text))),
        goal="; ".join(persona.goals),
        personality=_sentences((", ".join(persona.personality), persona.appearance)),
        secret=persona.secret,
        knows=_sentences((ties, persona.knows, persona.believes)),
        truth=f"It is not so, as believed, that: {persona.believes}" if persona.believes else "",
    )


def _sentences(parts: Iterable[str]) -> str:
    return " ".join(as_sentence(part) for part in parts if part)


def check_cast(run: Run, kind: str, names: Sequence[str]) -> None:
    """Check that roles cast for the story's own people (a system's open role) are among `names`.

    Raises:
        UnknownNameError: a role was cast for somebody who is not in this story.
    """
    cast = run.context.cast
    run.context.unless_made_up(
        partial(cast.check_cast, kind, names), None
    )  # where the plan is, nobody knows its people
    for name in names:
        if role_key(name) in cast.known:
            run.note(
                f"The {kind} {name!r} has the same name as the role {role_key(name)!r}, so whoever plays that role "
                f"plays "
                f"both. Give the {kind} another name to cast them apart.",
                "shortfall",
            )
