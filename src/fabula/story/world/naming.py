"""Who is meant by a name, and what everybody is called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.story.world.facts import MAX_NAME, Entity, folded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.story.world.index import Index
    from fabula.story.world.store import Same


def check_alias(one: Same, known: Mapping[str, Same]) -> None:
    """Say so where a name cannot mean an entity of another name; `known` are those that do.

    Raises:
        UsageError: a name is missing or too long, it means another entity already, or the two would mean each other.
    """
    if not (one.name and one.entity) or max(len(one.name), len(one.entity)) > MAX_NAME:
        raise UsageError(f"{one.name[:40]!r} for {one.entity[:40]!r}: give two names of at most {MAX_NAME} characters.")
    held, seen = known.get(folded(one.name)), folded(one.entity)
    if held is not None and folded(held.entity) != seen:
        raise UsageError(f"{one.name!r} means {held.entity!r} already. Take that back first, or give another name.")
    while seen in known:
        seen = folded(known[seen].entity)
    if seen == folded(one.name):
        raise UsageError(f"{one.name!r} and {one.entity!r} would mean each other. Name two that are apart.")


def all_entities(index: Index, described: Mapping[str, Entity]) -> tuple[Entity, ...]:
    """All that facts are about or that were described, with their other names, by name."""
    found = {owner: Entity(index.called(owner)) for owner in index.owners()}
    for entity in described.values():
        owner = index.owner(entity.name)
        if owner == folded(entity.name) or owner not in found:
            found[owner] = entity
    aliases: dict[str, list[str]] = {}
    for one in index.same.values():
        aliases.setdefault(index.owner(one.name), []).append(one.name)
    named = (replace(entity, aliases=tuple(sorted(aliases.get(owner, ())))) for owner, entity in found.items())
    return tuple(sorted(named, key=lambda entity: folded(entity.name)))
