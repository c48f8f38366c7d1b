"""The codex: one view of everyone and everything with a name, of where they are mentioned, and of who knows what."""

# ruff: noqa: RUF001, S105 - names in other scripts; secrets of characters

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.checking import CODEX, stories_to_check
from fabula.app.codex import CodexRow, codex_of
from fabula.app.conversing import dry_run_names, read_names
from fabula.app.findings import mended
from fabula.app.importing import import_manuscript
from fabula.app.item_files import EVERYTHING
from fabula.app.world import WORLD_FILE
from fabula.app.writing import Options
from fabula.base.errors import PlanError, UnknownNameError, UsageError
from fabula.continuity.parts import manuscript
from fabula.craft.narratives import entries_read
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.story import Brief, Scene
from fabula.story.codex import CodexEntry, changed_codex, changed_left_out, parse_codex, with_codex
from fabula.story.people import NameFinder, called
from fabula.story.plan import Character, Plan
from fabula.story.world import Fact, Moment, WorldState
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from pathlib import Path

OWN = """\
# mine
entries:
- name: Mara Quist
  kind: person   # the heroine
  aliases: [the keeper]
  description: Keeper of the light.
# between
- {name: 灯, kind: thing}
left_out: [Harbour]
"""


@pytest.fixture
def sample(tmp_path: Path) -> Project:
    copy_sample(tmp_path / "it")
    return Project.open(tmp_path / "it", {})


def row(project: Project, name: str, at: int | None = None, of: str = "") -> CodexRow:
    (found,) = project.codex(at=at, of=of, name=name).entries
    return found


def secret(project: Project, of: str = "") -> str:
    own = row(project, "Ivan", of=of).own
    assert own is not None
    return own.secret


# names in texts -----------------------------------------------------------------------------------------------------


def found(text: str, **names: list[str]) -> list[tuple[str, str]]:
    finder = NameFinder(called({name.replace("_", " "): own for name, own in names.items()}))
    return [(text[one.start : one.end], one.name) for one in finder.find(text)]


@pytest.mark.parametrize(
    ("text", "names", "places"),
    [
        ("The keeper saw Mara Quist.", {"Mara_Quist": ["the keeper"]}, ["The keeper", "Mara Quist"]),
        ("MARA. Mara's coat; Marathon, mara", {"Mara": []}, ["MARA", "Mara"]),
        ("A rose for Rose.", {"Rose": []}, ["Rose"]),
        (
            "So the ledger, The Ledger; the ferry and the Ferry",
            {"The_ledger": [], "The_Ferry": []},
            ["the ledger", "The Ledger", "the Ferry"],
        ),
        ("Mr. Pond and Mr Pond", {"Mr._Pond": []}, ["Mr. Pond", "Mr Pond"]),
        ("Mara\n\nQuist", {"Mara_Quist": []}, ["Mara", "Quist"]),
        ("林小满说，小满笑了。", {"林小满": ["小满"]}, ["林小满", "小满"]),
        ("미라는 웃었다. 미라클!", {"김미라": ["미라"]}, ["미라"]),
        ("Ермил и Ермилу, Ермилович", {"Ермил": ["Ермилу"]}, ["Ермил", "Ермилу"]),
        ("", {"Mara": []}, []),
    ],
)
def test_texts_are_searched_for_exact_names_in_any_script(
    text: str, names: dict[str, list[str]], places: list[str]
) -> None:
    assert [said for said, _ in found(text, **names)] == places


def test_a_part_of_a_name_that_two_people_have_means_neither() -> None:
    assert found("Quist and Mara and Jonas", Mara_Quist=[], Jonas_Quist=[]) == [
        ("Mara", "Mara Quist"),
        ("Jonas", "Jonas Quist"),
    ]


# the file -----------------------------------------------------------------------------------------------------------


