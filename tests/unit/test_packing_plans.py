"""What of a plan is shown where there is little room: blocks, whole, those that matter for a chapter."""

from __future__ import annotations

from fabula.craft.accounts import Earlier
from fabula.craft.packing import blocks, chosen, first_of

PEOPLE = "**Aleida Voss**, 47, weigher\n\n* Speech: dry.\n* Fears her father's name.\n\n**Pieter Lam**, 26\n\n* Hums."
PLOT = "Told: past tense.\n\n## Climax (about 900 words)\n- She counts.\n\n## Resolution (about 900 words)\n- It stays."
NOTES = [
    ("Characters", PEOPLE),
    ("Setting", "The weighing house stands on the quay.\n\nThe lamp hangs in the kitchen."),
]


def test_a_person_is_one_block_and_a_part_of_the_plot_too() -> None:
    assert [block.partition(",")[0] for block in blocks(PEOPLE)] == ["**Aleida Voss**", "**Pieter Lam**"]
    assert blocks(PEOPLE)[0].endswith("father's name.")
    assert [block.split(" ")[1] for block in blocks(PLOT)] == ["past", "Climax", "Resolution"]
    assert blocks("# Cast\n\n## Mara\n\nOld.\n\n### Voice\n\nLow.\n\n## Ivan\n\nYoung.") == [
        "# Cast",
        "## Mara\n\nOld.\n\n### Voice\n\nLow.",
        "## Ivan\n\nYoung.",
    ]


def test_what_fits_stays_as_it_is_with_its_paragraphs() -> None:
    assert chosen(NOTES, 1000) == f"[Characters] {PEOPLE}\n\n[Setting] {NOTES[1][1]}"


def test_what_does_not_fit_is_chosen_by_what_is_written_and_never_cut() -> None:
    shown = chosen(NOTES, 45, "Pieter Lam hums below the lamp in the kitchen.")
    assert "**Pieter Lam**, 26\n\n* Hums." in shown
    assert "The lamp hangs in the kitchen." in shown
    assert "Aleida" not in shown
    assert "[...]" not in shown
    assert shown.startswith("[Characters] **Pieter Lam**")
    assert chosen(NOTES, 22).startswith("[Setting]"), "without a chapter, what stands last"


def test_a_text_that_is_cut_keeps_the_paragraphs_that_stay() -> None:
    assert first_of("She came in.\n\nIt rained. It was late.\n\nShe went out again.", 10) == (
        "She came in.\n\nIt rained. [...]"
    )


def test_an_excerpt_has_whole_sentences_of_both_ends() -> None:
    text = "## The Storm\n\nIt blew hard. The boat was late.\n\n* * *\n\nIvan swam. He came home. Mara slept there."
    part = Earlier("the-storm", "2. The Storm", text)
    assert part.excerpt(0) == "begins \u201cIt blew hard.\u201d and ends \u201cMara slept there.\u201d"
    assert part.excerpt(100) == (
        "begins \u201cIt blew hard. The boat was late.\u201d and ends \u201cHe came home. Mara slept there.\u201d"
    )
    assert part.glimpse == "ends \u201cHe came home.\u201d"
    assert Earlier("x", "3", "## Nothing").glimpse.startswith("begins")


def test_a_part_that_is_empty_has_a_glimpse_and_an_excerpt() -> None:
    assert [(one.glimpse, one.excerpt(50)) for one in (Earlier("a", "A", ""), Earlier("a", "A", " \n"))] == [
        ("begins “”", "begins “”"),
        ("begins “”", "begins “”"),
    ]
