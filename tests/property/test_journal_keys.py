"""A call's key changes with all that can change its reply, and with nothing else; recorded calls come back whole."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fabula.base.characters import readable
from fabula.engine.journal import Journal, call_key
from fabula.models.base import Message, Reply, Request, Sampling, Usage

ordinals = st.integers(0, 3)
words = st.text(max_size=12)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=40))
numbers = st.floats(0, 5, allow_nan=False) | st.none()
counts = st.integers(0, 9999) | st.none()
_COUNTS = frozenset({"top_k", "repeat_last_n", "dry_allowed_length", "dry_penalty_last_n", "max_tokens", "seed"})
_SAMPLING: dict[str, st.SearchStrategy[Any]] = {
    field.name: counts if field.name in _COUNTS else numbers for field in fields(Sampling) if field.name != "stop"
}
samplings = st.builds(Sampling, **_SAMPLING, stop=st.lists(words, max_size=2).map(tuple))
schemas = st.none() | st.dictionaries(words, st.integers() | words, max_size=2)
# What makes a call, and what it is asked for as: the parts of a key.
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "messages": st.lists(messages, min_size=1, max_size=3).map(tuple),
    "sampling": samplings,
    "schema": schemas,
    "choices": st.lists(words, max_size=2).map(tuple),
    "adapter": st.none() | words,
    "logprobs": st.integers(0, 5),
    "path": words,
}
requests = st.builds(Request, **PARTS, role=words)
usages = st.builds(
    Usage,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(0, 1000),
    st.none() | st.floats(0, 1000),
    st.none() | st.floats(0, 10),
)
replies = st.builds(
    Reply,
    st.text(max_size=60),
    usages,
    st.sampled_from(["stop", "length", "refusal"]),
    words,
    st.dictionaries(words, st.integers() | words, max_size=3),
    st.lists(words, max_size=2).map(tuple),
    st.none() | st.dictionaries(words, st.floats(-50, 0), max_size=2),
)


@given(requests, words, ordinals, ordinals)
def test_the_same_call_has_the_same_key_whoever_plays_it(
    request: Request, identity: str, ordinal: int, take: int
) -> None:
    key = call_key(request, identity, ordinal, take)
    assert call_key(replace(request), identity, ordinal, take) == key
    assert call_key(replace(request, role=f"{request.role}?"), identity, ordinal, take) == key


@given(requests, words, ordinals, ordinals, st.data())
def test_any_part_that_can_change_the_reply_changes_the_key(
    request: Request, identity: str, ordinal: int, take: int, data: st.DataObject
) -> None:
    key = call_key(request, identity, ordinal, take)
    part = data.draw(st.sampled_from(sorted(PARTS)))
    other = replace(request, **{part: data.draw(PARTS[part])})
    changed = other.body() != request.body() or other.path != request.path
    assert (call_key(other, identity, ordinal, take) != key) == changed
    assert call_key(request, identity + "x", ordinal, take) != key
    assert call_key(request, identity, ordinal + 1, take) != key
    assert call_key(request, identity, ordinal, take + 1) != key


@given(requests, requests, words, ordinals)
def test_two_calls_share_a_key_only_if_they_are_the_same(
    one: Request, other: Request, identity: str, ordinal: int
) -> None:
    assume(replace(one, role="") != replace(other, role=""))
    assume(one.body() != other.body() or one.path != other.path)
    assert call_key(one, identity, ordinal) != call_key(other, identity, ordinal)


@given(requests, words, ordinals, ordinals)
def test_an_ordinal_is_no_take_and_a_path_no_identity(request: Request, identity: str, ordinal: int, take: int) -> None:
    if ordinal != take:
        assert call_key(request, identity, ordinal, take) != call_key(request, identity, take, ordinal)
    if request.path != identity:
        swapped = replace(request, path=identity)
        assert call_key(request, identity, ordinal) != call_key(swapped, request.path, ordinal)


@given(st.lists(st.tuples(requests, replies), max_size=4))
def test_recorded_calls_come_back_whole_and_in_order(calls: list[tuple[Request, Reply]]) -> None:
    kept = {call_key(request, "m", 0): (request, reply) for request, reply in reversed(calls)}
    with Journal() as journal:
        for request, reply in calls:
            journal.calls.record(call_key(request, "m", 0), request, 0, reply)
        for key, (_, reply) in kept.items():
            assert journal.calls.reply(key) == reply
        assert len(journal.calls) == len(kept)
        heard = [(call.path, call.messages, call.reply) for call in journal.calls.find(prompts=True)]
    first = {call_key(request, "m", 0): None for request, _ in calls}
    assert heard == [
        (kept[key][0].path, tuple((m.role, m.content) for m in kept[key][0].messages), kept[key][1]) for key in first
    ]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.text(max_size=8)), max_size=8))
def test_versions_are_the_texts_without_immediate_repeats(kept: list[tuple[str, str]]) -> None:
    with Journal() as journal:
        for path, text in kept:
            journal.artefacts.keep(path, text, "made")
        for path in ("a", "b"):
            texts = [text for at, text in kept if at == path]
            expected = [readable(text) for place, text in enumerate(texts) if place == 0 or texts[place - 1] != text]
            assert [version.text for version in journal.artefacts.versions(path)] == expected
            assert journal.artefacts.newest(path) == (readable(texts[-1]) if texts else None)