def test_a_change_leaves_all_other_lines_as_they_were() -> None:
    entry = parse_codex(OWN).entries[0]
    text = changed_codex(OWN, "mara quist", CodexEntry(entry.name, secret="Let it\n# go out: once", known_to=("A",)))
    assert text.startswith("# mine\nentries:\n- name: Mara Quist\n")
    assert "# between\n- {name: 灯, kind: thing}\nleft_out: [Harbour]\n" in text
    assert parse_codex(text).entries[0].secret == "Let it\n# go out: once"
    text = changed_codex(text, "Tobias", CodexEntry("Tobias", facts=(("eye colour", "grey: light"),)))
    assert [one.name for one in parse_codex(text).entries] == ["Mara Quist", "灯", "Tobias"]
    text = changed_codex(text, "Mara Quist", None)
    assert text.startswith("# mine\nentries:\n")
    assert "Mara" not in text
    text = changed_left_out(text, ["a", "b: c"])
    assert parse_codex(text).left_out == ("a", "b: c")
    assert "# mine" in text


@pytest.mark.parametrize(
    "text", ["", "entries:\n", "entries: [{name: A}, {name: B}]", "left_out: [x]\nentries:\n- name: A\n"]
)
def test_codices_in_other_forms_are_changed_too(text: str) -> None:
    before = parse_codex(text) if text else parse_codex("entries:\n")
    after = parse_codex(changed_codex(text, "C", CodexEntry("C", aliases=("c", "的"), notes="- x")))
    assert (after.entries[:-1], after.left_out) == (before.entries, before.left_out)
    assert after.entries[-1] == CodexEntry("C", aliases=("c", "的"), notes="- x")


def test_the_first_entry_is_one_decision_and_one_undo_takes_it_back(tmp_path: Path) -> None:
    copy_sample(tmp_path / "it")
    (tmp_path / "it/plan/codex.yaml").unlink(missing_ok=True)
    project = Project.open(tmp_path / "it", {})
    before = project.status().undo
    project.set_entry("Mara Quist", secret="Let it go out.")
    undone = project.undo()
    assert undone.wording == "edit of Codex"
    assert undone.further == before
    assert not (tmp_path / "it/plan/codex.yaml").exists()
    project.redo()
    assert "Let it go out." in (tmp_path / "it/plan/codex.yaml").read_text(encoding="utf-8")


def test_all_problems_of_the_file_are_said_with_their_lines() -> None:
    with pytest.raises(PlanError) as problem:
        parse_codex("entries:\n- name: A\n  kinde: person\n- kind: x\n  name: b\n- name: a\nfoo: 2\n")
    assert str(problem.value).splitlines() == [
        "plan/codex.yaml:3: entry 'A': There is no 'kinde' here. Did you mean 'kind'?",
        "plan/codex.yaml:4: entry 'b' > kind: Input should be 'person', 'place', 'thing' or 'rule'.",
        "plan/codex.yaml:6: entry 'a' > name: 'a' is also a name of entry 'A'. Rename one of them, or join them.",
        "plan/codex.yaml:7: codex: There is no 'foo' here. There are 'entries', 'left_out'.",
    ]


def test_an_alias_of_another_entry_is_a_problem_of_the_file() -> None:
    with pytest.raises(PlanError) as problem:
        parse_codex("entries:\n- name: Asha\n  aliases: [rosa]\n- name: Rosa\n  secret: S\n  known_to: [Rosa]\n")
    assert str(problem.value) == (
        "plan/codex.yaml:4: entry 'Rosa' > name: 'Rosa' is also a name of entry 'Asha'. "
        "Rename one of them, or join them."
    )


# the view -----------------------------------------------------------------------------------------------------------


