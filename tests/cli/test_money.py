"""What a person sees of money: who was paid, what was estimated, what the project has spent, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

DEAR = ("--sampling", "max_tokens=100")


def priced(project: Path, more: str = "") -> None:
    """Give the project's model a price, and its settings more lines."""
    file = project / "fabula.toml"
    text = file.read_text(encoding="utf-8")
    model = text.partition('model = "')[2].partition('"')[0]
    file.write_text(f'{text}\n[prices."{model}"]\ninput = 1000\noutput = 2000\n{more}', encoding="utf-8")


def test_the_bill_says_who_was_paid_and_what_the_project_has_spent(cli: Cli, project: Path) -> None:
    priced(project, "\n[budget]\nusd = 50.0\ntokens = 100000\n")
    cli("text", "retake", "climax", "-C", "lamp")
    ran = cli("update", "lamp", "--yes", *("--json",))
    paid = ran.json["paid"]
    assert list(paid) == [f"scripted@{next(iter(paid)).partition('@')[2]}"]
    assert ran.json["budget"]["usd"] == 50.0
    assert ran.json["budget"]["spent_usd"] == cli("status", "lamp", "--json").json["budget"]["spent_usd"] > 0
    shown = cli("status", "lamp").out
    assert "The project has used " in shown
    assert " tokens in all, cost $" in shown
    assert "of 100,000 tokens and $" in shown
    assert "of $50.0000.\n" in shown


def test_a_run_that_costs_ends_with_the_names_of_those_who_are_paid(cli: Cli, project: Path) -> None:
    priced(project)
    cli("text", "retake", "climax", "-C", "lamp")
    ran = cli("update", "lamp", "--yes")
    assert "\nPaid to scripted@" in ran.out
    assert "The project has used " in ran.out
    assert "leaves" not in ran.out


def test_the_budget_of_a_project_holds_over_all_its_runs(cli: Cli, project: Path) -> None:
    spent = cli("status", "lamp", "--json").json["total"]
    tokens = spent["prompt"] + spent["reply"]
    file = project / "fabula.toml"
    file.write_text(f"{file.read_text()}\n[budget]\ntokens = {tokens + 10}\n", encoding="utf-8")
    cli("text", "retake", "climax", "-C", "lamp")
    ran = cli("update", "lamp", "--yes")
    assert ran.code == 1
    assert (
        f"Stopped before the budget of {tokens + 10:,} tokens of the project is exceeded: {tokens:,} are spent"
    ) in ran.err
    assert "or higher under [budget] in lamp/fabula.toml." in ran.err
    file.write_text(file.read_text().replace(f"tokens = {tokens + 10}", "tokens = 100000"), encoding="utf-8")
    assert cli("update", "lamp", "--yes").code == 0


def test_an_unknown_price_is_found_before_anything_is_paid(cli: Cli) -> None:
    ran = cli(
        "write", "brief.md", "--model", "scripted:script.toml", "--model", "climax=openai-chat:tale",
        "--base-url", "http://127.0.0.1:9/v1", "--system", "agents-room", "--budget-usd", "1",
    )  # fmt: skip
    assert ran.code == 2
    assert (
        "The price of openai-chat:tale (role 'climax') is not known, so a budget of $1.00 cannot be enforced."
        in ran.err
    )
    assert "If there is no project yet, run `fabula new` first." in ran.err
    assert not (cli.folder / "brief").exists()


def test_a_key_in_an_address_is_refused_and_shown_nowhere(cli: Cli) -> None:
    for address in ("http://host/v1?api_key=sk-0123", "http://host/v1?key=sk-0123", "http://u:sk-0123@host/v1"):
        ran = cli("write", "brief.md", "--model", "openai-chat:tale", "--base-url", address)
        assert ran.code == 2
        assert "which may hold a key; set the key in the environment" in ran.err
        assert "sk-0123" not in ran.out + ran.err
        assert not (cli.folder / "brief").exists()
        checked = cli("models", "check", "openai-chat:tale", "--base-url", address)
        assert checked.code == 2
        assert "sk-0123" not in checked.out + checked.err


def test_an_evaluation_keeps_to_the_prices_and_the_budget_of_its_folder(cli: Cli, project: Path) -> None:
    (cli.folder / "judged").mkdir()
    (cli.folder / "judged" / "fabula.toml").write_text("[budget]\ntokens = 5\n", encoding="utf-8")
    ran = cli("check", str(project / "story.md"), "--model", "scripted:script.toml", "--out", "judged")
    assert ran.code == 1
    assert "Stopped before the budget of 5 tokens of the project is exceeded" in ran.err
