"""The Python API: eight verbs, their results, a model of one's own, and waiting in any surroundings."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

import fabula
from commandline import PLAN, Cli
from fabula import base
from fabula.app.calling import SystemSettings  # noqa: TC001 - mypy takes it as a value's type
from fabula.base.errors import ConfigError, ModelError, ModelUnavailableError, UnknownNameError, UsageError
from fabula.models.scripted import ScriptedModel
from tree import ROOT

STORY = (
    "The letter had lain on the table since Monday. On Saturday the wind turned, and Tobias came up the stairs. "
    "Mara lit the lamp against the order, and in the morning the boat came home."
)
BRIEF = "Write a story of about 40 words about Mara, who keeps a lighthouse."
ALONE: SystemSettings = {"system": "end-to-end", "preset": "faithful"}
VERBS = ("write", "plan", "check", "judge", "rank", "measure", "chat")
VERDICT = "The first has a storm.\n\nPlot: A\nCreativity: A\nDevelopment: Same\nLanguage Use: B\nOverall: A\n"


class Own:
    """A model of one's own."""

    def __init__(self, text: str = STORY) -> None:
        self.text, self.name = text, ""
        self.heard: list[str] = []

    def reply(self, prompt: str) -> str:
        self.heard.append(prompt)
        return self.text


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABULA_MODEL", raising=False)
    return tmp_path