def test_the_codex_joins_plan_and_world_and_counts_mentions(sample: Project) -> None:
    ivan = row(sample, "ivan")
    assert (ivan.name, ivan.kind, ivan.aliases, ivan.count, ivan.first) == ("Ivan Utting", "person", ("Ivan",), 12, 1)
    assert ivan.sources == ("plan", "world", "people")
    assert [(one.title, one.count) for one in ivan.mentions][:2] == [("Exposition", 2), ("Rising Action", 4)]
    first = ivan.mentions[0]
    assert first.quote.startswith("Vehicle 31 was Ivan Utting, who had his own lorry")
    assert sample.text("exposition").text[first.at :].startswith(first.quote)
    assert {one.quote for of in sample.codex().entries for one in of.mentions} == {""}, "only of one entry"
    assert row(sample, "the lorry").name == "vehicle 31"
    with pytest.raises(UnknownNameError, match="Unknown entry 'Nobody'"):
        sample.codex(name="Nobody")


def test_facts_are_those_of_the_scene_and_of_the_character(sample: Project) -> None:
    known = {fact.value for fact in row(sample, "Ivan", at=1).facts}
    assert "60 kg" not in known
    assert "60 kg" in {fact.value for fact in row(sample, "Ivan", at=3).facts}
    wendys = row(sample, "Ivan", at=2, of="Wendy")
    assert "dying" not in {fact.value for fact in wendys.facts}, "he has told nobody"
    assert not any("dying" in said for said in wendys.about), "nor does she know his sheet"
    assert any("dying" in said for said in row(sample, "Ivan").about)


def test_an_entry_is_an_edit_that_can_be_undone(sample: Project) -> None:
    done = sample.set_entry("Ivan", secret="He wrote the ticket.", known_to=["Wendy"], facts=["eyes: grey"], notes="?")
    assert (done.name, done.file, done.changed) == ("Ivan Utting", "plan/codex.yaml", True)
    ivan = row(sample, "Ivan")
    assert ivan.own is not None
    assert (ivan.own.secret, ivan.own.known_to, ivan.own.notes) == ("He wrote the ticket.", ("Wendy",), "?")
    assert ivan.sources[0] == "codex"
    assert secret(sample, of="Wendy") == "He wrote the ticket."
    callum = row(sample, "Ivan", of="Callum Rix")
    assert callum.own is not None
    assert (callum.own.secret, callum.own.notes, callum.own.known_to) == ("", "", ())
    assert "wrote the ticket" not in repr(callum)
    assert {"grey"} < {fact.value for fact in callum.facts} | {"-"}
    sample.set_entry("Ivan", kind="person", description="A driver.")
    assert secret(sample) == "He wrote the ticket.", "what is left out stays"
    assert not sample.set_entry("Ivan", description="A driver.").changed
    sample.undo()
    assert "A driver." not in row(sample, "Ivan").about
    sample.undo()
    assert row(sample, "Ivan").sources[0] == "plan"
    assert sample.remove_entry("vehicle 31").left_out
    assert "vehicle 31" not in [one.name for one in sample.codex().entries]
    sample.set_entry("vehicle 31", kind="thing")
    assert row(sample, "vehicle 31").kind == "thing"
    assert sample.remove_entry("vehicle 31").removed


def test_nobody_is_given_a_name_of_somebody_else(sample: Project) -> None:
    sample.set_entry("Rosa", aliases=["the cook"], secret="She poisoned it.")
    before = (sample.folder / "plan/codex.yaml").read_text(encoding="utf-8")
    for arguments in (
        {"name": "Asha", "aliases": ["rosa"]},
        {"name": "Asha", "aliases": ["The Cook"]},
        {"name": "Asha", "new_name": "Rosa"},
    ):
        with pytest.raises(UsageError, match=r"is a name of the entry 'Rosa', and no two entries may share a name\."):
            sample.set_entry(**arguments)
    with pytest.raises(UsageError, match="is a name of the entry 'Wendy"):
        sample.set_entry("Ivan", aliases=[row(sample, "Wendy").name])
    assert (sample.folder / "plan/codex.yaml").read_text(encoding="utf-8") == before
    sample.set_entry("Rosa", aliases=["Rosa", "the cook", "the baker"])


