from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.story.export.prose import Block, StyledSpan, blocks, clean, is_break, paragraphs, unfold
from growth import LINEAR, growth

LONG = "It was a long and windy evening on the rock when the keeper climbed"  # 67 characters


def styled(text: str) -> list[tuple[str, str]]:
    marks = {(False, False): "", (True, False): "i", (False, True): "b", (True, True): "ib"}
    return [(span.text, marks[span.italic, span.bold]) for block in blocks(text) for span in block.spans]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a *b* _c_", [("a ", ""), ("b", "i"), (" ", ""), ("c", "i")]),
        ("**a** ***b*** *c **d***", [("a", "b"), (" ", ""), ("b", "ib"), (" ", ""), ("c ", "i"), ("d", "ib")]),
        ("snake_case_name", [("snake_case_name", "")]),
        ("**open * 2 _x", [("**open * 2 _x", "")]),
        (r"\*a\*", [("*a*", "")]),
        ("<b>&amp; [x](y) `c` ![i](j)", [("<b>&amp; [x](y) `c` ![i](j)", "")]),
        ("    not code", [("not code", "")]),
        ("“a” 'b' \"c\" ... --", [("“a” 'b' \"c\" ... --", "")]),
        ("- one\n- two", [("- one", ""), ("\n", ""), ("- two", "")]),
        ("*a\nb*", [("a", "i"), ("\n", "i"), ("b", "i")]),
    ],
)
def test_emphasis_is_read_and_all_else_is_text(text: str, spans: list[tuple[str, str]]) -> None:
    assert styled(text) == spans


@pytest.mark.parametrize(
    "line", ["***", "* * *", "---", "- - -", "___", "#", "###", "~", "⁂", "* * * * *", "•", "\\* \\*"]
)
def test_lines_that_part_scenes(line: str) -> None:
    assert [b.kind for b in blocks(f"a\n\n{line}\n\nb")] == ["paragraph", "break", "paragraph"]


@pytest.mark.parametrize("line", ["...", "#1", "a", "—", "* a", "-1-", "“*”"])
def test_lines_that_are_text(line: str) -> None:
    assert not is_break(line)
    assert "break" not in [b.kind for b in blocks(f"a\n\n{line}\n\nb")]


def test_a_break_without_blank_lines_is_no_heading() -> None:
    assert blocks("a\n---\nb") == [
        Block("paragraph", (StyledSpan("a"),)),
        Block("break"),
        Block("paragraph", (StyledSpan("b"),)),
    ]


def test_breaks_at_the_ends_and_doubled_ones_go() -> None:
    assert [b.kind for b in blocks("***\n\na\n\n***\n\n#\n\nb\n\n---\n")] == ["paragraph", "break", "paragraph"]
    assert blocks("***") == blocks("") == blocks("\x01\n\n\x00") == []


def test_headings() -> None:
    heading = Block("heading", (StyledSpan("One "), StyledSpan("two", italic=True)), 2)
    assert blocks("## One *two*\n\nx")[0] == heading
    assert blocks("## One *two*\n\nx")[0].text == "One two"


def test_lines_that_an_editor_wrapped_are_joined_and_others_stay() -> None:
    assert unfold(f"{LONG}\nstairs.") == f"{LONG} stairs."
    assert unfold("Roses are red,\nviolets are blue.") == "Roses are red,\nviolets are blue."
    assert unfold("“Who?”\n“Me.”\n" + LONG) == "“Who?”\n“Me.”\n" + LONG
    assert unfold("w" * 130 + "\nnext") == "w" * 130 + "\nnext"
    assert unfold(f"{LONG}\n---\nb") == f"{LONG}\n---\nb"


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=60), st.integers(62, 100))
def test_wrapping_and_unfolding_give_the_paragraph_back(words: list[str], width: int) -> None:
    lines = [""]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    assert unfold("\n".join(lines)) == " ".join(words)


def test_paragraphs_are_parted_by_blank_lines() -> None:
    assert paragraphs("\na\nb\n \t\n\n c\n") == ["a\nb", "c"]
    assert paragraphs("") == []


def test_clean_takes_out_what_xml_forbids() -> None:
    assert clean("a\x00\x08\x1f\x7f\x9f\ud83d\ufffe\uffffb\tc\nd\x0be\u2028\U0001f600") == "ab\tc\nd e\u2028\U0001f600"


@given(st.text())
def test_no_text_is_lost_but_signs(text: str) -> None:
    kept = "".join(c for c in text if c.isalnum() and clean(c) == c)
    assert "".join(c for b in blocks(text) for c in b.text if c.isalnum()) == kept


@pytest.mark.parametrize("piece", ["*a ", "*", "_a*", "**a*", "[a](", "a\n", "> ", "# ", "\\", "\n\n*", " -", "***a"])
def test_reading_hostile_text_takes_linear_time(piece: str) -> None:
    assert growth(blocks, lambda n: piece * n, 8_000) < LINEAR