@pytest.fixture
def cli(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(here, capsys, monkeypatch)


# names ----------------------------------------------------------------------------------------------------------------


def test_every_verb_has_its_asynchronous_twin_and_an_explanation() -> None:
    for name in VERBS:
        waits, twin = getattr(fabula, name), getattr(fabula, f"{name}_async")
        assert inspect.iscoroutinefunction(twin)
        assert not inspect.iscoroutinefunction(waits)
        assert waits.__name__ == name
        assert waits.__doc__ == twin.__doc__
        assert "Raises:" in twin.__doc__
        assert inspect.signature(waits) == inspect.signature(twin)


def test_all_names_are_listed_and_there() -> None:
    assert dir(fabula) == sorted(fabula.__all__)
    for name in fabula.__all__:
        assert getattr(fabula, name) is not None


def test_the_verb_measure_stays_one_when_the_room_of_that_name_is_imported() -> None:
    room = import_module("fabula.measure.items")
    assert room.Item.__name__ == "Item"
    assert inspect.isfunction(fabula.measure)


def test_importing_the_package_imports_next_to_nothing() -> None:
    code = (
        "import sys, fabula; print(sum(name.startswith('fabula') for name in sys.modules), 'pydantic' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["4", "False"]


def test_a_first_verb_imports_what_it_needs_and_no_more() -> None:
    heavy = (
        "numpy",
        "fastapi",
        "pydantic_ai",
        "httpx2",
        "markdown_it",
        "rich",
        "typer",
        "fabula.engine.replies.chatter",
    )
    mine = {
        "write": ("fabula.app.chatting", "fabula.evaluators.pairwise", "fabula.craft.conversation"),
        "read": ("fabula.app.chatting", "fabula.evaluators.pairwise", "fabula.craft.wording"),
    }
    for verb, others in mine.items():
        code = f"import sys, fabula; fabula.{verb}; print(*(one for one in {(*heavy, *others)} if one in sys.modules))"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert shown.split() == [], verb


# write and read -------------------------------------------------------------------------------------------------------


def test_a_model_of_ones_own_writes_and_is_replayed() -> None:
    model = Own()
    written = fabula.write(BRIEF, "lamp", model=model, **ALONE)
    assert written.text == STORY
    assert str(written) == STORY
    assert written.model == "program:Own"
    assert written.why == ""
    assert "keeps a lighthouse" in model.heard[0]
    again = fabula.write("lamp", model=model)
    assert again.story == written.story
    assert (again.to_dict()["asked"], again.to_dict()["replayed"]) == (0, 1)
    assert len(model.heard) == 1


def test_what_it_says_is_counted_and_belongs_to_its_identity() -> None:
    class Second(Own):
        identity = "2"

    first = fabula.write(BRIEF, "one", model=Own(), **ALONE)
    paid = first.to_dict()["paid"]["program:Own"]
    assert paid["estimated"] == paid["prompt"] + paid["reply"] > 40
    other = Second()
    other.name = "echo"
    assert fabula.write("one", model=other, anew=True).model == "program:echo@2"
    assert len(other.heard) == 1


def test_a_model_may_be_asynchronous() -> None:
    class Waits:
        async def reply(self, prompt: str) -> str:
            await asyncio.sleep(0)
            return STORY

    assert fabula.write(BRIEF, "lamp", model=Waits(), **ALONE).text == STORY


def test_its_error_is_told_in_words_with_its_line() -> None:
    class Broken:
        def reply(self, prompt: str) -> str:
            raise KeyError("no such key")

    with pytest.raises(
        ModelError, match=r"program:Broken, which plays the role 'writer', failed: KeyError.*test_python_api"
    ):
        fabula.write(BRIEF, "lamp", model=Broken(), **ALONE)


def test_one_that_gives_no_text_is_told() -> None:
    with pytest.raises(ModelError, match="program:Own gave no text for the role 'writer'"):
        fabula.write(BRIEF, "lamp", model=Own(""), **ALONE)


def test_what_is_no_model_is_said() -> None:
    with pytest.raises(UsageError, match=r"Own is a class. Pass an instance of it: model=Own\(\)"):
        fabula.write(BRIEF, "lamp", model=Own)  # type: ignore[arg-type] # a class
    with pytest.raises(UsageError, match=r"'int' is not a model. Pass a name .* or an object with a method reply"):
        fabula.write(BRIEF, "lamp", model=3)  # type: ignore[arg-type] # a number
    assert not Path("lamp").exists()


def test_a_project_of_such_a_model_says_at_the_command_line_whose_it_is(cli: Cli) -> None:
    fabula.write(BRIEF, "lamp", model=Own(), **ALONE)
    assert cli("write", "lamp").code == 0  # all of it is recorded
    ran = cli("write", "lamp", "--anew", "--seed", "2")
    assert ran.code == 1
    assert "belongs to a Python program and was not passed to fabula. Pass" in ran.err
    with pytest.raises(ModelUnavailableError):
        fabula.write("lamp", seed=3, anew=True)


def test_roles_have_models_of_their_own() -> None:
    judge = Own(VERDICT)
    judge.name = "judge"
    judged = fabula.judge(
        STORY, "There was a lamp, and it was good.", model={"judge": judge, "*": Own()}, preset="faithful"
    )
    assert len(judge.heard) == 2
    assert judged.report.ratings[0].rater == "program:judge"


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="Two models have the name 'program:Own'"):
        fabula.write(BRIEF, "lamp", model={"*": Own(), "writer": Own()}, **ALONE)


def test_events_are_heard_and_the_default_model_is_said(here: Path) -> None:
    script = here / "script.toml"
    script.write_text(f"[replies]\nwriter = {json.dumps(STORY)}\n", encoding="utf-8")
    heard: list[fabula.events.Event] = []
    written = fabula.write(
        BRIEF, "lamp", on_event=heard.append, environ={"FABULA_MODEL": f"scripted:{script}"}, **ALONE
    )
    assert written.why == "set by FABULA_MODEL"
    assert heard[0] == fabula.events.Noted("", f"The model is scripted:{script}, set by FABULA_MODEL.")
    assert any(isinstance(event, fabula.events.TextArrived) for event in heard)
    assert fabula.write("lamp", environ={}).why == ""  # it goes on with the model it had


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    fabula.write(BRIEF, "lamp", model=Own(), **ALONE)
    fabula.measure("lamp")
    assert capfd.readouterr() == ("", "")


def test_a_brief_may_be_a_text_a_file_a_brief_or_a_project(here: Path) -> None:
    (here / "tale.md").write_text(f"# The Lamp\n\n{BRIEF}\n", encoding="utf-8")
    model = Own()
    by_file = fabula.write("tale.md", model=model, **ALONE)
    assert by_file.project.folder == Path("tale")
    assert fabula.write(Path("tale.md"), model=model).story == by_file.story
    assert fabula.write(fabula.Brief(BRIEF, "The Lamp"), model=model, **ALONE).project.folder == Path("the-lamp")
    assert fabula.write(BRIEF, model=model, **ALONE).project.folder == Path("write-a-story-of-about-40")
    assert fabula.write(by_file, model=model).story == by_file.story
    assert fabula.write(fabula.Project.open(Path("tale")), model=model).story == by_file.story


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("breif.md", r"There is no file or folder breif.md. Pass the path of an existing one, or the text itself."),
        ("", "The brief brief is empty"),
        (3, "'int' is not a brief. Pass a text, the path of a file, a Brief or a project."),
    ],
)
def test_what_is_no_brief_is_said(what: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fabula.write(what, model=Own())  # type: ignore[arg-type] # that is the point


def test_an_unknown_setting_is_named_before_anything_is_made() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown setting 'sytem'. Did you mean 'system'"):
        fabula.write(BRIEF, "lamp", sytem="snap")  # type: ignore[call-arg] # two letters too few
    assert not Path("lamp").exists()


@pytest.mark.parametrize("settings", [{"config": 3}, {"roles": 3}, {"roles": {"writer": 3}}], ids=str)
def test_a_setting_that_has_to_be_a_table_is_said(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"(config|roles|writer)=3 is not a mapping. Pass names with their values"):
        fabula.write(BRIEF, "lamp", model=Own(), **settings)
    assert not Path("lamp").exists()
    with pytest.raises(ConfigError, match="config=3 is not a mapping"):
        fabula.measure(STORY, config=3)  # type: ignore[arg-type] # a wrong one


def test_what_is_wrong_is_said_before_anything_is_made() -> None:
    with pytest.raises(UsageError, match="'many' is not a number of words"):
        fabula.write(BRIEF, "lamp", words="many", model=Own(), system="end-to-end")
    with pytest.raises(UnknownNameError, match="Unknown role 'critic'"):
        fabula.write(BRIEF, "lamp", model={"*": Own(), "critic": "smollm2"}, **ALONE)
    assert not Path("lamp").exists()
    with pytest.raises(UsageError, match="No story was passed"):
        fabula.check(model=Own())


def test_what_write_gives_is_what_the_command_prints(cli: Cli, here: Path) -> None:
    (here / "script.toml").write_text(f"[replies]\nwriter = {json.dumps(STORY)}\n", encoding="utf-8")
    fabula.write(BRIEF, "lamp", model="scripted:script.toml", **ALONE)
    mine = fabula.write("lamp").to_dict()
    assert mine == cli("write", "lamp", "--json").json


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("a.txt", STORY, ["story"]),
        ("a.md", f"# T\n\n<!-- scene: One -->\n{STORY}\n", ["One"]),
        ("a.json", json.dumps([{"_id": 0, "title": "One", "content": STORY}]), ["One"]),
        (
            "a.fountain",
            f"INT. TOWER - NIGHT\n\n{STORY}\n\nEXT. QUAY - DAY\n\n{STORY}\n",
            ["INT. TOWER - NIGHT", "EXT. QUAY - DAY"],
        ),
        ("a.jsonl", json.dumps({"id": "x", "text": STORY}) + "\n", ["story"]),
    ],
)
def test_read_gives_a_story_in_any_form(here: Path, name: str, text: str, labels: list[str]) -> None:
    (here / name).write_text(text, encoding="utf-8")
    story = fabula.read(name)
    assert isinstance(story, fabula.Story)
    assert [scene.label for scene in story.scenes] == labels


