"""What of the codex the writers of prose get: by what a prompt names, by who is present, and by who knows what."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.app.rewriting import Passage
from fabula.app.writing import Options, at_cursor_in, given_of, suggested
from fabula.base.errors import ModelError, ReplyError
from fabula.craft.suggesting import Wanted
from fabula.engine.journal import Journal
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, slug
from fabula.story.codex import Codex, CodexEntry, parse_codex, write_codex
from fabula.story.plan_file import parse_plan
from fabula.testing.cases import run_case
from harness import cases

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.craft.suggesting import SuggestionKind
    from fabula.models.base import Request
    from fabula.testing.cases import Case

PEOPLE = ("Mara Quist", "Tobias Rell", "Zora Hale", "林小满", "Ермил", "O'Neill")
THINGS = ("the lamp", "the ledger", "灯", "the North Stair")
NAMES = st.sampled_from((*PEOPLE, *THINGS))
SOME = st.lists(st.sampled_from(PEOPLE), max_size=4, unique=True)


@st.composite
def codices(draw: st.DrawFn) -> Codex:
    names = draw(st.lists(NAMES, unique=True))
    return Codex(
        tuple(
            CodexEntry(
                name,
                "person" if name in PEOPLE else draw(st.sampled_from(("place", "thing", "rule"))),
                description=f"OPEN-{number}-",
                secret=f"SECRET-{number}-",
                known_to=tuple(draw(SOME)),
                notes="NOTES",
            )
            for number, name in enumerate(names)
        )
    )


def knows(entry: CodexEntry, who: str) -> bool:
    return who in entry.known_to or (not entry.known_to and entry.kind == "person" and who == entry.name)


@given(codices(), SOME, st.sets(NAMES), st.sets(st.sampled_from(PEOPLE)))
@settings(deadline=None)
def test_entries_are_given_by_presence_and_mention_and_secrets_by_knowledge(
    codex: Codex, present: list[str], before: set[str], cast: set[str]
) -> None:
    """A chapter whose plan says who is there; others are named in the text before it, and in other chapters."""
    own = f"Something happens.\nPresent: {', '.join(present)}"
    plan = f"## 1. One\nAll.\nPresent: {', '.join(sorted(cast))}\n\n## 2. Two\n{own}\n"
    prompt = "\n\n".join((*(f"They saw {name}." for name in sorted(before)), own))
    said = given_of(codex, "chapter-2/extend/1", prompt, {"chapters": ("plan", plan)}, 1_000)
    for number, entry in enumerate(codex.entries):
        here = entry.kind == "rule" or entry.name in (*present, *before)
        assert (f"OPEN-{number}-" in said) == here
        assert (f"SECRET-{number}-" in said) == (here and any(knows(entry, who) for who in present))
    assert "NOTES" not in said
    assert bool(said) == ("OPEN-" in said)


PLAN = """\
scenes:
- {name: The Quay, element: climax, outline: [They meet.], characters: [Mara]}
- {name: The Lamp, element: resolution, outline: [They part.], characters: [Zora]}
"""


@pytest.mark.parametrize(
    ("at", "told", "who"),
    [
        ("the-quay/scene/1", {"plan": PLAN}, "Mara"),
        ("drafts/resolution", {"plan": PLAN}, "Zora"),
        ("scene-2/step/1", {"plan": PLAN}, ""),  # of a system with scenes of its own
        ("chapter-2", {"plan": PLAN}, ""),
        (
            "chapter-1",
            {"plan": PLAN, "chapters": "## 1. One\nPoint of view: Zora, in the first person\n"},
            "Zora",
        ),
        ("chapter-1", {"chapters": "## 1. One\nMara and Zora meet.\n"}, ""),
        ("chapter-1", {"plan": "scenes: ["}, ""),
    ],
)
def test_only_the_plan_of_the_part_itself_says_who_is_present(at: str, told: dict[str, str], who: str) -> None:
    codex = Codex(tuple(CodexEntry(name, secret=f"SECRET-{name}") for name in ("Mara", "Zora")))
    said = given_of(codex, at, "Mara, Zora", {path: ("plan", text) for path, text in told.items()}, 1_000)
    assert [name for name in ("Mara", "Zora") if f"SECRET-{name}" in said] == ([who] if who else [])


def test_who_may_be_one_of_several_people_knows_nothing() -> None:
    codex = Codex((CodexEntry("Mara Quist", secret="SECRET"), CodexEntry("Mara Rell")))
    assert [codex.told_to_writer("Mara Quist", [who], 4_000) for who in ("Mara", "Mara Rell", "Quist")] == [
        (),
        (),
        ("Mara Quist: A secret that nobody present knows but Mara Quist: SECRET.",),
    ]


def test_who_knows_a_secret_may_be_named_by_an_alias() -> None:
    codex = parse_codex(
        "entries: [{name: Mara, aliases: [the keeper]}, {name: Zora, secret: SECRET, known_to: [The Keeper, Ivan]}]"
    )
    assert codex.entries[1].known_to == ("Mara", "Ivan")
    assert ["SECRET" in repr(codex.told_to_writer("Zora", [who], 4_000)) for who in ("the keeper", "Zora")] == [
        True,
        False,
    ]


def test_those_that_the_prompt_names_last_have_room_and_nothing_is_given_twice() -> None:
    codex = Codex(tuple(CodexEntry(name, description=f"{name} " + "x" * 300) for name in ("Asha", "Bela", "Cleo")))
    said = codex.told_to_writer("Bela. Asha. Cleo. Asha.", (), 700)
    assert [one[:4] for one in said] == ["Asha", "Cleo"], "in the codex's own order"
    assert codex.told_to_writer(codex.entries[0].open, (), 700) == ()
    large = Codex(tuple(CodexEntry(f"Name{n}", description="y" * 3_000) for n in range(2_000)))
    assert len(large.told_to_writer(" ".join(one.name for one in large.entries), (), 4_000)) == 1


# every system -------------------------------------------------------------------------------------------------------

OURS = [case for case in cases() if case.preset == "improved"]
PROSE = {
    *("section", "extend", "shorten", "finalizer", "final_reading", "chapter", "chapter_longer", "chapter_shorter"),
    *("draft", "revise", "revise_longer", "rewrite", "retell", "dialogue", "scene", "story", "work", "tell"),
}
NOBODYS = CodexEntry(
    "Mara", description="OPEN-MARA", secret="SECRET-NOBODYS", known_to=("Somebody Else",), notes="NOTES"
)
OWN = CodexEntry("Tobias", description="OPEN-TOBIAS", secret="SECRET-TOBIAS")


BOTH = ("Mara", "Tobias")


def asked(case: Case, codex: Codex) -> list[Request]:
    model = case.model()
    with Journal() as journal:
        journal.decisions.add("codex", "edit", write_codex(codex))
        asyncio.run(run_case(case, model, journal, codex=partial(given_of, codex)))
    return model.asked


def text_of(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


@pytest.mark.parametrize("case", OURS, ids=lambda case: case.id)
def test_in_every_system_writers_get_entries_and_nobody_gets_a_secret_that_nobody_present_knows(case: Case) -> None:
    plain = asked(case, Codex((CodexEntry("Xanthippe", description="Nobody."), CodexEntry("灯", "thing"))))
    scenes = parse_plan(case.plan, where="plan").scenes if case.plan else ()
    present = {slug(one.name): one.present for one in scenes}
    for before, request in zip(plain, asked(case, Codex((NOBODYS, OWN))), strict=True):
        text, *place, prompt = text_of(request), *request.path.split("/")
        there = request.role == "player" or any("Tobias" in present.get(one, ()) for one in place)
        assert not [one for one in ("SECRET-NOBODYS", "NOTES", *["SECRET-TOBIAS"] * (not there)) if one in text]
        if prompt in PROSE:
            assert ("OPEN-MARA" in text, "OPEN-TOBIAS" in text) == (
                "Mara" in text_of(before),
                "Tobias" in text_of(before),
            )
            assert ("SECRET-TOBIAS" in text) == (there and "Tobias" in text_of(before))
        if "OPEN-" not in text:
            assert request.messages == before.messages, "those without a codex pay nothing"


async def test_a_small_model_is_given_entries_first_since_it_would_continue_them() -> None:
    case = next(one for one in OURS if one.system.name == "end-to-end")
    model = case.model()
    with Journal() as journal, suppress(ModelError, ReplyError):  # its script is for other replies
        await run_case(case, model, journal, codex=partial(given_of, Codex((NOBODYS,))), aids="on")
    assert "OPEN-MARA" in model.asked[0].messages[0].content
    assert "OPEN-MARA" not in model.asked[0].messages[-1].content


# suggestions --------------------------------------------------------------------------------------------------------

CHAPTERS = """\
## 1. The Letter {#the-letter}

