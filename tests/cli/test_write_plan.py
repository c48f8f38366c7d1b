from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.systems import systems

if TYPE_CHECKING:
    from commandline import Cli


def test_a_plan_alone_becomes_a_story(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    assert ran.code == 0, ran.err
    assert "lamp/story.md" in ran.out
    brief = (cli.folder / "lamp/brief.md").read_text(encoding="utf-8")
    assert 'Write a story called "The Last Lamp".' in brief
    assert (cli.folder / "lamp/plan/plan.yaml").read_text() == (cli.folder / "plan.yaml").read_text()
    assert (cli.folder / "lamp/role-play/the-letter.md").exists()
    story = (cli.folder / "lamp/story.md").read_text(encoding="utf-8")
    assert story.startswith("# The Last Lamp\n")
    assert story.index("run all the way with the letter") < story.index("pulled her out of that water")


def test_a_plan_goes_with_a_brief(cli: Cli, playhouse: tuple[str, ...]) -> None:
    assert cli("write", "brief.md", "--plan", "plan.yaml", *playhouse).code == 0
    assert "A girl lights a lighthouse" in (cli.folder / "brief/brief.md").read_text()
    assert (cli.folder / "brief/plan/plan.yaml").exists()


def test_without_out_the_folder_has_the_plans_name(cli: Cli, playhouse: tuple[str, ...]) -> None:
    (cli.folder / "plan.yaml").rename(cli.folder / "cape.yaml")
    assert cli("write", "--plan", "cape.yaml", *playhouse).code == 0
    assert (cli.folder / "cape/story.md").exists()


def test_the_same_plan_again_asks_nobody_and_says_nothing_of_it(cli: Cli, playhouse: tuple[str, ...]) -> None:
    command = ("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    cli(*command)
    ran = cli(*command)
    assert ran.code == 0
    assert "no calls to make," in ran.err
    assert "now is" not in ran.err


def test_a_plan_for_a_project_replaces_its_own_and_says_so(cli: Cli, playhouse: tuple[str, ...]) -> None:
    cli("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    mine = cli.folder / "lamp/plan/plan.yaml"
    by_hand = mine.read_text().replace("age: 70", "age: 71")
    mine.write_text(by_hand)  # an edit that no run has taken over yet must not be lost
    (cli.folder / "plan.yaml").write_text(by_hand.replace("age: 71", "age: 72"))
    for command in (("write", "lamp", "--plan", "plan.yaml"), ("write", "-C", "lamp", "--plan", "plan.yaml")):
        ran = cli(*command)
        assert ran.code == 0, ran.err
        earlier = "To see the earlier text, run `fabula show --versions plan -C lamp`."
        said = f"lamp/plan/plan.yaml is now plan.yaml. {earlier}"
        assert (said in ran.err) == (command[1] == "lamp")
    assert "age: 72" in mine.read_text()
    texts = [version["text"] for version in cli("show", "plan", "-C", "lamp", "--json", "--versions").json["versions"]]
    assert [next(age for age in ("70", "71", "72") if f"age: {age}" in text) for text in texts] == ["70", "71", "72"]


def test_a_plan_without_brief_is_known_again_after_it_was_changed(cli: Cli, playhouse: tuple[str, ...]) -> None:
    command = ("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    cli(*command)
    plan = cli.folder / "plan.yaml"
    plan.write_text(plan.read_text().replace("in the autumn of 1962", "in the spring of 1962"))
    assert cli(*command).code == 0
    assert "spring" in (cli.folder / "lamp/plan/plan.yaml").read_text()


def test_a_project_without_a_plan_is_not_taken_for_the_plans(cli: Cli, playhouse: tuple[str, ...]) -> None:
    assert cli("new", "lamp", "--brief", "brief.md").code == 0
    ran = cli("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    assert ran.code == 2
    assert "lamp is the project of another brief." in ran.err
    assert not (cli.folder / "lamp/plan/plan.yaml").exists()


def test_a_system_that_takes_no_plan_is_told_before_anything_is_made(cli: Cli, playhouse: tuple[str, ...]) -> None:
    for command in (("brief.md",), ()):
        ran = cli("write", *command, "--plan", "plan.yaml", "--system", "snap", "--out", "lamp")
        assert ran.code == 2
        able = ", ".join(name for name, system in systems().items() if system.takes_plan)
        assert ran.err == f"fabula: `snap` does not write from a plan. These systems do: {able}.\n"
        assert "agents-room, best-of-n, character-simulation" in able
        assert not (cli.folder / "lamp").exists()


def test_a_plan_with_problems_is_told_with_all_of_them_before_anything_is_made(
    cli: Cli, playhouse: tuple[str, ...]
) -> None:
    plan = cli.folder / "plan.yaml"
    plan.write_text(plan.read_text().replace("importance: 8", "importance: 80").replace("group: yes", "group: maybe"))
    ran = cli("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("fabula: plan.yaml:")
    assert lines[1].startswith("plan.yaml:")
    assert not (cli.folder / "lamp").exists()
    assert cli("write", "--plan", "nowhere.yaml").err == (
        "fabula: There is no file nowhere.yaml. Correct the name, or give a plan (a YAML file).\n"
    )


def test_undo_of_a_plan_leaves_its_file_to_be_used_again(cli: Cli, playhouse: tuple[str, ...]) -> None:
    cli("write", "--plan", "plan.yaml", *playhouse, "--out", "lamp")
    ran = cli("undo", "lamp")
    assert (ran.code, "Undone: your change to Plan (" in ran.out) == (0, True)
    assert (cli.folder / "lamp/plan/plan.yaml").read_text() == (cli.folder / "plan.yaml").read_text()


def test_a_plan_goes_into_a_project_that_had_none(cli: Cli, playhouse: tuple[str, ...]) -> None:
    assert cli("new", "lamp", "--brief", "brief.md", *playhouse).code == 0
    ran = cli("write", "lamp", "--plan", "plan.yaml")
    assert ran.code == 0, ran.err
    assert "now is" not in ran.err
    assert (cli.folder / "lamp/plan/plan.yaml").exists()
    assert "--out requires a brief file" in cli("write", "lamp", "--plan", "plan.yaml", "--out", "other").err
    assert "There is no file or folder nowhere." in cli("write", "nowhere", "--plan", "plan.yaml").err


PERSONAS = "goal: The lamp burns.\npersonas:\n  - name: Mara\n  - name: Tobias\n"


def test_personas_may_be_toml(cli: Cli) -> None:
    toml = cli.folder / "personas.toml"
    command = (
        "write",
        "brief.md",
        "--system",
        "magnet",
        "--personas",
        "personas.toml",
        "--model",
        "scripted:script.toml",
    )
    toml.write_text('goal = "The lamp burns."\n[[personas]]\nrole = "hero"\n', encoding="utf-8")
    ran = cli(*command)
    assert (ran.code, ran.err) == (2, "fabula: personas.toml: persona 1 > name: is missing. Write it.\n")
    toml.write_text("goal = \n", encoding="utf-8")
    assert "fabula: personas.toml: personas: " in cli(*command).err
    toml.write_text(
        'goal = "The lamp burns."\n[world]\nlamp_lit = true\nboats = 3\n[[personas]]\nname = "Mara"\n', encoding="utf-8"
    )
    cli(*command)
    laid = "goal: The lamp burns.\nworld:\n  lamp_lit: true\n  boats: 3\npersonas:\n  - name: Mara\n"
    assert (cli.folder / "brief/plan/personas.yaml").read_text(encoding="utf-8") == laid


def test_personas_are_laid_into_the_project_and_checked_before_anything_is_made(cli: Cli) -> None:
    (cli.folder / "personas.yaml").write_text("personas:\n  - role: hero\n", encoding="utf-8")
    script = ("--model", "scripted:script.toml", "--out", "lamp")
    ran = cli("write", "brief.md", "--system", "magnet", "--personas", "personas.yaml", *script)
    assert (ran.code, ran.err) == (2, "fabula: personas.yaml:2: persona 1 > name: is missing. Write it.\n")
    (cli.folder / "personas.yaml").write_text(PERSONAS, encoding="utf-8")
    ran = cli("write", "brief.md", "--system", "vanilla", "--personas", "personas.yaml", *script)
    assert ran.code == 2
    assert "`vanilla` does not use personas. These systems do: agents-room, " in ran.err
    assert not (cli.folder / "lamp").exists()
    cli("write", "brief.md", "--system", "magnet", "--personas", "personas.yaml", *script)
    assert (cli.folder / "lamp/plan/personas.yaml").read_text(encoding="utf-8") == PERSONAS