def test_read_gives_a_project_and_says_what_is_none(here: Path) -> None:
    fabula.write(BRIEF, "lamp", model=Own(), **ALONE)
    assert isinstance(fabula.read("lamp"), fabula.Project)
    (here / "many.jsonl").write_text((json.dumps({"text": STORY}) + "\n") * 2, encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"many.jsonl contains 2 stories. Pass its path to fabula.rank or fabula.measure."
    ):
        fabula.read("many.jsonl")


# what was written -----------------------------------------------------------------------------------------------------


def test_judge_says_which_is_better_and_shows_it() -> None:
    judged = fabula.judge(
        fabula.Story.parse(f"# Cape\n\n{STORY}"), "There was a lamp.", model=Own(VERDICT), preset="faithful"
    )
    assert judged.verdicts["development"] == "same"
    assert judged.better == "same"  # it always likes what is shown first
    assert set(judged.to_dict()) == {"report", "verdicts", "asked", "replayed", "bill"}
    assert "<table>" in judged._repr_html_()
    assert "The first has a storm." in judged._repr_html_()
    assert Path("evaluation/ratings.jsonl").is_file()


def test_rank_draws_its_strengths(here: Path) -> None:
    for system in ("cape", "harbour"):
        for prompt in ("one", "two"):
            (here / "stories" / system).mkdir(parents=True, exist_ok=True)
            (here / "stories" / system / f"{prompt}.md").write_text(f"{STORY} {system} {prompt}", encoding="utf-8")
    ranked = fabula.rank("stories", folder="ranking", model=Own(VERDICT), preset="faithful")
    assert set(ranked.strengths["overall"]) == {"cape", "harbour"}
    assert ranked._repr_svg_().startswith("<svg")
    assert "<svg" in ranked._repr_html_()
    assert ranked.files[0] == Path("ranking/pairwise.html")


