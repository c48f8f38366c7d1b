"""Who knows what by which scene, over a made book of a hundred pages, and which roles are given what the codex says."""

# ruff: noqa: S311 - a made book, the same each time

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from fabula.app.world import WORLD_FILE
from fabula.engine.journal import Journal
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Scene, Story, count_words
from fabula.story.codex import Codex, CodexEntry, with_codex, write_codex
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.situation import situation_of
from fabula.story.world import Fact, Moment, WorldState
from fabula.testing.cases import Case, run_case
from fabula.verbs.home import Project
from harness import cases

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Request

CHAPTERS, QUESTIONS = 40, 200
PEOPLE = ["Mara Quist", "Tobias Rell", "Ines Vaal", "Otto Brandt", "Liv Sandø", "Piet Oom", "Zora Hale", "林小满"]
THINGS = ["the lamp", "the ledger", "the Kestrel", "the north stair"]
SLOTS = ["place", "mood", "debt", "plan", "wound", "price"]
FILLER = "The wind came over the cape and the gulls went up, and for a while nobody said anything at all. "


@dataclass
class Book:
    """A made book: who is in which chapter, and what each chapter tells before whom, in order."""

    present: dict[int, list[str]] = field(default_factory=dict)
    told: list[tuple[int, str, str, str, tuple[str, ...] | None]] = field(default_factory=list)

    @classmethod
    def made(cls) -> Book:
        rng, book = random.Random(32), cls()
        for chapter in range(1, CHAPTERS + 1):
            here = book.present[chapter] = rng.sample(PEOPLE, rng.randint(2, 5))
            for number in range(12):
                subject = rng.choice([*PEOPLE, *THINGS])
                witnesses = None if rng.random() < 0.1 else tuple(rng.sample(here, rng.randint(0, len(here))))
                value = f"v{chapter}.{number}"
                book.told.append((chapter, subject, rng.choice(SLOTS), value, witnesses))
        return book

    def known(self, who: str, subject: str, chapter: int) -> set[tuple[str, str]]:
        """What somebody has learned last of each property, by going through the telling once."""
        held = dict[str, str]()
        for at, about, slot, value, witnesses in self.told:
            if at <= chapter and about == subject and (witnesses is None or who in witnesses):
                held[slot] = value
        return set(held.items())


def short(name: str) -> str:
    return name.split(maxsplit=1)[0] if name in PEOPLE else name


@pytest.fixture(scope="module")
def book() -> Book:
    return Book.made()


