"""Which entries of a lorebook are told, when, in which order, and within what bounds."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.base.errors import UsageError
from fabula.models.budget import estimate_tokens
from fabula.story.cards import Lorebook, scan
from growth import LINEAR, growth


def book(*entries: dict[str, Any], **more: Any) -> Lorebook:  # noqa: ANN401 - fields of a book
    usual = {"enabled": True, "insertion_order": 100, "extensions": {}}
    return Lorebook.of({"entries": [{**usual, **entry} for entry in entries], "extensions": {}, **more})


def entry(content: str, *keys: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of an entry
    return {"content": content, "keys": list(keys), **more}


def shown(lore: Lorebook, *messages: str, **more: Any) -> list[str]:  # noqa: ANN401 - options of `scan`
    return [one.content for one in scan(lore, messages, **more).shown]


def test_keys_are_whole_words_without_case() -> None:
    lore = book(entry("reef", "the reef", "Cape"))
    assert shown(lore, "He named THE  reef!") == ["reef"]
    assert shown(lore, "the reefs; escape") == []
    assert shown(lore, "(cape)") == ["reef"]


def test_an_entry_may_want_its_case_or_parts_of_words() -> None:
    assert shown(book(entry("a", "May", case_sensitive=True)), "you may go") == []
    assert shown(book(entry("a", "May", extensions={"case_sensitive": True})), "May comes") == ["a"]
    assert shown(book(entry("a", "sail", extensions={"match_whole_words": False})), "ten sailors") == ["a"]


def test_writing_without_blanks_is_matched_within_a_run() -> None:
    assert shown(book(entry("a", "\u706f\u53f0")), "\u4ed6\u770b\u7740\u706f\u53f0\u3002") == ["a"]


def test_constant_entries_are_told_always_and_disabled_or_empty_ones_never() -> None:
    lore = book(
        entry("always", constant=True),
        entry("off", "lamp", enabled=False, constant=True),
        entry(" ", "lamp"),
    )
    assert shown(lore, "the lamp") == shown(lore) == ["always"]


def test_they_are_told_in_rising_order_before_and_after_the_description() -> None:
    lore = book(
        entry("c", "x", insertion_order=3),
        entry("a", "x", insertion_order=1, position="after_char"),
        entry("b", "x", insertion_order=2),
        entry("b2", "x", insertion_order=2),
    )
    found = scan(lore, ["x"])
    assert [one.content for one in found.before] == ["b", "b2", "c"]
    assert [one.content for one in found.after] == ["a"]


@pytest.mark.parametrize(
    ("logic", "yes", "no"),
    [
        (0, "lamp oil", "lamp"),
        (1, "lamp oil", "lamp oil wick"),
        (2, "lamp", "lamp wick"),
        (3, "lamp oil wick", "lamp oil"),
    ],
)
def test_secondary_keys(logic: int, yes: str, no: str) -> None:
    extensions = {"selectiveLogic": logic} if logic else {}
    lore = book(entry("x", "lamp", selective=True, secondary_keys=["oil", "wick"], extensions=extensions))
    assert (shown(lore, yes), shown(lore, no)) == (["x"], [])
    loose = book(entry("x", "lamp", selective=False, secondary_keys=["oil"]))
    assert shown(loose, "lamp") == ["x"]


def test_only_the_latest_messages_are_looked_through() -> None:
    lore = book(entry("x", "lamp"), scan_depth=2)
    assert shown(lore, "lamp", "a", "b") == []
    assert shown(lore, "lamp", "b") == ["x"]
    assert shown(book(entry("x", "lamp"), scan_depth=0), "lamp") == []
    assert shown(book(entry("x", "lamp")), "lamp " + "x" * 30_000) == []


def test_entries_call_each_other_only_in_a_recursive_book() -> None:
    entries = (entry("the lamp is old", "cape"), entry("oil is dear", "lamp"), entry("never", "price"))
    assert shown(book(*entries, recursive_scanning=True), "cape") == ["the lamp is old", "oil is dear"]
    assert shown(book(*entries), "cape") == ["the lamp is old"]


def test_two_entries_that_call_each_other_end() -> None:
    assert len(shown(book(entry("b", "a"), entry("a", "b"), recursive_scanning=True), "a")) == 2


def test_what_matters_most_is_kept_where_not_all_fits() -> None:
    text = "word " * 30
    lore = book(
        entry("low " + text, "x", priority=1),
        entry("high " + text, "x", priority=9),
        entry("fixed " + text, constant=True, priority=0),
        token_budget=2 * estimate_tokens("fixed " + text) + 2,
    )
    found = scan(lore, ["x"])
    assert [one.content.split()[0] for one in found.shown] == ["high", "fixed"]
    one_fits = sum(estimate_tokens(one.content) for one in found.shown) // 2 + 1
    assert [one.content.split()[0] for one in scan(lore, ["x"], budget=one_fits).shown] == ["fixed"]
    assert scan(lore, ["x"], budget=0).shown == ()


def test_decorators_are_followed_where_known_and_never_told() -> None:
    lore = book(
        entry("@@activate\n@@unheard_of 3\n@@@dont_activate\n\nfallback", "x"),
        entry("@@activate_only_after 3\nlater", "x"),
        entry("@@exclude_keys storm, gale\ncalm", "x"),
        entry("@@additional_keys oil,wick\nboth", "x"),
        entry("@@scan_depth 1\nlatest", "y"),
        entry("@@dont_activate\nnever", "x"),
        entry("@@depth 4\n@@@dont_activate\n@@role system\nplain", "z"),
    )
    assert shown(lore, "y", "x oil", spoken=2) == ["fallback", "calm", "both"]
    assert shown(lore, "x storm", spoken=3) == ["fallback", "later"]
    assert shown(lore, "y") == ["fallback", "latest"]
    assert shown(book(entry("@@scan_depth 2\n@@@dont_activate\nknown", "x")), "x") == ["known"]


def test_patterns_are_never_run_but_lists_of_words_are_read() -> None:
    evil = "(a+)+$"
    lore = book(
        entry("words", r"/\b(storm|high gale)\b/i"),
        entry("regex", "fog|mist", use_regex=True),
        entry("evil", evil, use_regex=True),
        entry("evil too", f"/{evil}/"),
        entry("plain", "and/or"),
    )
    assert shown(lore, "a high gale") == ["words"]
    assert shown(lore, "mist and/or rain") == ["regex", "plain"]
    assert shown(lore, "a" * 5000 + "!") == []
    assert lore.notes == ("2 patterns are not used as a key, because fabula never runs patterns from a card.",)


def test_a_lorebook_file_is_read_too_and_fields_of_other_kinds_are_passed_over() -> None:
    lore = Lorebook.of(
        {
            "spec": "lorebook_v3",
            "data": {
                "name": 3,
                "scan_depth": 10**400,
                "token_budget": "many",
                "entries": [{"keys": "lamp, oil", "content": "x", "priority": None, "insertion_order": "1"}],
            },
        }
    )
    assert shown(lore, "oil") == ["x"]
    assert (lore.name, lore.budget, lore.entries[0].order) == ("", None, 100)
    with pytest.raises(UsageError, match=r"`entries` is not a list of objects."):
        Lorebook.of({"entries": {"0": []}})


def test_a_book_full_of_keys_is_bounded_in_time() -> None:
    keys = [f"key{n}" for n in range(30_000)]
    lore = book(*(entry("x", *keys[n : n + 30], extensions={"match_whole_words": False}) for n in range(0, 30_000, 30)))
    assert lore.notes == ("10000 keys are not used because they are too long or the lorebook has too many.",)
    assert scan(lore, ["k" * 20_000]).shown == ()
    assert growth(lambda text: scan(lore, [text]), lambda n: "k" * n, 20_000) < LINEAR