Mara reads a letter of Tobias.
Present: Mara

## 2. The Quay {#the-quay}

They meet.
Point of view: Tobias
"""


@pytest.mark.parametrize("chapter", ["the-letter", "the-quay"])
@pytest.mark.parametrize("kind", ["reword", "continue", "describe", "ideas"])
def test_suggestions_get_entries_that_stand_near_and_secrets_of_those_present(
    tmp_path: Path, chapter: str, kind: SuggestionKind
) -> None:
    folder = ProjectFolder.create(tmp_path / "it", Brief("A lamp."), {"system": "end-to-end", "model": "scripted:none"})
    folder.write_given("plan/chapters.md", CHAPTERS)
    for number, name in enumerate(("the-letter", "the-quay"), 1):
        folder.write_given(f"story/{number:02}-{name}.md", f"## {name}\n\nMara thought of Tobias. The lamp was out.\n")
    with folder.recorded() as journal:
        folder.begin(journal)
    said = '{"ideas": ["A gull cried over the roof."]}' if kind == "ideas" else "A gull cried over the roof."
    model = ScriptedModel(lambda _: said, name="writer")
    options = Options(environ={}, models={"scripted:none": model})
    text = (folder.folder / f"story/{1 + (chapter == 'the-quay'):02}-{chapter}.md").read_text(encoding="utf-8")
    span = (text.index("The lamp"), len(text)) if kind == "reword" else (len(text), len(text))
    at = (Passage(chapter, "", text, span), suggested(Wanted(kind, count=1)))
    asyncio.run(at_cursor_in(folder, folder.settings, options, *at))
    for codex in (Codex((CodexEntry("Xanthippe", secret="SECRET"),)), Codex((NOBODYS, OWN))):
        assert len(model.asked) == 1, "the same prompt costs nothing"
        (folder.folder / "plan/codex.yaml").write_text(write_codex(codex), encoding="utf-8")
        asyncio.run(at_cursor_in(folder, folder.settings, options, *at))
    plain, with_codex = (request.messages for request in model.asked)
    said = with_codex[-1].content.removeprefix(plain[-1].content)
    assert with_codex[:-1] == plain[:-1]
    assert ("OPEN-MARA" in said, "OPEN-TOBIAS" in said, "SECRET-NOBODYS" in said) == (True, True, False)
    assert ("SECRET-TOBIAS" in said) == (chapter == "the-quay")