def test_a_secret_about_somebody_may_be_one_that_they_do_not_know(sample: Project) -> None:
    sample.set_entry("Ivan", secret="HIS FATHER LIVES", known_to=["Wendy"])
    assert "HIS FATHER" not in repr(row(sample, "Ivan", of="Ivan"))
    assert "HIS FATHER" in repr(row(sample, "Ivan", of="Wendy"))
    own = codex_of(sample).own
    plan = Plan((), (Character("Ivan Utting"), Character("Wendy Sallis")))
    ivan, wendy = with_codex(plan, own).characters
    assert ("HIS FATHER" in repr(ivan), "HIS FATHER" in wendy.knows) == (False, True)
    assert ["HIS FATHER" in " ".join(own.told(who, [], ["Ivan"])) for who in ("Ivan", "Wendy")] == [False, True]
    sample.set_entry("Ivan", aliases=["the driver"], known_to=["the driver", "Wendy"])
    assert "HIS FATHER" in repr(row(sample, "Ivan", of="Ivan"))
    assert "HIS FATHER" in with_codex(plan, codex_of(sample).own).characters[0].secret


def test_what_cannot_be_an_entry_is_refused(sample: Project) -> None:
    with pytest.raises(UsageError, match="The name is empty"):
        sample.set_entry(" ")
    with pytest.raises(UsageError, match=r"The name 'Iv\\x07an\\u202e' has control or invisible characters"):
        sample.set_entry("Iv\aan\u202e")
    with pytest.raises(UsageError, match=r"'grey' is not a fact\. Write a property"):
        sample.set_entry("Ivan", facts=["grey"])
    (sample.folder / "plan/codex.yaml").write_text("entries:\n- nme: Ivan\n", encoding="utf-8")
    with pytest.raises(PlanError, match="There is no 'nme' here"):
        sample.codex()


def test_what_the_codex_says_is_canon_that_the_text_contradicts(sample: Project) -> None:
    with WorldState(sample.folder / WORLD_FILE) as world:
        world.add([Fact("Mr Rix", "eyes", "blue", told=Moment(2))])
    assert not [one for one in sample.world().conflicts if one.canon and one.later.value == "blue"]
    sample.set_entry("Callum Rix", aliases=["Mr Rix"], facts=["eye colour: grey"])
    (found,) = [one for one in sample.world().conflicts if one.later.value == "blue"]
    assert (found.canon, found.earlier.value, found.earlier.origin) == (True, "grey", "plan/codex.yaml")
    with WorldState(sample.folder / WORLD_FILE) as world:
        assert "grey" not in [fact.value for fact in world.facts()], "the codex stays in its own file"


def test_the_checker_reads_what_the_codex_says_and_a_finding_quotes_it(sample: Project) -> None:
    (before,) = stories_to_check([sample.folder], EVERYTHING)
    sample.set_entry("Callum Rix", aliases=["Mr Rix"], facts=["eye colour: grey"], secret="He drinks.", notes="NOTES")
    (item,) = stories_to_check([sample.folder], EVERYTHING)
    assert item.story.scenes[:-1] == before.story.scenes
    assert item.story.scenes[-1] == Scene(CODEX, "Callum Rix, also Mr Rix: eye colour: grey. He drinks.")
    file = sample.folder / "evaluation/atlas.json"
    report = json.loads(file.read_text(encoding="utf-8"))
    finding = report["details"]["stories"][0]["findings"][0]
    finding |= {"title_x": CODEX, "passage_x": finding["passage_x"] | {"text": "eye colour: grey.", "scene": 6}}
    file.write_text(json.dumps(report), encoding="utf-8")
    (one,) = sample.last_check().findings
    assert (one.places[0].artefact, one.stale) == ("plan/codex.yaml", False)
    assert one.places[0].where.startswith(CODEX)
    with pytest.raises(UsageError, match="This sentence is from your codex"):
        mended(sample.last_check(), one.key, "x", "grey")
    sample.set_entry("Callum Rix", facts=["eye colour: blue"])
    assert sample.last_check().findings[0].stale, "the codex says something else by now"


