"""What an outsider met: each message has the cause and a next step that works as typed."""

from __future__ import annotations

import asyncio
from shutil import copytree, rmtree
from threading import Event
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import BudgetError, UsageError
from fabula.cli.terminal import Terminal
from fabula.models.embedded import _forwarder
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample."""
    folder = tmp_path_factory.mktemp("sample") / "d"
    copy_sample(folder)
    return folder


@pytest.fixture
def d(cli: Cli, copy: Path) -> Path:
    """The same copy in the current folder, named `d`."""
    return copytree(copy, cli.folder / "d")


def test_an_emptied_story_is_said_and_never_exported(cli: Cli, d: Path) -> None:
    (d / "story.md").write_text("")
    said = "is empty, although the texts in story/ are not. `fabula update -C d` writes it again from them."
    for command in (("show", "d"), ("export", "d", "--format", "epub")):
        ran = cli(*command)
        assert (ran.code, ran.out) == (1, "")
        assert f"story.md {said}" in ran.err
    assert said in cli("status", "d").out
    ran = cli("update", "d", "--yes")
    assert ran.code == 0
    assert said in ran.out
    assert cli("show", "d").code == 0


def test_nothing_is_undone_without_the_record(cli: Cli, d: Path) -> None:
    rmtree(d / ".fabula")
    before = cli("update", "d", "--dry-run").out
    ran = cli("undo", "d")
    assert (ran.code, ran.out) == (2, "")
    assert "There is nothing to undo: the record of calls (.fabula/journal.db) is missing." in ran.err
    assert cli("update", "d", "--dry-run").out == before


@pytest.mark.parametrize("key", ["sk-proj-ABCDEFGH123456", "0123456789abcdef0123456789abcdef"])
def test_a_key_where_a_variable_is_named_is_never_shown(cli: Cli, key: str) -> None:
    (cli.folder / "own").mkdir()
    (cli.folder / "own" / "brief.md").write_text("A fox.")
    (cli.folder / "own" / "fabula.toml").write_text(f'[models."openai:gpt-5"]\nkey_env = "{key}"\n')
    for command in ("write", "status", "trust"):
        ran = cli(command, "own")
        assert key not in ran.out + ran.err
        assert "looks like a key" in ran.out + ran.err
    assert (
        "`models.openai:gpt-5.key_env`: must be the name of an environment variable, such as" in cli("write", "own").err
    )


def test_an_ordinary_word_is_no_character(cli: Cli, d: Path) -> None:
    ran = cli("chat", "d", "--as", "Nobody", "--with", "Ivan")
    assert ran.err.startswith("fabula: Unknown character 'Nobody'. Known: Callum Rix, Derek Peckover, ")
    assert not (d / "chats").exists()


async def test_what_a_listener_refuses_stops_the_embedded_engine() -> None:
    """A callback of the event loop swallowed the error, printed a traceback and let the reply go on."""
    stop, refused = Event(), list[Exception]()

    def heard(_: str) -> None:
        raise BudgetError("The cap leaves no room.")

    forward = _forwarder(heard, asyncio.get_running_loop(), stop, refused)  # type: ignore[arg-type] # errors of ours
    forward("a")
    forward("b")
    await asyncio.sleep(0)
    assert stop.is_set()
    assert [str(one) for one in refused] == ["The cap leaves no room."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system = “agents-room”", 'the line has typographic quotation marks (“”); use straight ones (").'),
        ("[models.openai:gpt-5]", 'a name with a colon needs quotation marks: [models."openai:gpt-5"].'),
        ("models.openai:gpt-5 = 3", 'a name with a colon needs quotation marks before the "=".'),
        ('x = ["a"]\nbriefs = [\n"b"', "the list `briefs`, which begins in line 2, has no ]."),
        ('briefs = ["b",\nseed = 1', "the list `briefs`, which begins in line 1, has no ]."),
        ("words = 500-900", 'a text needs quotation marks, as in system = "agents-room".'),
        ('briefs = [\n"b"]\nseed = one', 'a text needs quotation marks, as in system = "agents-room".'),
    ],
)
def test_what_is_no_toml_is_said_with_the_likely_mistake(cli: Cli, text: str, said: str) -> None:
    (cli.folder / "p").mkdir()
    (cli.folder / "p" / "brief.md").write_text("A fox.")
    (cli.folder / "p" / "fabula.toml").write_text(text, encoding="utf-8")
    (cli.folder / "exp.toml").write_text(text, encoding="utf-8")
    for command in (("status", "p"), ("lab", "experiment", "exp.toml")):
        assert f": {said} Correct the line." in cli(*command).err


def test_settings_in_another_encoding(cli: Cli, d: Path) -> None:
    (d / "fabula.toml").write_bytes(b"seed = 1\n# caf\xe9\n")
    assert (
        "d/fabula.toml is not UTF-8 text (line 2, byte 14). Save it as UTF-8 in your editor, or"
        in cli("status", "d").err
    )


@pytest.mark.parametrize(
    ("brief", "said"),
    [
        ("A story of 900 to 500 words.", 'The brief asks for "900 to 500 words" (line 1 of its text), but the first'),
        ("A fox.\n\nBetween 900 and 500 words.", 'asks for "900 and 500 words" (line 3 of its text), but the first'),
        ("A fox.\n\nBetween 500 and 900 words.", ""),
        ("A fox, told in 500 words; an aside of 900 to 500 words is fine.", ""),
    ],
)
def test_a_brief_with_an_impossible_range(cli: Cli, brief: str, said: str) -> None:
    (cli.folder / "rng.md").write_text(brief)
    ran = cli("write", "rng.md", "--dry-run", "--model", "smollm2", "--system", "end-to-end")
    assert said in ran.err
    assert bool(said) == bool(ran.code)
    assert cli("write", "rng.md", "--dry-run", "--model", "smollm2", "--words", "500-900").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("write", "d/plan/plan.yaml"),
            "d/plan/plan.yaml is a plan, not a brief. Use `fabula write BRIEF --plan d/plan/plan.yaml`.",
        ),
        (
            ("write", "brief.md", "--system", "end-to-end", "--set", "temperature=0.3"),
            "'temperature' is a sampling value: use `--sampling temperature=VALUE`.",
        ),
    ],
)
def test_what_belongs_elsewhere_is_said_with_its_place(
    cli: Cli, d: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert d.exists()
    assert said in cli(*arguments).err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("write", "my", "fox.md"), 'A name or text with spaces needs quotation marks: `fabula write "my fox.md"`.'),
        (("write", "A", "fox", "sings"), '`fabula write "A fox sings"`.'),
        (("write", "brief.md", "--words", "five", "hundred"), 'quotation marks: --words "five hundred".'),
        (("data", "list", "nosuch"), "takes no argument 'nosuch'. Its form is `fabula data list"),
        (
            ("text", "retake", "d", "story.md"),
            "Unknown artefact 'story.md'. Known: climax, conflict, falling-action, setting, witnesses, and 11 more.",
        ),
        (("-C", "d", "status"), "-C belongs after the command: `fabula status -C d`."),
        (("world", "d", "--diff", "2"), "--diff requires 2 values after it."),
        (
            ("undo", "climax", "-C", "d"),
            "There is no folder climax, and -C d names the project already: leave climax out",
        ),
        (("write", "brief.md", "--adapter", "room"), "There is no folder room. Specify the folder of a room, or"),
        (("write", "brief.md", "--budget", "5"), "Did you mean '--budget-tokens' or '--budget-usd'?"),
        (("write", "brief.md", "--legnth", "5"), "Did you mean '--words'?"),
        (("evaluate", "d"), "d is a file or folder: name the evaluator first, as in `fabula evaluate rubric d`."),
        (("measure", "brief.md", "--reference", "gold.md"), "There is no file gold.md. Correct the name, or give"),
        (("study", "new", "st", "nofolder"), "There is no file or folder nofolder. Correct the name"),
        (("write", "brief.txt"), "Did you mean 'brief.md'?"),
        (("chat", "d", "--as", "Wendy", "--with", "Ivan"), "Add --model NAME, such as --model smollm2, to the same"),
        (("chat", "old.png"), "old.png is not a PNG file, although its name ends like one's."),
    ],
)
def test_slips_on_the_command_line(cli: Cli, d: Path, arguments: tuple[str, ...], said: str) -> None:
    assert d.exists()
    (cli.folder / "brief.md").write_text("A fox.")
    (cli.folder / "my fox.md").write_text("A fox.")
    (cli.folder / "old.doc").write_text("Not a fit for gold.md.")
    (cli.folder / "old.png").write_text("No picture.")
    ran = cli(*arguments)
    assert ran.code in (1, 2)
    assert said in ran.err


def test_a_world_that_is_gone_says_from_where_it_comes(cli: Cli, d: Path) -> None:
    (d / ".fabula" / "world.db").unlink()
    said = "d has no world (.fabula/world.db is missing). Write with a system that keeps a world, or import facts from"
    assert f"{said} your own file: `fabula world --import d/world.yaml -C d`." in cli("world", "d").err
    assert cli("world", "--import", "d/world.yaml", "-C", "d").code == 0
    assert cli("world", "d").code == 0


def test_an_editor_that_is_missing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    del cli
    monkeypatch.setenv("EDITOR", "nosuchvim")
    monkeypatch.delenv("VISUAL", raising=False)
    with pytest.raises(
        UsageError, match=r"There is no program 'nosuchvim', which VISUAL or EDITOR names\. The text is"
    ):
        asyncio.run(Terminal().edited("A fox."))
