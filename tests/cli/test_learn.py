"""`fabula learn` up to training and after it: dry runs, what is too little, reports, status, forgetting."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from commandline import BY_PARTS
from fabula.base.extras import installing
from fabula.models.scripted import ScriptedModel
from fabula.project.learned import learned_home, places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commandline import Cli
    from fabula.training.examples import PreferencePair

PARTS = ("exposition", "rising-action", "climax", "falling-action", "resolution")
ENVIRON = "fabula.cli.commands.learn.trainer_for"


@pytest.fixture(autouse=True)
def tiny(here: Path) -> Path:
    """The base: a GGUF file."""
    return tinygguf.write_model(here / "tiny.gguf", tinygguf.weights())


@pytest.fixture
def edited(cli: Cli, project: Path) -> Callable[..., list[str]]:
    """Makes projects in which the author rewrote every part."""

    def made(count: int) -> list[str]:
        names = ["lamp", *(f"lamp-{number}" for number in range(2, count + 1))]
        for name in names[1:]:
            shutil.copytree(project, cli.folder / name)
        for name in names:
            for number, part in enumerate(PARTS, 1):
                file = next((cli.folder / name / "story").glob(f"*-{part}.md"))
                head, _, text = file.read_text(encoding="utf-8").rpartition("\n\n")
                words = text.split()
                file.write_text(f"{head}\n\nIt was {name}. {' '.join(words[: -1 - number])}. No more was said.\n")
            assert cli("update", name, "--yes").code == 0
        return names

    return made


@dataclass
class Fake:
    """A trainer that ranks as the author did, or as nobody."""

    folder: Path
    right: bool = True

    def tune(self, data: Path, out: Path) -> None:
        tinygguf.write_room(self.folder / "room", self.folder / "tiny.gguf", {"climax": 5})
        shutil.copytree(self.folder / "room" / "climax", out)

    def margins(self, adapter: Path, pairs: Sequence[PreferencePair]) -> dict[str, tuple[float, float]]:
        return {pair.id: (-1.0, 1.0 if self.right else -1.0) for pair in pairs}


@pytest.fixture
def trains(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fake]:
    """Has a fake train."""

    def fake(*, right: bool = True) -> Fake:
        trainer = Fake(here, right)
        monkeypatch.setattr(ENVIRON, lambda *_: trainer)
        return trainer

    return fake


def base(cli: Cli) -> tuple[str, str]:
    return "--base", f"embedded:{cli.folder / 'tiny.gguf'}"


def test_too_few_choices_are_counted_and_the_way_to_more_is_told(cli: Cli, edited: Callable[..., list[str]]) -> None:
    ran = cli("learn", *edited(1), *base(cli))
    assert ran.code == 2
    assert "5 pairs of texts say what you prefer. Learning requires 12 or more" in ran.err
    assert "fabula text retake" in ran.err
    assert not learned_home({}).exists()


def test_without_any_choice_it_is_said_too(cli: Cli, project: Path) -> None:
    ran = cli("learn", "lamp", "--base", "smollm2")
    assert ran.code == 2
    assert "No pairs of texts say what you prefer" in ran.err


def test_a_model_on_a_server_cannot_be_tuned(cli: Cli, project: Path) -> None:
    ran = cli("learn", "lamp")
    assert ran.code == 2
    assert "Your projects write with scripted:" in ran.err
    assert "--base smollm2" in ran.err


def test_a_dry_run_says_pairs_parts_and_what_they_could_show(cli: Cli, edited: Callable[..., list[str]]) -> None:
    names = edited(3)
    ran = cli("learn", *names, *base(cli), "--dry-run")
    assert ran.code == 0, ran.err
    assert "15 pairs of texts (15 by edit), from 5 places in 3 projects" in ran.out, "two of them are copies"
    assert "6 trainings" in ran.out
    assert "an improvement can be shown if the tuned model corrects at least" in ran.out
    found: dict[str, Any] = cli("learn", *names, *base(cli), "--dry-run", "--json").json
    assert (found["pairs"], found["held_out"], found["parts"], found["trainings"]) == (15, 15, [3, 3, 3, 3, 3], 6)
    assert sorted(found["roles"]) == ["climax", "exposition", "falling_action", "resolution", "rising_action"]
    assert not places({})


def test_without_the_extra_it_says_how_to_get_it(
    cli: Cli, edited: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.base.extras.find_spec", lambda _: None)
    ran = cli("learn", *edited(3), *base(cli))
    assert ran.code == 2
    assert "Learning from your choices needs the package torch" in ran.err
    assert installing("train") in ran.err


def test_the_report_is_told_kept_and_forgotten(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    names = edited(3)
    trains()
    ran = cli("learn", *names, *base(cli))
    assert ran.code == 0, ran.err
    assert "Training 6 of 6: with all 15 pairs" in ran.err
    assert "the tuned model" in ran.out
    status = cli("learn", "--status")
    assert "author: 15 pairs" in status.out
    assert ran.out.splitlines()[0] in status.out
    home = learned_home(os.environ)
    shutil.copytree(home / "author", home / "broken")
    shutil.rmtree(home / "broken/adapters")
    (home / "broken/report.txt").unlink()
    assert "its adapter is missing, so learn again" in cli("learn", "--status").out
    shutil.rmtree(home / "broken")
    refused = cli("learn", "--forget")
    assert refused.code == 2
    assert "To remove it, use --yes" in refused.err
    gone = cli("learn", "--forget", "--yes")
    assert "1 adapter, the pairs, the report" in gone.out
    assert "Nothing has been learned yet" in cli("learn", "--status").out
    assert cli("learn", "--forget", "--yes", "--json").json == {"forgotten": []}


def test_what_is_not_better_is_not_used(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    names = edited(3)
    trains(right=False)
    ran = cli("learn", *names, *base(cli))
    assert ran.out.startswith("Not better.")
    assert "It is not used." in ran.out
    used = cli("learn", *names, *base(cli), "--use-anyway", "--json")
    assert used.json["in_use"] is True
    assert used.json["better"] is False


def test_what_was_learned_is_put_into_use_by_the_command_that_the_report_names(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    refused = cli("learn", "--use-anyway")
    assert refused.code == 2
    assert "No pairs of texts say what you prefer" in refused.err
    trains(right=False)
    names = edited(3)
    said = cli("learn", *names, *base(cli)).out
    assert "`fabula learn --use-anyway`" in said
    assert "The adapter itself was trained the same way on all pairs" in said
    used = cli("learn", "--use-anyway")
    assert used.code == 0, used.err
    assert "it because of --use-anyway." in used.out
    assert cli("learn", "--status", "--json").json["learned"][0]["in_use"] is True
    said = cli("learn", *names, *base(cli), "--author", "Ann Lee").out
    assert "`fabula learn --author 'Ann Lee' --use-anyway`" in said
    assert "from several authors: ann-lee, author. Choose one with --author NAME." in cli("learn", "--use-anyway").err
    assert cli("learn", "--use-anyway", "--author", "Ann Lee", "--json").json["in_use"] is True


def test_what_was_learned_is_switched_off_and_on(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    names = edited(3)
    nothing = cli("learn", "--no-use")
    assert (nothing.code, "there is nothing to turn off." in nothing.err) == (2, True)
    trains()
    assert cli("learn", *names, *base(cli), "--use-anyway", "--json").json["in_use"] is True
    off = cli("learn", "--no-use", "--json")
    assert (off.code, off.json["in_use"]) == (0, False)
    assert "It is kept but not used." in cli("learn", "--no-use").out
    on = cli("learn", "--use-anyway")
    assert (on.code, "New projects use it" in on.out) == (0, True)
    assert "apply to an author," in cli("learn", names[0], "--no-use").err
    assert "would have no effect:" in cli("learn", "--no-use", "--quick").err


def test_a_person_is_asked_before_forgetting(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    names = edited(3)
    trains()
    assert cli("learn", *names, *base(cli)).code == 0
    cli.at_terminal()
    kept = cli("learn", "--forget", stdin="n\n")
    assert "Nothing was removed" in kept.err
    assert cli("learn", "--forget", stdin="y\n").code == 0


def test_projects_of_two_authors_are_not_mixed(cli: Cli, edited: Callable[..., list[str]]) -> None:
    names = edited(2)
    for name, author in zip(names, ("Ann", "Bo"), strict=True):
        file = cli.folder / name / "fabula.toml"
        file.write_text(f'{file.read_text()}\n[author]\nname = "{author}"\n')
    ran = cli("learn", *names, *base(cli), "--dry-run")
    assert ran.code == 2
    assert "2 authors (Ann, Bo)" in ran.err


def test_two_authors_whose_names_make_one_folder_are_not_mixed(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake]
) -> None:
    names = edited(3)
    trains()
    assert cli("learn", *names, *base(cli), "--author", "Jörg").code == 0
    assert cli("learn", *names, *base(cli), "--author", "JÖRG", "--dry-run").code == 0
    ran = cli("learn", *names, *base(cli), "--author", "Jorg", "--dry-run")
    assert ran.code == 2
    assert "contains what was learned from Jörg" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--status", "--forget"), "Use only one of them"),
        (("--set", "rate"), "does not have the form FIELD=VALUE, such as"),
        (("nowhere",), "There is no folder nowhere"),
    ],
)
def test_what_cannot_be_meant_is_said(cli: Cli, project: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = cli("learn", *(arguments if arguments[0] != "--set" else ("lamp", *arguments)))
    assert ran.code != 0
    assert said in ran.err


# writing with it ------------------------------------------------------------------------------------------------------


@pytest.fixture
def learned(
    cli: Cli, edited: Callable[..., list[str]], trains: Callable[..., Fake], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """What is learned is in use; the embedded engine says what the script says."""
    trains()
    ran = cli("learn", *edited(3), *base(cli), "--use-anyway", "--json")
    assert ran.code == 0, ran.err

    def scripted(name: str, *_: object) -> ScriptedModel:
        model = ScriptedModel.read(cli.folder / "script.toml")
        model.name = model.identity = name
        return model

    monkeypatch.setattr("fabula.project.casting._embedded", scripted)
    return Path(ran.json["adapter"])


def begin(cli: Cli, *options: str) -> Any:  # noqa: ANN401 - what a command left
    return cli(
        "write", "brief.md", "--out", "new", "--model", f"embedded:{cli.folder / 'tiny.gguf'}", *BY_PARTS, *options
    )


def test_a_new_project_writes_with_what_was_learned_and_keeps_it(cli: Cli, learned: Path) -> None:
    ran = begin(cli)
    assert ran.code == 0, ran.err
    assert "fabula writes with what it learned from you (15 pairs, 20" in ran.err
    assert "with adapters for climax, exposition, falling_action, resolution" in ran.err
    again = cli("write", "new", "--json")
    assert again.json["asked"] == 0
    assert "fabula writes with what it learned" not in again.err


def test_without_it_nothing_is_taken(cli: Cli, learned: Path) -> None:
    ran = begin(cli, "--no-learned")
    assert "learned from you" not in ran.err
    assert "with adapters" not in ran.err
    assert cli("write", "new", "--json").json["asked"] == 0, "a project that has begun does not take it unasked"
    taken = cli("write", "new", "--learned", "--anew", "--json").json
    assert taken["asked"] == 5, "the roles that the author chose among"


def test_a_project_that_has_begun_is_as_it_was(cli: Cli, learned: Path) -> None:
    assert cli("write", "lamp", "--json").json["asked"] == 0


@pytest.mark.parametrize("options", [("--model", "scripted:script.toml"), ("--system", "end-to-end")])
def test_another_model_or_system_takes_nothing(cli: Cli, learned: Path, options: tuple[str, ...]) -> None:
    ran = cli(
        "write",
        "brief.md",
        "--out",
        "new",
        *(() if "--model" in options else ("--model", f"embedded:{cli.folder / 'tiny.gguf'}")),
        *options,
    )
    assert "learned from you" not in ran.err
    assert (cli.folder / "new").is_dir()
    refused = cli("write", "new", "--learned")
    assert refused.code == 2
    assert "Nothing that was learned can be used by" in refused.err


def test_the_same_name_with_other_weights_takes_nothing(cli: Cli, learned: Path) -> None:
    tinygguf.write_model(cli.folder / "tiny.gguf", tinygguf.weights(2))
    assert "learned from you" not in begin(cli).err


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_server_is_not_asked_for_what_was_learned(cli: Cli, learned: Path, *, forgotten: bool) -> None:
    begin(cli)
    if forgotten:
        assert cli("learn", "--forget", "--yes").code == 0
    refused = cli("update", "new", "--model", "openai-chat:other", "--base-url", "http://127.0.0.1:9/v1", "--dry-run")
    assert refused.code == 2
    assert (
        "not for openai-chat:other. To continue without it, run `fabula write --no-learned --anew -C new` with "
        "that model"
    ) in refused.err
    said = cli("status", "new").out
    assert f"From the last run, not in fabula.toml: (learned from you: {learned.name})" in said.replace("\n", " ")
    assert str(learned) not in said


def test_another_base_is_told_in_words_that_help(cli: Cli, learned: Path) -> None:
    begin(cli)
    tinygguf.write_model(cli.folder / "other.gguf", tinygguf.weights(2))
    refused = cli("write", "new", "--model", f"embedded:{cli.folder / 'other.gguf'}")
    assert refused.code == 2
    assert "This project uses what fabula learned from you, which is for embedded:" in refused.err
    assert "--no-learned" in refused.err


def test_a_project_replays_after_forgetting_and_says_what_to_do(cli: Cli, learned: Path) -> None:
    begin(cli)
    assert cli("learn", "--forget", "--yes").code == 0
    assert not learned.exists()
    assert cli("write", "new", "--json").json["asked"] == 0
    assert cli("text", "retake", "climax", "-C", "new").code == 0
    refused = cli("update", "new", "--yes")
    assert refused.code != 0
    assert "This project uses what fabula had learned from you, but you had fabula forget it." in refused.err
    assert "fabula write --no-learned --anew" in refused.err
    assert cli("write", "new", "--no-learned", "--anew").code == 0
