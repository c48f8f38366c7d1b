"""Writing in a project: the record of a run, its estimate, its stops, and the one synchronous entry."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from fabula import write
from fabula.app import calling
from fabula.app import writing as authoring
from fabula.app.writing import Options, dry_run, dry_run_in, write_in
from fabula.base.errors import JournalError, JournalMissError, ModelError, UnknownNameError, UsageError
from fabula.engine.events import CallFinished, CallRetried, Event, RunFinished, RunStarted
from fabula.engine.journal import CallFilter
from fabula.engine.roles import Cast
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief, Story
from fabula.systems import systems

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Request
    from fabula.project.casting import Environment

SCRIPT = f"scripted:{systems()['agents-room'].folder / 'script.toml'}"
SETTINGS: dict[str, Any] = {"model": SCRIPT, "preset": "faithful"}
BRIEF = Brief("Write about Mara, who keeps a lighthouse.", "The Lamp")


class Closing(ScriptedModel):
    """A scripted model that knows whether it was closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def home(tmp_path: Path) -> ProjectFolder:
    return ProjectFolder.create(tmp_path / "tale", BRIEF, SETTINGS)


def playing(monkeypatch: pytest.MonkeyPatch, model: ScriptedModel) -> None:
    """Let `model` play every role."""

    def cast(settings: Settings, roles: tuple[str, ...], world: Environment, open_role: str) -> Cast:
        return Cast.of(model)

    monkeypatch.setattr(authoring, "open_cast", cast)


def runs(home: ProjectFolder) -> list[dict[str, Any]]:
    with home.journal as journal:
        return journal.runs()


async def test_a_run_leaves_story_files_record_and_bill(home: ProjectFolder) -> None:
    heard: list[Event] = []
    outcome = await write_in(home, home.settings, Options(listeners=[heard.append]))
    assert Story.parse(home.story_file.read_text(encoding="utf-8")) == outcome.story
    assert [scene.label for scene in outcome.story.scenes][0::4] == ["Exposition", "Resolution"]
    assert (home.folder / "story" / "05-resolution.md").is_file()
    assert outcome.budget.bill()["plot"].reply > 0
    (run,) = runs(home)
    assert (run["system"], run["error"], run["settings"]["preset"]) == ("agents-room", "", "faithful")
    assert len(run["settings"]["prompts_digest"]) == 64
    assert isinstance(heard[0], RunStarted)
    assert heard[0].roles[0] == "conflict"
    assert heard[-1] == RunFinished("agents-room", "")


async def test_a_second_run_asks_nobody(home: ProjectFolder) -> None:
    first = await write_in(home, home.settings, Options())
    heard: list[Event] = []
    again = await write_in(home, home.settings, Options(listeners=[heard.append]))
    assert again.story == first.story
    finished = [event for event in heard if isinstance(event, CallFinished)]
    assert len(finished) == 9
    assert all(event.replayed for event in finished)
    assert again.budget.spent_tokens == 0


async def test_an_edited_file_is_announced_with_what_follows_and_then_done(home: ProjectFolder) -> None:
    await write_in(home, home.settings, Options())
    (home.folder / "plan" / "setting.md").write_text("A lighthouse on the moon.\n", encoding="utf-8")
    expected, changes = await dry_run_in(home, home.settings, Options())
    assert [change.path for change in changes] == ["setting"]
    heard: list[Event] = []
    await write_in(home, home.settings, Options(listeners=[heard.append]))
    asked = [e.path for e in heard if isinstance(e, CallFinished) and not e.replayed]
    assert asked == [call.path for call in expected.planned]
    assert asked[0] == "plot/plot"
    assert len(asked) == 6
    assert (await dry_run_in(home, home.settings, Options()))[0].planned == []


