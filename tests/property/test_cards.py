"""Cards survive their files, and what is not known in them survives changes."""

from __future__ import annotations

import json
import string
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.base.errors import UsageError
from fabula.models.budget import estimate_tokens
from fabula.story import one_line
from fabula.story.cards import CharacterCard, Lorebook, card_of, parse_card, persona_of, png, scan
from fabula.story.cards.png import Chunk
from fabula.story.cards.texts import cleaned, nesting
from fabula.story.personas import Persona

FEW = settings(max_examples=40, deadline=None)  # a busy machine is no failure
texts = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
unknown = st.dictionaries(st.text(string.ascii_lowercase, min_size=1, max_size=6).map("x_".__add__), values, max_size=4)
said = st.text(st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="{}<>"), max_size=40).map(cleaned)
lines = said.map(one_line)
names = lines.filter(bool)


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    data = {"name": draw(names), "description": draw(texts), **draw(unknown), "extensions": draw(unknown)}
    version = draw(st.sampled_from([1, 2, 3]))
    if version == 1:
        return data
    return {"spec": f"chara_card_v{version}", "spec_version": f"{version}.0", "data": data, **draw(unknown)}


@given(cards(), st.sampled_from([{}, {"indent": 4}, {"ensure_ascii": False}]))
@FEW
def test_an_unchanged_card_is_written_byte_for_byte(raw: dict[str, Any], style: dict[str, Any]) -> None:
    data = json.dumps(raw, **style).encode("utf-8")
    card = parse_card(data)
    assert card.as_json() == data
    held = parse_card(card.as_png())
    assert held.raw == raw
    assert held.as_json() == data
    assert held.as_png() == held.picture == parse_card(held.picture).as_png()


@given(cards(), texts)
@FEW
def test_a_changed_card_keeps_all_that_is_not_known(raw: dict[str, Any], text: str) -> None:
    changed = parse_card(json.dumps(raw).encode()).with_data(first_mes=text)
    expected = {**raw, "first_mes": text} if "data" not in raw else {**raw, "data": {**raw["data"], "first_mes": text}}
    assert parse_card(changed.as_json()).raw == parse_card(changed.as_png()).raw == expected


@given(
    st.builds(
        Persona,
        names,
        description=said,
        role=lines,
        personality=st.lists(names, max_size=3).map(tuple),
        goals=st.lists(names, max_size=3).map(tuple),
        aliases=st.lists(names, max_size=3, unique=True).map(tuple),
        relationships=st.dictionaries(names, said, max_size=2).map(lambda d: tuple(d.items())),
        state=st.dictionaries(st.sampled_from(["a", "b_c"]), st.integers() | st.booleans()).map(
            lambda d: tuple(d.items())
        ),
    )
)
@FEW
def test_a_persona_comes_back_from_its_card(persona: Persona) -> None:
    card = parse_card(card_of(persona).as_json())
    assert persona_of(card) == persona
    assert card_of(persona, card) is card


@given(st.binary(max_size=200) | st.binary(max_size=200).map(png.SIGNATURE.__add__))
@FEW
def test_any_bytes_are_a_card_or_a_usage_error(data: bytes) -> None:
    with suppress(UsageError):
        assert parse_card(data).name


@given(st.binary(max_size=60), st.sampled_from([b"tEXt", b"zTXt", b"iTXt"]), st.sampled_from([b"chara", b"ccv3"]))
@FEW
def test_any_text_chunk_is_a_card_or_a_usage_error(data: bytes, kind: bytes, word: bytes) -> None:
    found, _ = png.chunks(png.plain_picture(1, 1), "x")
    with suppress(UsageError):
        assert parse_card(png.packed([found[0], Chunk(kind, word + b"\0" + data), *found[1:]])).name


@given(values)
@FEW
def test_nesting_is_that_of_the_value(value: object) -> None:
    def depth(one: object) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    assert nesting(json.dumps(value)) == depth(value)


entries = st.fixed_dictionaries(
    {"keys": st.lists(st.sampled_from(["lamp", "oil", "cape"]), max_size=2) | values, "content": texts | values},
    optional=dict.fromkeys(("constant", "enabled", "insertion_order", "priority", "selective", "extensions"), values),
)


@given(
    st.lists(entries, max_size=6), st.lists(st.sampled_from(["the lamp", "oil", ""]), max_size=3), st.integers(0, 60)
)
@FEW
def test_what_a_book_tells_fits_and_is_in_order(result: list[dict[str, Any]], messages: list[str], budget: int) -> None:
    book = Lorebook.of({"entries": result})
    found = scan(book, messages, budget=budget)
    assert sum(estimate_tokens(one.content) for one in found.shown) <= budget
    assert [one.order for one in found.before] == sorted(one.order for one in found.before)
    assert scan(book, messages, budget=budget) == found
    whole = scan(book, messages, budget=10**9)
    assert set(map(id, found.shown)) <= set(map(id, whole.shown))


def test_cards_that_say_the_same_are_equal() -> None:
    assert CharacterCard({"name": "a"}) != CharacterCard({"name": "b"})
