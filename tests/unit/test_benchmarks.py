"""Every benchmark runs with tiny sizes and gives finite numbers; no time is asserted, since machines differ."""

from __future__ import annotations

import asyncio
import json
import math
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tinygguf
from fabula.models.base import Request, Sampling
from fabula.models.gguf import write_gguf
from fabula.project.settings import Settings
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_check import check_plan

if TYPE_CHECKING:
    from fabula.models.gguf import Value

sys.path.append(str(Path(__file__).parents[2]))  # `pytest`, unlike `python -m pytest`, does not find what lies there

from benchmarks import __main__ as commands
from benchmarks import (
    atlas,
    cursor,
    editors,
    engine,
    experiment,
    first_story,
    growth,
    languages,
    measures,
    odd_projects,
    overhead,
    planted,
    prefix,
    recall,
    scale,
    schedule,
    startup,
    studio_load,
    studio_memory,
    studio_pages,
    world,
)
from benchmarks.recall_cases import ACTORS
from benchmarks.table import Row, Table, told
from benchmarks.theatre import plan_of

from fabula.cli.main import main as cli_main

NAMES = {
    "announced",
    "atlas",
    "back_translation",
    "caps",
    "chat",
    "cursor",
    "editors",
    "engine",
    "estimates",
    "experiment",
    "first_story",
    "growth",
    "languages",
    "learned_judge",
    "long",
    "measures",
    "mutated",
    "odd_books",
    "overhead",
    "pages",
    "planted",
    "preferences",
    "prefix",
    "recall",
    "rules",
    "scale",
    "schedule",
    "hostile",
    "serving",
    "startup",
    "studio_load",
    "studio_memory",
    "studio_pages",
    "studio_stream",
    "statistics",
    "world",
}
GREEDY = Sampling(temperature=0.0, max_tokens=12)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weights of a model that reads thousands of tokens in a second, with room for a whole prompt."""
    pytest.importorskip("xllamacpp", reason="The embedded engine is not installed: `pip install xllamacpp`.")

    def roomy(path: Path, metadata: dict[str, Value], tensors: dict[str, tinygguf.Array]) -> None:
        write_gguf(path, metadata | {"llama.context_length": 8192}, tensors)

    monkeypatch.setattr(tinygguf, "write_gguf", roomy)
    return tinygguf.write_model(tmp_path / "tiny.gguf", tinygguf.weights())


def check(table: Table, rounds: int) -> None:
    """All numbers are there, finite, and not negative where they cannot be."""
    assert table.rows
    for row in table.rows:
        assert len(row.values) == rounds, row.what
        assert all(math.isfinite(value) for value in row.values), row.what
    json.dumps(table.data())


def test_overhead_measures_calls_replays_and_opening(tmp_path: Path) -> None:
    sizes = overhead.Sizes(calls=6, turn=4, parallel=3, rounds=2, prompt=400, recorded=12, artefacts=2)
    table = overhead.bench(sizes)
    check(table, 2)
    assert {row.target for row in table.rows} >= {"at most 3.00 x CPU", "at least 2,000 /s", "at most 1.00 s"}


def test_a_bare_call_and_one_through_fabula_hear_the_same() -> None:
    calls = overhead.Calls(overhead.Sizes(calls=1), 100)
    messages = calls.prompts.render("section", calls.fields(0))

    async def both() -> list[str]:
        client = overhead.Bare(address, 2)
        texts = [await client.ask(messages, heard=heard) for heard in (False, True)]
        await client.close()
        return texts

    with overhead.server() as address:
        assert asyncio.run(both()) == ["The lamp went out, and nobody spoke."] * 2


def test_the_pages_of_a_prompt_have_the_length_asked() -> None:
    assert [len(overhead.pages(n)) for n in (1, 200, 8000)] == [1, 200, 8000]
    assert overhead.pages(200, 1) != overhead.pages(200, 2)


def test_schedule_runs_without_waiting() -> None:
    table = schedule.bench(schedule.Sizes(stories=3, parallel=2, rounds=2, scenes=4, people=4))
    check(table, 2)
    ratios = [value for row in table.rows for value in row.values]
    assert min(ratios) > 0.999, "nothing is faster than its critical path"


def test_the_chain_of_a_play_is_its_longest_one() -> None:
    def scene(name: str, *present: str, time: str) -> ScenePlan:
        return ScenePlan(name, (Event("x"),), characters=tuple(Presence(who) for who in present), time=time)

    people = tuple(Character(name) for name in "abc")
    plan = Plan((scene("One", "a", "b", time="2"), scene("Two", "b", time="1"), scene("Three", "c", time="3")), people)
    taken = {f"outline/{name}/chronological_outline": 1.0 for name in ("one", "two", "three")}
    taken |= {f"role-play/two/turn/1/{what}": 2.0 for what in ("direct", "memory", "respond")}
    taken |= {
        "role-play/two/turn/1/state": 9.0,
        "role-play/one/turn/1/direct": 4.0,
        "role-play/three/turn/1/direct": 5.0,
    }
    taken |= {"one/rewrite": 3.0, "two/rewrite": 3.0, "two/extend/0/extend": 1.0, "three/rewrite": 3.0}
    assert schedule.chain(plan, taken, "improved") == 1 + (2 + 9 + 2) + 4 + 3 + 4 + 3


def test_a_project_is_gone_over_again() -> None:
    check(scale.bench(scale.Sizes(pages=1, people=3, rounds=1)), 1)


def test_growth_counts_what_prompts_hold() -> None:
    table = growth.bench(growth.Sizes(scenes=(2, 3), rounds=1, people=3))
    check(table, 1)
    assert {row.target for row in table.rows if row.what.startswith("improved")} == {
        "at most 8,000 tokens",
        "at most 10.00%",
        "",
    }
    assert not [row for row in table.rows if row.what.startswith("faithful") and row.target]


def test_a_drawn_plan_is_sound_and_told_in_another_order_than_it_happens() -> None:
    plan, again = (plan_of(8, 5, random.Random(1)) for _ in range(2))  # noqa: S311 - plans, not secrets
    assert not check_plan(plan)
    order = plan.chronology()
    assert order is not None
    assert order != plan.names
    assert len(plan.units(order)) == 10, "two of eight scenes have a flashback"
    assert plan == again


def test_a_room_asks_nine_calls_in_either_preset() -> None:
    assert schedule.scheduled(1, 8, "faithful", 0).calls == schedule.scheduled(1, 8, "improved", 0).calls == 9


def test_the_skipping_clock_goes_on_by_what_is_slept() -> None:
    async def sleep() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.TaskGroup() as group:
            for seconds in (1000, 5000):
                group.create_task(asyncio.sleep(seconds))
        return loop.time() - begun

    with asyncio.Runner(loop_factory=schedule.SkippingLoop) as runner:
        assert runner.run(sleep()) == pytest.approx(5000, abs=5)


def test_the_bound_and_the_planner_of_known_chains() -> None:
    latencies = schedule.Latencies(1)
    latencies.drawn.update({"a": [3.0, 3.0], "b": [1.0], "c": [1.0]})
    assert (latencies.critical(1), latencies.critical(2)) == (8.0, 6.0)
    assert (latencies.planned(1), latencies.planned(2)) == (8.0, 6.0)
    latencies.drawn.clear()
    latencies.drawn["a"] = [2.0, 2.0]
    assert (latencies.critical(8), latencies.planned(8)) == (4.0, 4.0)


async def test_latencies_are_fixed_by_seed_and_path(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_time(seconds: float) -> None:
        del seconds

    monkeypatch.setattr(asyncio, "sleep", no_time)
    drawn = []
    for seed in (1, 1, 2):
        latencies = schedule.Latencies(seed)
        text = await latencies.answer(Request((), path="story-1/conflict"))
        drawn.append((text, latencies.drawn["story-1"]))
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_cases_of_twelve_languages_are_read_and_no_line_of_a_story_goes() -> None:
    table = languages.bench()
    found = {row.what: row.values[0] for row in table.rows}
    assert [wrong for what, wrong in found.items() if what.startswith("stays: wrong of ")] == [0]
    assert sum(found.values()) == len(table.notes) == 0


def test_measures_are_beside_their_peer() -> None:
    check(measures.bench(measures.Sizes(stories=3, words=120, pairs=1, rounds=1)), 1)


def test_a_check_counts_its_calls_and_tokens() -> None:
    check(atlas.bench(atlas.Sizes(pages=(1, 2), scene_words=(0,), data=Path("none"))), 1)


def planted_story(folder: Path) -> Path:
    """A story with one planted error and one decoy, beside a player that names both and takes the decoy back."""
    text = "Mara's eyes were grey. Tobias lied that he was a doctor.\n\nIt rained all day.\n\nHer grey eyes were wet."
    error = {"id": "m-1", "kind": "appearance", "find": "Her grey eyes", "replace": "Her brown eyes"}
    error |= {"contradicts": "Mara's eyes were grey.", "explanation": "Two colours.", "needs": "lookup"}
    decoy = {"quote_a": "he was a doctor", "quote_b": "It rained all day.", "why_no_error": "A lie."}
    story = {"id": "m", "title": "", "form": "prose", "text": text, "errors": [error], "decoys": [decoy]}
    (folder / "data" / "planted").mkdir(parents=True)
    (folder / "data" / "planted" / "m.json").write_text(json.dumps(story), encoding="utf-8")
    (folder / "player.py").write_text(PLAYER, encoding="utf-8")
    return folder


PLAYER = """
import json
def answer(request):
    shown = request.messages[-1].content
    if request.role == "verifier":
        numbers = [int(line.partition(".")[0]) for line in shown.splitlines() if line[:1].isdigit() and ". why" in line]
        said = {True: "error", False: "not_meant"}
        return json.dumps({"decisions": [{"number": n, "decision": said[f"{n}. why eyes" in shown]} for n in numbers]})
    found = [{"paragraph_x": 1, "quote_x": "he was a doctor", "paragraph_y": 2, "quote_y": "It rained",
              "why": "why lie"}]
    if "brown" in shown:
        found.append({"paragraph_x": 1, "quote_x": "eyes were grey", "paragraph_y": 3, "quote_y": "brown eyes",
                      "why": "why eyes", "category": "appearance"})
    return json.dumps({"findings": found})