@pytest.fixture(scope="module")
def project(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("book") / "it"
    made = ProjectFolder.create(folder, Brief("A book."), {"system": "vanilla", "model": "scripted:none"})
    scenes = []
    for chapter, here in book.present.items():
        said = [f"{short(who)} was there." for who in here]
        said += [f"{subject} and its {slot}: {value}." for at, subject, slot, value, _ in book.told if at == chapter]
        scenes.append(Scene(f"Chapter {chapter}", " ".join(said) + "\n\n" + FILLER * 32))
    story = Story("Book", tuple(scenes))
    (folder / "story.md").write_text(story.manuscript(), encoding="utf-8")
    assert count_words(story.text) > 25_000, "a hundred pages"
    with WorldState(made.folder / WORLD_FILE) as world:
        for at, subject, slot, value, witnesses in book.told:
            called = short(subject) if at % 2 else subject  # by alias in every other chapter
            seen = None if witnesses is None else tuple(map(short, witnesses))
            world.add([Fact(called, slot, value, told=Moment(at), witnesses=seen, change="update")])
    (folder / "plan/codex.yaml").write_text(write_codex(codex()), encoding="utf-8")
    return Project.open(folder, {})


def codex() -> Codex:
    """An entry with a secret for everyone and everything; some know one, and of every third nobody does."""
    rng = random.Random(7)
    entries = [
        CodexEntry(
            name,
            "person" if name in PEOPLE else "thing",
            (short(name),) if short(name) != name else (),
            description=f"OPEN-{number}-",
            secret=f"SECRET-{number}-",
            known_to=tuple(rng.sample(PEOPLE, rng.randint(1, 3))) if number % 3 else (),
        )
        for number, name in enumerate([*PEOPLE, *THINGS])
    ]
    return Codex((*entries, CodexEntry("The long rule", "rule", description="OPEN-RULE-", secret="SECRET-RULE-")))


def test_what_each_character_knows_by_each_chapter(project: Project, book: Book) -> None:
    """200 questions, "what does X know of Y by chapter N": the same facts as by going through the telling once."""
    rng, own = random.Random(1), codex()
    right = leaked = asked_of_secrets = 0
    for _ in range(QUESTIONS):
        who, about, at = rng.choice(PEOPLE), rng.choice([*PEOPLE, *THINGS]), rng.randint(1, CHAPTERS)
        (row,) = project.codex(at=at, of=who, name=about).entries
        found = {(fact.slot, fact.value) for fact in row.facts if fact.slot != "secret"}
        right += found == book.known(who, about, at)
        entry = own.find(about)
        assert entry is not None
        may_know = who in (entry.known_to or (about,))
        asked_of_secrets += not may_know
        leaked += "SECRET" in repr(row) and not may_know
        assert row.own is not None
        assert ("SECRET" in row.own.secret) == may_know
    assert right == QUESTIONS
    assert (leaked, asked_of_secrets > 100) == (0, True)


def test_mentions_are_those_of_the_text(project: Project, book: Book) -> None:
    for row in project.codex().entries:
        if row.kind == "person":
            said = {at: (row.name in here) + [one[1] for one in book.told if one[0] == at].count(row.name)
                    for at, here in book.present.items()}  # fmt: skip
            assert {one.number: one.count for one in row.mentions} == {at: n for at, n in said.items() if n}
            assert row.first == min(at for at, n in said.items() if n)


# roles --------------------------------------------------------------------------------------------------------------


def plan_of(book: Book) -> Plan:
    scenes = tuple(
        ScenePlan(
            f"Chapter {at}",
            (Event(f"They look at {THINGS[at % len(THINGS)]}."),),
            place="the cape",
            characters=tuple(Presence(who) for who in here),
        )
        for at, here in book.present.items()
    )
    return Plan(scenes, tuple(Character(name, setup="-", secret="OWN") for name in PEOPLE), setting="The cape.")


def test_roles_are_given_entries_by_presence_and_secrets_by_knowledge(book: Book) -> None:
    own, plan = codex(), plan_of(book)
    assert with_codex(plan, Codex()) is plan
    given, leaked, known = with_codex(plan, own), 0, 0
    assert "OPEN-RULE-" in given.setting
    for scene in given.scenes:
        for who in scene.present:
            shown = repr(situation_of(given, scene, who))
            for number, entry in enumerate(own.entries[:-1]):
                secret, may_know = f"SECRET-{number}-" in shown, who in (entry.known_to or (entry.name,))
                leaked += secret and not may_know
                known += secret and may_know
                assert secret == may_know
                there = entry.name in scene.present or entry.name in scene.outline[0].text
                assert (f"OPEN-{number}-" in shown) == there, (scene.name, who, entry.name)
    assert (leaked, known > 100) == (0, True)
    assert "SECRET-RULE-" not in repr(given), "nobody knows it"


def test_conversations_give_a_character_what_it_knows_of_those_present_and_named(book: Book) -> None:
    own = codex()
    for who in PEOPLE:
        for here in book.present.values():
            shown = " ".join(own.told(who, ["Where is the ledger?"], here))
            for number, entry in enumerate(own.entries[:-1]):
                there = entry.name in here or entry.name == "the ledger"
                may_know = there and (who in (entry.known_to or (entry.name,)))
                assert (f"OPEN-{number}-" in shown, f"SECRET-{number}-" in shown) == (there, may_know)


def of_systems(*names: str) -> list[Case]:
    return [case for case in cases() if case.system.name in names]


def asked_of(case: Case, codex: str, file: Path) -> list[Request]:
    model = case.model()
    with Journal(file) as journal:
        asyncio.run(
            run_case(replace(case, edits={**case.edits, "codex": codex} if codex else case.edits), model, journal)
        )
    return model.asked


@pytest.mark.parametrize("case", of_systems("character-simulation", "ibsen", "dramatron"), ids=lambda case: case.id)
def test_no_request_has_a_secret_of_somebody_else_or_the_authors_notes(case: Case, tmp_path: Path) -> None:
    written = write_codex(
        Codex(
            (
                CodexEntry("Mara", description="OPEN-MARA", secret="SECRET-MARA", notes="NOTES"),
                CodexEntry("The rule", "rule", description="OPEN-RULE", secret="SECRET-RULE"),
            )
        )
    )
    asked = asked_of(case, written, tmp_path / "journal.db")
    said = {(request.role, "\n".join(one.content for one in request.messages)) for request in asked}
    assert not [text for _, text in said if "NOTES" in text or "SECRET-RULE" in text]
    assert not [text for role, text in said if role.casefold() == "tobias" and "SECRET-MARA" in text]
    if case.plan and case.preset == "improved" and case.system.name == "dramatron":
        assert [text for _, text in said if "OPEN-RULE" in text]