def test_check_finds_and_shows_both_passages() -> None:
    script = ROOT / "src/fabula/evaluators/atlas/script.toml"
    item = next(text for text in script.read_text(encoding="utf-8").split('"""') if "Mara Voss climbed" in text)
    checked = fabula.check(item, model=ScriptedModel.read(script), config={"baseline": False})
    assert {one["category"] for one in checked.findings} >= {"object"}
    assert checked.page == Path("evaluation/atlas.html")
    assert "her brown logbook" in checked._repr_html_()
    assert checked.to_dict()["left"] == len(checked.findings)


def test_a_project_is_checked_in_its_own_folder_by_its_model() -> None:
    script = ROOT / "examples/scripts/twenty_lines.toml"
    written = fabula.write(BRIEF, "lamp", model=f"scripted:{script}", words="100-200", system="end-to-end")
    checked = fabula.check(written, environ={})
    assert checked.page.parent == Path("lamp/evaluation")
    assert checked.stories[0]["id"] == "story"


def test_measure_counts_without_a_model(cli: Cli, here: Path) -> None:
    (here / "lamp.md").write_text(STORY, encoding="utf-8")
    measured = fabula.measure("lamp.md", reference=STORY + " And so it was.")
    assert measured.value("words") == 35
    assert [report.evaluator for report in measured.reports] == ["surface", "rouge"]
    assert "<table>" in measured._repr_html_()
    assert fabula.measure("lamp.md").to_dict() == cli("measure", "lamp.md", "--json").json
    with pytest.raises(UsageError, match="BERTScore compares stories with references"):
        fabula.measure(STORY, bertscore=True)


def test_plan_gives_scenes_and_their_picture(here: Path) -> None:
    project = fabula.Project.create(here / "lamp", fabula.Brief(BRIEF), {"system": "ibsen"})
    (project.folder / "plan" / "plan.yaml").write_text(PLAN, encoding="utf-8")
    planned = fabula.plan(project, model=Own())
    assert [scene.name for scene in planned.plan.scenes] == ["The letter", "The wreck"]
    assert planned.file.is_file()
    assert planned.project.settings.system == "ibsen"
    assert planned._repr_svg_().startswith("<svg")
    assert "The lamp room, at dusk" in planned._repr_html_()
    assert planned.to_dict()["found"]["plan"]["scenes"][0]["name"] == "The letter"


def test_a_plan_is_read_off_a_story() -> None:
    with pytest.raises(ModelError, match="program:Own gave no text"):
        fabula.plan(fabula.Story.parse(f"# The Lamp\n\n{STORY}"), model=Own(""))
    assert Path("the-lamp/.fabula/source.md").is_file()


# talking --------------------------------------------------------------------------------------------------------------

TALK: SystemSettings = {"system": "vanilla", "config": {"open_ended": True}}