async def test_what_a_finished_run_asked_is_neither_rendered_nor_cleaned_again(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await write_in(home, home.settings, Options())

    def fails(*_: object, **__: object) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr("fabula.engine.prompts.SystemPrompts.render", fails)
    monkeypatch.setattr("fabula.craft.prose.clean_prose", fails)
    assert (await write_in(home, home.settings, Options())).story == first.story
    dry, _ = await dry_run_in(home, home.settings, Options())
    assert (dry.planned, dry.replayed) == ([], 9)


async def test_another_setting_another_brief_or_a_retake_is_planned_anew(home: ProjectFolder) -> None:
    await write_in(home, home.settings, Options())
    with home.journal as journal:
        journal.decisions.add("setting", "retake")
    retaken, _ = await dry_run_in(home, home.settings, Options())
    assert [call.path for call in retaken.planned][:2] == ["setting/setting", "plot/plot"]
    warmer = home.settings.with_({"sampling": {"temperature": 0.1}})
    assert len((await dry_run_in(home, warmer, Options()))[0].planned) == 9
    home.brief_file.write_text("Write about Jonas, who keeps a lighthouse.\n", encoding="utf-8")
    assert len((await dry_run_in(home, home.settings, Options()))[0].planned) == 9


async def test_a_frozen_run_leaves_no_record_and_names_what_is_missing(home: ProjectFolder) -> None:
    with pytest.raises(JournalMissError, match="Nothing has been recorded here yet"):
        await write_in(home, home.settings, Options(frozen=True))
    first = await write_in(home, home.settings, Options())
    other = home.settings.with_({"seed": 2})
    with pytest.raises(JournalMissError, match="holds no reply for conflict/conflict"):
        await write_in(home, other, Options(frozen=True))
    assert (await write_in(home, home.settings, Options(frozen=True))).story == first.story
    assert len(runs(home)) == 1


async def test_a_new_story_is_estimated_without_a_project() -> None:
    expected = await dry_run(BRIEF, Settings.of(SETTINGS, "here"), Options())
    assert len(expected.planned) == 9
    assert expected.cost == 0.0


async def test_prompts_of_the_users_folder_are_used(home: ProjectFolder, tmp_path: Path) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    (own / "plot.jinja").write_text("{% block user %}My own words.{% endblock %}")
    await write_in(home, home.settings.with_({"prompts": str(own)}), Options())
    with home.journal as journal:
        assert journal.calls.find(CallFilter(under="plot"), prompts=True)[0].messages == (("user", "My own words."),)


# how runs end ---------------------------------------------------------------------------------------------------------


async def test_an_error_ends_the_record_with_its_sentence_and_closes_the_cast(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, heard = Closing({"conflict": "Mara wants the lamp."}), list[Event]()
    playing(monkeypatch, model)
    with pytest.raises(ModelError, match="no reply for the role 'character'") as caught:
        await write_in(home, home.settings, Options(listeners=[heard.append]))
    assert runs(home)[0]["error"] == str(caught.value)
    assert heard[-1] == RunFinished("agents-room", str(caught.value))
    assert model.closed == 1


async def test_a_cancelled_run_is_recorded_as_stopped_and_closes_the_cast(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def waiting(request: Request) -> str:
        if request.role == "character":
            asked.set()
            await asyncio.Event().wait()
        return "Mara wants the lamp."

    model, heard = Closing(waiting), list[Event]()
    playing(monkeypatch, model)
    task = asyncio.create_task(write_in(home, home.settings, Options(listeners=[heard.append])))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert runs(home)[0]["error"] == "stopped"
    assert heard[-1] == RunFinished("agents-room", "stopped")
    assert model.closed == 1
    with home.lock():  # it was given back
        pass


def test_an_interrupted_run_is_recorded_as_stopped_and_closes_the_cast(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(request: Request) -> str:
        raise KeyboardInterrupt

    model = Closing(interrupted)
    playing(monkeypatch, model)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(write_in(home, home.settings, Options()))
    assert runs(home)[0]["error"] == "stopped"
    assert model.closed == 1


async def test_a_cast_is_closed_where_the_run_cannot_begin(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Closing({})
    playing(monkeypatch, model)
    with pytest.raises(UnknownNameError, match=r"Unknown agents-room setting 'wordz'"):
        await write_in(home, home.settings.with_({"config": {"wordz": "300"}}), Options())
    with pytest.raises(UnknownNameError, match=r"Unknown agents-room setting 'wordz'"):
        await dry_run_in(home, home.settings.with_({"config": {"wordz": "300"}}), Options())
    assert model.closed == 2


async def test_a_journal_that_breaks_in_a_run_is_told_of_once(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(request: Request) -> str:
        journal.close()
        return "Mara wants the lamp."

    model, heard = Closing(breaking), list[Event]()
    playing(monkeypatch, model)
    journal = home.journal
    monkeypatch.setattr(ProjectFolder, "journal", journal)
    with pytest.raises(JournalError, match=r"The journal is closed"):
        await write_in(home, home.settings, Options(listeners=[heard.append]))
    assert isinstance(heard[-1], RunFinished)
    assert model.closed == 1


async def test_a_journal_that_breaks_at_the_very_end_is_told_of(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = home.journal
    monkeypatch.setattr(ProjectFolder, "journal", journal)
    monkeypatch.setattr(ProjectFolder, "write_story", lambda *_: journal.close())
    with pytest.raises(JournalError, match=r"The journal is closed"):
        await write_in(home, home.settings, Options())


async def test_retries_are_told_to_listeners(home: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def cast(settings: Settings, roles: tuple[str, ...], world: Environment, open_role: str) -> Cast:
        assert world.on_retry is not None
        world.on_retry("m", 1, 0.5, "busy")
        return Cast.of(ScriptedModel.read(systems()["agents-room"].folder / "script.toml"))

    heard: list[Event] = []
    monkeypatch.setattr(authoring, "open_cast", cast)
    await write_in(home, home.settings, Options(listeners=[heard.append]))
    assert heard[0] == CallRetried("m", 1, 0.5, "busy")


# the synchronous entry ------------------------------------------------------------------------------------------------


def test_a_story_is_written_from_a_text_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "tale"
    story = write("# The Lamp\n\nWrite about Mara.", folder=str(folder), **SETTINGS)
    assert story.title == "The Lamp"
    assert ProjectFolder.open(folder).settings.preset == "faithful"
    assert write("# The Lamp\n\nWrite about Mara.", folder=folder).story == story.story
    assert len(runs(ProjectFolder.open(folder))) == 2


def test_a_brief_may_be_a_file(tmp_path: Path) -> None:
    brief = tmp_path / "idea.md"
    brief.write_text("Write about Mara.", encoding="utf-8")
    assert write(brief, folder=tmp_path / "tale", system="agents-room", **SETTINGS).words > 50


def test_settings_of_one_call_are_laid_over_the_projects(tmp_path: Path) -> None:
    folder = tmp_path / "tale"
    write("Write about Mara.", folder=folder, **SETTINGS)
    short = write("Write about Mara.", folder=folder, config={"variant": "plan"})
    assert [scene.label for scene in short.scenes] == ["Story"]
    with pytest.raises(UnknownNameError, match=r"Unknown setting 'presett'. Did you mean 'preset'\?"):
        write("Write about Mara.", folder=folder, presett="x")  # type: ignore[call-arg] # a letter too many


def test_another_brief_is_not_written_into_a_project(tmp_path: Path) -> None:
    write("Write about Mara.", folder=tmp_path / "tale", **SETTINGS)
    with pytest.raises(
        UsageError, match=r"tale has a different brief\. Change its brief.md, or choose another folder\."
    ):
        write("Write about Tobias.", folder=tmp_path / "tale", **SETTINGS)


async def test_in_a_notebook_it_is_written_in_a_thread_beside_the_running_loop(tmp_path: Path) -> None:
    before = threading.active_count()
    story = write("Write about Mara.", folder=tmp_path / "tale", **SETTINGS)
    assert story.words > 50
    assert threading.active_count() == before


async def test_an_error_comes_out_of_the_thread_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown system 'agent-room'"):
        write("Write about Mara.", folder=tmp_path / "tale", **SETTINGS, system="agent-room")


async def test_an_interrupt_in_a_notebook_stops_the_story_in_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ProjectFolder.create(tmp_path / "tale", BRIEF, SETTINGS)
    asked = threading.Event()

    async def waiting(request: Request) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the class it stands for
            done = super().submit(*given, **more)

            def interrupt(timeout: float | None = None) -> None:
                asked.wait()
                raise KeyboardInterrupt

            done.result = interrupt  # type: ignore[method-assign] # as if Ctrl-C came while we wait
            return done

    playing(monkeypatch, Closing(waiting))
    monkeypatch.setattr(calling, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(BRIEF.text, folder=home.folder)
    assert runs(home)[0]["error"] == "stopped"


def test_an_interrupt_after_the_end_finds_nothing_to_stop() -> None:
    async def quick() -> int:
        return 3

    async def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
        class Late(ThreadPoolExecutor):
            def submit(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the class it stands for
                done = super().submit(*given, **more)
                result = done.result

                def interrupt(timeout: float | None = None) -> None:
                    assert result() == 3
                    raise KeyboardInterrupt

                done.result = interrupt  # type: ignore[method-assign] # Ctrl-C at the last moment
                return done

        monkeypatch.setattr(calling, "ThreadPoolExecutor", Late)
        with pytest.raises(KeyboardInterrupt):
            calling.waited_for(quick())

    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(notebook(patch))