def test_a_name_in_a_text_says_who_it_is(sample: Project) -> None:
    codex = codex_of(sample)
    text = "Then Ivan came."
    assert codex.named_at(text, 6) == ("Ivan Utting",)
    assert codex.named_at(text, 2) == ()
    said = codex.about("Ivan Utting", 3)
    assert said[0] == "Ivan Utting (person)"
    assert any(one.startswith("Known by the end of “Climax”:\n- Ivan Utting, weight: 60 kg") for one in said)


# a model's reading --------------------------------------------------------------------------------------------------

STORY = "В саду Пелагея собирала яблоки. Старый Ермил чинил забор. Пелагея спросила Ермила о яблоне у Волги."
STORY += " Gilles quitta le quai du Saint-Yves. Madame Le Bris, dite Odile, le suivit."
STORY += " Jerzy Halicki ne dit rien à Halicki senior."
READ = {
    "entries": [
        {"kind": "person", "name": "Пелагея", "aliases": [], "description": "Собирает яблоки."},
        {"kind": "person", "name": "Ермил", "aliases": ["Ермила", "Старик", "Старый Ермил"], "description": ""},
        {"kind": "place", "name": "Волга", "aliases": ["Волги"], "description": ""},
        {"kind": "person", "name": "Анна", "aliases": [], "description": ""},
        {"kind": "thing", "name": "le Saint-Yves", "aliases": [], "description": ""},
        {"kind": "person", "name": "Odile Le Bris", "aliases": ["Madame Le Bris", "Odile"], "description": ""},
        {"kind": "person", "name": "Halicki", "aliases": ["Halicki senior"], "description": ""},
        {"kind": "person", "name": "Jerzy Halicki", "aliases": [], "description": "His grandson."},
        {"kind": "rule", "name": "The river takes one", "aliases": [], "description": ""},
        {"kind": "person", "name": "Odette Le Bris", "aliases": [], "description": ""},
    ]
}


def test_a_reading_proposes_what_the_text_names_and_each_is_accepted_or_refused(tmp_path: Path) -> None:
    folder = ProjectFolder.create(tmp_path / "it", Brief(STORY), {"system": "vanilla", "model": "scripted:none"})
    model = ScriptedModel(lambda _: json.dumps(READ), name="reader")
    options = Options(environ={}, models={"scripted:none": model})
    project = Project.open(tmp_path / "it", {})
    assert project.codex().entries == ()
    assert not project.codex().was_read
    expected = asyncio.run(dry_run_names(folder, folder.settings, options, entries_read))
    assert (len(expected.planned), model.asked) == (1, [])
    asyncio.run(read_names(folder, folder.settings, options, entries_read))
    view = project.codex()
    assert view.was_read
    assert {one.name: one.aliases for one in view.entries} == {
        "Пелагея": (),
        "Ермил": ("Ермила", "Старый Ермил"),
        "Волга": ("Волги",),
        "le Saint-Yves": ("Saint-Yves",),
        "Odile Le Bris": ("Madame Le Bris", "Odile"),
        "The river takes one": (),
        "Halicki": ("Halicki senior",),
        "Jerzy Halicki": (),
    }, "nobody whom the model made up"
    assert all(one.proposed for one in view.entries)
    project.set_entry("Ермил")
    for name in ("Волга", "le Saint-Yves", "Odile Le Bris", "The river takes one", "Halicki", "Jerzy Halicki"):
        project.remove_entry(name)
    view = project.codex()
    assert [(one.name, one.proposed) for one in view.entries] == [("Ермил", False), ("Пелагея", True)]
    assert view.entries[0].aliases == ("Ермила", "Старый Ермил")
    folder.write_given("plan/narrative.md", f"{STORY} Ермил ушёл.")
    assert not project.codex().was_read, "it is another version"
    assert any(one.proposed for one in project.codex().entries), "whose names are not forgotten"