def test_a_chat_is_kept_and_gone_on_with() -> None:
    model = Own("[Mara: (counts) Ten are home.]")
    chat = fabula.chat(STORY, "Mara", player="Tobias", folder="talk", model=model, **TALK)
    turn = chat.say("What now?")
    assert str(turn) == "(counts) Ten are home."
    assert (chat.player, chat.others) == ("Tobias", ("Mara",))
    chat.close()
    with fabula.chat("talk", "Mara", player="Tobias", model=model) as again:
        assert [one.said for one in again.turns] == ["What now?"]
        again.say("And now?")
        assert again.undo() == turn
        assert "**Tobias:** What now?" in again.transcript
        assert again.to_dict()["turns"][0]["answer"] == "(counts) Ten are home."
        assert "<b>Mara:</b>" in again._repr_html_()
    assert Path("talk/chat/tobias-mara.jsonl").is_file()


def test_a_chat_holds_no_project_between_two_lines() -> None:
    model = Own("[Mara: Ten are home.]")
    chat = fabula.chat(STORY, "Mara", player="Tobias", folder="talk", model=model, **TALK)
    chat.say("What now?")
    with fabula.Project.open("talk").locked():
        pass
    chat.say("And then?")
    assert len(chat.turns) == 2


def test_a_stranger_talks_with_the_only_person_of_a_story() -> None:
    alone = "Mara kept the lamp. Every night she climbed the stairs, and nobody asked Mara why. So Mara lit it."
    chat = fabula.chat(alone, "Mara", folder="talk", model=Own("[Mara: Who are you?]"), **TALK)
    assert str(chat.say("Good evening.")) == "Who are you?"
    assert chat.player == "Visitor"
    assert Path("talk/cards/persona-visitor.json").is_file()
    assert fabula.chat("talk", "Mara", model=Own()).name == chat.name


def test_a_wrong_name_is_found_before_anything_is_made() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown character 'Maria'. Did you mean 'Mara'"):
        fabula.chat(
            f"{STORY} Mara laughed. Mara told Tobias, and Tobias told Mara.",
            "Maria",
            player="Tobias",
            folder="talk",
            model=Own(),
            **TALK,
        )
    assert not Path("talk").exists()


async def test_a_chat_in_an_event_loop() -> None:
    model = Own("[Mara: Ten are home.]")
    async with await fabula.chat_async(STORY, "Mara", player="Tobias", folder="talk", model=model, **TALK) as chat:
        assert str(await chat.say_async("What now?")) == "Ten are home."
        assert str(chat.say("And in a notebook?")) == "Ten are home."  # in a thread beside the loop


# surroundings ---------------------------------------------------------------------------------------------------------


async def test_every_verb_waits_inside_a_running_loop_too() -> None:
    written = fabula.write(BRIEF, "lamp", model=Own(), **ALONE)
    assert (await fabula.write_async("lamp", model=Own())).story == written.story
    assert fabula.measure(written).value("words") == 35


def test_several_threads_write_at_once() -> None:
    found: dict[int, str] = {}

    def write(number: int) -> None:
        found[number] = fabula.write(BRIEF, f"lamp-{number}", model=Own(), **ALONE).text

    threads = [threading.Thread(target=write, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == dict.fromkeys(range(3), STORY)


def test_an_interrupt_ends_a_call_of_a_model_that_blocks(tmp_path: Path) -> None:
    code = (
        "import fabula, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs have it ignored
        "class Slow:\n"
        "    def reply(self, prompt):\n"
        "        print('asked', flush=True)\n"
        "        time.sleep(600)\n"
        f"fabula.write({BRIEF!r}, 'slow', model=Slow(), system='end-to-end')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)  # and not after the 600 s that the model sleeps
    assert "KeyboardInterrupt" in err
    assert fabula.write(tmp_path / "slow", model={"*": Own()}, seed=1).text == STORY


# public modules -------------------------------------------------------------------------------------------------------


def test_events_and_errors_are_modules_that_can_be_imported_from() -> None:
    code = (
        "from fabula.events import TextArrived\nfrom fabula.errors import UsageError\nimport fabula\n"
        "assert fabula.events.TextArrived is TextArrived and fabula.errors.UsageError is UsageError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_event_and_every_error_is_public() -> None:
    assert {kind.__name__ for kind in get_args(fabula.events.Event)} <= set(fabula.events.__all__)
    every = vars(base.errors).items()
    raised = {name for name, kind in every if isinstance(kind, type) and issubclass(kind, Exception)}
    assert raised == set(fabula.errors.__all__)