"""


def test_a_trial_on_planted_stories_is_recorded_and_replayed_without_the_stories_words(tmp_path: Path) -> None:
    folder = planted_story(tmp_path)
    player = f"{folder / 'player.py'}:answer"
    settings = {"roles": {role: {"play": player} for role in ("reader", "verifier")}}
    trial = planted.Trial("tester", folder / "data", replies=folder / "replies", players=Settings().with_(settings))
    played = planted.bench(trial)
    values = {row.what: row.middle for row in played.rows}
    assert values["planted errors found"] == values["of these, the kind agrees"] == 1
    assert values["other findings per 10,000 words, clean twins"] == values["decoys called errors"] == 0
    assert values["suspicions in broken stories that are errors"] == 0.5
    kept = (folder / "replies" / "tester" / "m.json").read_text(encoding="utf-8")
    assert "rained all day" not in kept
    assert set(json.loads(kept)["clean"]) == {"read", "verify/1/decide"}
    again = planted.bench(replace(trial, players=None))
    assert again.data() == played.data()
    data = json.loads(kept)
    data["clean"]["read"]["prompt"] = "of another day"
    (folder / "replies" / "tester" / "m.json").write_text(json.dumps(data), encoding="utf-8")
    assert "Missing: m, clean/read: given to another prompt" in planted.bench(replace(trial, players=None)).notes


def test_a_world_is_loaded_and_asked() -> None:
    check(world.bench(world.Sizes(facts=200, scenes=5, entities=10, slots=4, rounds=1, asked=2, values=(40, 200))), 1)


def test_startup_starts_each_command() -> None:
    check(startup.bench(startup.Sizes(rounds=1)), 1)


@pytest.mark.embedded
def test_prefix_reads_less_in_the_improved_order(tiny: Path) -> None:
    settings = {"max_tokens": 12, "variant": "plan"}
    table = prefix.bench(prefix.Sizes(briefs=1, settings=settings, weights=tiny, base=GREEDY, threads=1, aids="off"))
    check(table, 1)
    improved, papers = (row.values[0] for row in table.rows if row.what.endswith("first calls"))
    assert 0 < improved < papers <= 100


@pytest.mark.embedded
def test_engine_decodes_the_same_bare_and_through_fabula(tiny: Path) -> None:
    table = engine.bench(engine.Sizes(pairs=2, tokens=12, weights=tiny, base=GREEDY, threads=1, rounds=2, most=1))
    check(table, 2)
    assert "2 of 2 pairs are the same" in table.notes[0]


def test_a_model_that_knows_what_belongs_together_recalls_all_and_words_recall_few() -> None:
    rows = {row.what: row.middle for row in recall.bench().rows}
    assert rows["hashed words: among the first 3"] < 50
    matter = {text: n for n, pair in enumerate(pair for actor in ACTORS for pair in actor) for text in pair}

    def knowing(texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return np.eye(len(matter))[[matter[text] for text in texts]]

    found = {row.what: row.middle for row in recall.rows_of(knowing)}
    assert found["embedding: among the first 3"] == 100
    assert found["embedding: others at 0.3"] == 0


def test_cells_are_counted_on_the_disk_and_timed_beside_a_bare_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABULA_INSPECT", raising=False)
    sizes = experiment.Sizes(instant=3, single=2, rooms=1, latency=0.0, at_once=2, rounds=1)
    found = {row.what: row for row in experiment.bench(sizes).rows}
    assert (found["files of a cell"].middle, found["files of a cell"].met) == (3, True)
    assert found["size of a cell"].met
    assert found["rooms through fabula"].each == found["rooms through a bare client"].each != "0 calls"
    assert found["a one-call cell"].middle > 0
    assert not any("inspect_ai" in what for what in found)


def test_a_row_tells_its_median_spread_and_target() -> None:
    row = Row("speed", (1.0, 250.0, 2.0), "ms", "3 calls", most=1.5)
    assert row.cells() == ("speed", "2.00 ms", "1.00 to 250", "3 x 3 calls", "at most 1.50 ms", "NO")
    assert Row("x", (96.0,), "%", least=95.0).met
    assert Row("x", (1.0,)).met is None
    assert (told(0.0123), told(12345.6), told(50.0, "%")) == ("0.012", "12,346", "50.00%")


def test_a_table_is_markdown() -> None:
    text = Table("x", "a title", (Row("a", (1.0,)), Row("long one", (2.0,))), ("a note",)).markdown()
    lines = text.splitlines()
    assert lines[0] == "## x: a title"
    assert len({len(line) for line in lines if line.startswith("|")}) == 1
    assert lines[-1] == "- a note"


def test_the_command_finds_lists_and_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(commands.found()) == NAMES
    assert commands.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(NAMES)
    assert commands.main(["overheat"]) == 2
    assert "Did you mean 'overhead'?" in capsys.readouterr().err
    monkeypatch.setattr(startup, "bench", lambda: Table("startup", "t", (Row("a", (1.0,)),)))
    assert commands.main(["startup", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["rows"][0]["values"] == [1.0]


def test_a_benchmark_that_cannot_run_says_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FABULA_MODELS", str(tmp_path))
    assert commands.main(["engine"]) == 1
    assert "fabula models pull smollm2" in capsys.readouterr().err


def test_first_story_reads_what_rules_can_say_of_a_project(tmp_path: Path) -> None:
    assert cli_main(["sample", str(tmp_path / "demo"), "--quiet"]) == 0
    looked = first_story.looked_at(tmp_path / "demo")
    assert (looked.words, looked.twice, looked.drawn_again) == (3234, 0, 0)
    (line,) = first_story.table([looked]).notes
    assert line.startswith("demo: ")


def test_pages_of_the_studio_are_timed_cold_started_and_warm_and_edits_beside_them() -> None:
    pages = ("edit", "a scene to edit")
    sizes = studio_pages.Sizes(scenes=6, rounds=1, cold=1, edited=("end-to-end",), edits=1, pages=pages)
    table = studio_pages.bench(sizes)
    found = {row.what for row in table.rows}
    assert {"edit: cold", "edit: started", "edit: warm", "edit: size", "a scene to edit: warm"} <= found
    assert "end-to-end: edit, marks and estimate" in found
    assert all(math.isfinite(value) for row in table.rows for value in row.values)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Only Linux says how much memory a process holds.")
def test_an_editor_waits_for_findings_at_first_and_after_each_edit() -> None:
    table = editors.bench(editors.Sizes(scenes=6, findings=3, rounds=1, edits=2))
    assert [len(row.values) for row in table.rows] == [1, 1, 2, 1]
    assert all(row.middle > 0 for row in table.rows)


def test_suggestions_are_timed_from_the_key_and_beside_the_model_alone() -> None:
    sizes = cursor.Sizes(chapters=3, rounds=1, keys=3, latency=0.01, pause=0.001)
    table = cursor.bench(sizes)
    assert [len(row.values) for row in table.rows] == [1] * 10 + [7, 1, 7] * 2 + [1] * 3
    assert all(row.middle > 0 for row in table.rows if "adds" not in row.what and " less " not in row.what)


def test_a_study_conversations_and_a_run_are_had_at_once_without_an_error() -> None:
    sizes = studio_load.Sizes(
        people=2, conversations=3, tasks=2, turns=1, pause=0.2, rounds=1, words=60, writes="end-to-end"
    )
    table = studio_load.bench(sizes)
    check(table, 1)
    assert [row.middle for row in table.rows if row.what.endswith("errors")] == [0.0, 0.0]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Only Linux says how much memory a process holds.")
def test_studio_memory_walks_odd_projects_and_reads_what_the_server_holds(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    sizes = studio_memory.Sizes(minutes=0.05, clients=2, addresses=4, scale=0.002, samples=str(samples))
    table = studio_memory.bench(sizes)
    end, *_, most, failed, listed = table.rows  # in between, where there were walks enough: what is held after each
    assert 0 < end.middle <= most.middle
    assert sum(failed.values) == 0
    assert all(map(math.isfinite, listed.values))
    assert samples.read_text().startswith("seconds,megabytes\n")
    assert samples.read_text().count("\n") >= 3


def test_odd_projects_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        odd_projects.make_all(tmp_path / name, seed=3, scale=0.001)
    one, two = (
        {file.relative_to(tmp_path / name): file.read_bytes() for file in (tmp_path / name).glob("*/[ae-z]*/*.json")}
        for name in ("one", "two")
    )
    assert one == two
    assert len(list((tmp_path / "one").iterdir())) == len(odd_projects.KINDS) >= 26