TWO = "Anna the elder came; the little one hid. Anna, said Anna Vogt. Thomas waved at Tom, and Tom, his son, waved."
TWINS = [
    {"kind": "person", "name": "Anna", "aliases": ["the elder", "Anna Vogt"], "description": "She comes in."},
    {"kind": "person", "name": "Anna", "aliases": ["the little one"], "description": "A child who hides."},
    {"kind": "person", "name": "Anna", "aliases": ["the elder"], "description": ""},
    {"kind": "person", "name": "Thomas", "aliases": ["Tom"], "description": "He waves."},
    {"kind": "person", "name": "Tom", "aliases": [], "description": "His son."},
    {"kind": "person", "name": "the narrator", "narrator": True, "description": "Who sees it."},
    {"kind": "person", "name": "the neighbour", "aliases": [], "description": "Nobody in this text."},
]


def test_two_people_of_one_name_stay_two_and_nobody_says_which_of_them_a_text_means(tmp_path: Path) -> None:
    import_manuscript(tmp_path / "it", manuscript(TWO), "two.md", {"system": "vanilla", "model": "scripted:none"})
    folder = ProjectFolder.open(tmp_path / "it")
    options = Options(environ={}, models={"scripted:none": ScriptedModel(lambda _: json.dumps({"entries": TWINS}))})
    folder.write_given("plan/codex.yaml", "entries:\n- {name: Anna, description: Which of them?}\n")
    asyncio.run(read_names(folder, folder.settings, options, entries_read))
    project = Project.open(tmp_path / "it", {})
    expected = {
        "Anna": ((), ("Which of them?",)),
        "Anna (the elder)": (("Anna", "the elder", "Anna Vogt"), ("She comes in.",)),
        "Anna (the little one)": (("Anna", "the little one"), ("A child who hides.",)),
        "Thomas": (("Tom",), ("He waves.",)),
        "Tom": ((), ("His son.",)),
        "the narrator": ((), ("Who sees it.",)),
    }
    assert {one.name: (one.aliases, one.about) for one in project.codex().entries} == expected
    codex = codex_of(project)
    assert codex.named_at(TWO, TWO.index("little")) == ("Anna (the little one)",)
    assert codex.said_at(TWO, TWO.index("Anna,"), None) == [
        "This name may mean Anna, Anna (the elder) or Anna (the little one)."
    ]
    assert codex.said_at(TWO, TWO.index("Tom"), None) == ["This name may mean Thomas or Tom."]
    assert {name: row(project, name).count for name in ("Thomas", "Tom", "Anna (the elder)")} == {
        "Thomas": 3,
        "Tom": 2,
        "Anna (the elder)": 3,
    }
    assert "“Tom” may mean Thomas or Tom. Its mentions count for each." in codex.about("Thomas", None)
    project.set_entry("Thomas")
    project.set_entry("Anna (the little one)", new_name="Anne")
    assert {name: (row(project, name).own or CodexEntry("")).aliases for name in ("Thomas", "Anne")} == {
        "Thomas": (),
        "Anne": ("the little one",),
    }, "an alias of another is not written down"
    assert row(project, "Anna (the little one)").name == "Anne"
    project.remove_entry("Anna")
    with pytest.raises(
        UsageError,
        match=r"'Anna' may mean Anne or Anna \(the elder\)\. Specify one of these\. "
        r"To add an entry 'Anna' of your own, give its kind \(`--kind`\)\.",
    ):
        project.set_entry("Anna", secret="Hers.")
    project.set_entry("Anna", kind="person", secret="Hers.")
    assert row(project, "Anna").own == CodexEntry("Anna", secret="Hers.")
    assert {one.name for one in project.codex().entries} == {*expected, "Anne"} - {"Anna (the little one)"}
    project.undo()
    assert project.set_entry("Anna (the elder)", new_name="Anna").name == "Anna"
    assert row(project, "Anna").about == ("She comes in.",)
    project.undo()
    project.set_entry("Anna (the elder)")
    assert {one.name for one in project.codex().entries} == {*expected, "Anne"} - {"Anna", "Anna (the little one)"}


def test_a_change_of_the_codex_says_which_texts_it_makes_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model continued the last part of an imported book, and its prompt has what the codex says of Mara."""
    book = "# It\n\n## One\n\nMara kept the ferry.\n\n## Two\n\nMara waited.\n\nIt rained.\n"
    script = tmp_path / "script.toml"
    script.write_text(f'[replies]\n"writer:continue" = "{"Mara rowed to the island. " * 12}"\n', encoding="utf-8")
    settings = {"system": "end-to-end", "model": f"scripted:{script}"}
    import_manuscript(tmp_path / "it", manuscript(book), "it.md", settings)
    project = Project.open(tmp_path / "it", {})
    with monkeypatch.context() as patched:
        patched.setattr(Project, "expected", None)  # nothing is estimated in a book that no model has touched
        assert project.set_entry("Mara", description="A keeper.").remarks == ()
    project.undo()
    project.continue_text("two", words=60)
    project.update()
    said = project.set_entry("Mara", description="A keeper.").remarks
    assert said == ("1 text is stale by this: Two. `fabula update` rewrites it; `fabula text pin two` keeps it.",)
    assert [one.name for one in project.artefacts("story").artefacts if one.stale] == ["two"]
    assert project.set_entry("Mara", description="A girl.").remarks == (), "it was stale before"
    assert project.remove_entry("Mara").remarks == ()
    project.pin("two")
    assert project.set_entry("Mara", description="A keeper.").remarks == ()


ANNA: dict[str, object] = {"kind": "person", "name": "Anna", "description": "She looks."}
HARBOUR: dict[str, object] = {
    "kind": "place",
    "name": "Anna",
    "aliases": ["the harbour"],
    "description": "Where ships lie.",
}


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        (
            "Anna saw the harbour. The ferry stayed in Anna.",
            [[ANNA, HARBOUR, {"kind": "place", "name": "the harbour"}]],
            {
                "Anna (1)": ("person", ("Anna",), ("She looks.",)),
                "Anna (the harbour)": ("place", ("Anna", "the harbour"), ("Where ships lie.",)),
            },
        ),
        (
            "Anna saw the harbour.\n\n" + 400 * "The ferry stayed in Anna, and nobody came.\n\n",
            [[ANNA], [HARBOUR, {"kind": "person", "name": "Anna"}]],
            {
                "Anna (1)": ("person", ("Anna",), ("She looks.",)),
                "Anna (the harbour)": ("place", ("Anna", "the harbour"), ("Where ships lie.",)),
            },
        ),
        (
            "Anna Berg and Anna Holm met Anna (Berg) and Anna (1).",
            [
                [ANNA | {"aliases": [of], "description": of} for of in ("Berg", "Holm")]
                + [{"kind": "person", "name": f"Anna ({of})", "description": f"The {of}."} for of in ("Berg", "1")]
            ],
            {
                "Anna (2)": ("person", ("Anna", "Berg"), ("Berg",)),
                "Anna (Holm)": ("person", ("Anna", "Holm"), ("Holm",)),
                "Anna (Berg)": ("person", (), ("The Berg.",)),
                "Anna (1)": ("person", (), ("The 1.",)),
            },
        ),
    ],
    ids=["a place is no person", "nor is it one of the pages before", "a title may be a name"],
)
def test_everyone_and_everything_that_a_reply_keeps_apart_is_proposed(
    tmp_path: Path, text: str, read: list[list[dict[str, object]]], expected: dict[str, object]
) -> None:
    import_manuscript(tmp_path / "it", manuscript(text), "it.md", {"system": "vanilla", "model": "scripted:none"})
    folder = ProjectFolder.open(tmp_path / "it")
    replies = iter(read)
    model = ScriptedModel(lambda _: json.dumps({"entries": next(replies)}), capabilities=Capabilities(context=8192))
    options = Options(environ={}, models={"scripted:none": model})
    asyncio.run(read_names(folder, folder.settings, options, entries_read))
    assert len(model.asked) == len(read)
    entries = Project.open(tmp_path / "it", {}).codex().entries
    assert {one.name: (one.kind, one.aliases, one.about) for one in entries} == expected
