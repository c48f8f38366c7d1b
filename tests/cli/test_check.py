from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from fabula.app import check_formats
from fabula.project.sample import copy_sample
from growth import LINEAR, growth

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

MODEL = ("--model", "scripted:atlas.toml")
STORY = (
    "# One\n\nMara carried her blue umbrella. The blue umbrella dripped. Mara Voss was tired.\n\n"
    "# Two\n\nThe umbrella was red, <script>alert(1)</script> and Mara Voss shut the red umbrella and sat down.\n"
)
BLUE = {"paragraph_x": 2, "quote_x": "her blue umbrella", "says_x": "Mara's umbrella is blue"}
RED = {
    "paragraph_y": 4,
    "quote_y": "The umbrella was red",
    "says_y": "it is red",
    "why": "Two colours.",
    "category": "object",
}
DECISION = {"number": 1, "decision": "error", "paragraph_x": 2, "quote_x": "her blue umbrella", "paragraph_y": 4,
            "quote_y": "The umbrella was red", "reason": "Two colours.", "sure": "certain"}  # fmt: skip
VERDICT = {"number": 1, "quote_x": "her blue umbrella", "quote_y": "The umbrella was red", "attribute": "colour",
           "decision": "error", "fact": "Mara's umbrella being blue", "event": "it being red"}  # fmt: skip
REPLIES = {
    "reader:read": json.dumps({"findings": [BLUE | RED | {"sure": "likely"}]}),
    "verifier:decide": json.dumps({"decisions": [DECISION]}),
    "judge:judge": json.dumps({"findings": [{"x": 1, "y": 2, "fact": "blue umbrella", "event": "red umbrella"}]}),
}


@pytest.fixture
def story(here: Path) -> Path:
    (here / "atlas.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (here / "story.md").write_text(STORY, encoding="utf-8")
    return here


def test_a_small_model_is_said_to_find_little_before_it_begins(cli: Cli, story: Path) -> None:
    said = "This is a small model, and one of 1.5 billion parameters found none of 12 errors."
    assert said in cli("check", "story.md", *MODEL, "--aids", "on").err
    assert said not in cli("check", "story.md", *MODEL, "--out", "again").err


def test_the_reader_finds_and_quotes_both_places_and_says_why(cli: Cli, story: Path) -> None:
    ran = cli("check", "story.md", *MODEL)
    assert ran.code == 0, ran.err
    assert "object, certain" in ran.out
    assert 'One, paragraph 1, line 3: "her blue umbrella"' in ran.out
    assert 'Two, paragraph 1, line 7: "The umbrella was red"' in ran.out
    assert "Two colours." in ran.out
    assert "(n " not in ran.out, "a writer reads findings"
    assert "To fix a finding, change one of its two passages. If it is on purpose, use --dismiss ID=REASON." in ran.err
    page = (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    order = ["<mark>her", "Two colours.", "Change it here: One, paragraph 1", "It is on purpose", "<summary>Numbers</"]
    assert sorted(order, key=page.index) == order
    assert "<mark>her blue umbrella</mark>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    (kept,) = json.loads((story / "evaluation" / "findings-story.json").read_text(encoding="utf-8"))
    assert list(kept)[:2] == ["id", "hallucination"]
    assert (kept["x"], kept["y"], kept["root_cause_id"]) == (1, 2, 1)
    assert (kept["paragraph_x"], kept["paragraph_y"], kept["sure"]) == (2, 4, "certain")


def test_the_status_counts_open_findings_and_what_checks_have_used(cli: Cli, story: Path) -> None:
    cli("import", "story.md", "--out", "book")
    assert "The last check" not in cli("status", "book").out
    assert cli("status", "book", "--json").json["open_findings"] is None
    checked = cli("check", "book", *MODEL)
    found = cli("status", "book").out
    assert "The last check: 1 open finding. See book/evaluation/atlas.html." in found
    assert re.search(r"evaluations have used [\d,]+ tokens at no cost\. No budget of the project counts them\.", found)
    (key,) = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}", checked.out)
    assert cli("check", "book", "--dismiss", f"{key}=She has two.").code == 0
    assert "The last check: 0 open findings." in cli("status", "book").out


def test_findings_whose_sentence_has_changed_are_counted_apart(cli: Cli, story: Path) -> None:
    """Also where it has changed in the file, which no command has read since."""
    two_in_one_pair_of_sentences(story)
    cli("import", "story.md", "--out", "book")
    one, two = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}", cli("check", "book", *MODEL).out)
    (part,) = (story / "book" / "story").glob("*.md")
    before = part.read_text(encoding="utf-8")
    part.write_text(before.replace("the red scarf", "the green scarf"), encoding="utf-8")
    line = "The last check: 0 open findings, 2 settled (the text has changed since). See book/evaluation/atlas.html.\n"
    assert line in cli("status", "book").out
    ran = cli("check", "book", "--dismiss", f"{one}=he wears lenses")
    assert re.search(rf"{two}  .*; changed since the check\n", ran.out), ran.out
    assert "0 open findings, 1 settled" in cli("status", "book").out
    part.write_text(before, encoding="utf-8")
    assert "changed since" not in cli("check", "book", "--dismiss", f"{one}=so it is").out
    assert "The last check: 1 open finding. See" in cli("status", "book").out


def test_the_status_prints_all_else_if_the_report_or_the_journal_of_checks_is_damaged(cli: Cli, story: Path) -> None:
    cli("import", "story.md", "--out", "book")
    cli("check", "book", *MODEL)
    report = story / "book" / "evaluation" / "atlas.json"
    data = json.loads(report.read_text(encoding="utf-8"))
    del data["details"]["stories"][0]["findings"][0]["key"]
    report.write_text(json.dumps(data), encoding="utf-8")
    (found := cli("status", "book", "--json").json).pop("estimate")
    assert (found["open_findings"], found["evaluations"]["prompt"] > 0) == (None, True)
    (report.parent / ".fabula" / "journal.db").write_bytes(b"no journal" * 500)
    ran = cli("status", "book")
    assert (ran.code, ran.err) == (0, "")
    assert "imported from story.md" in ran.out
    assert "Checks and evaluations" not in ran.out
    assert cli("status", "book", "--json").json["evaluations"] is None


def test_what_was_asked_is_not_asked_again_and_keys_stay(cli: Cli, story: Path) -> None:
    first = cli("check", "story.md", "--json", *MODEL)
    again = cli("check", "story.md", "--json", "--frozen", *MODEL)
    assert (first.json["asked"], again.json["asked"]) == (2, 0)
    assert first.json["details"] == again.json["details"]


def test_without_a_model_nothing_is_checked_and_it_says_so(cli: Cli, story: Path) -> None:
    ran = cli("check", "story.md", "--no-model", "--model", "openai:gpt-5-mini")
    assert (ran.code, ran.out) == (2, "")
    assert "A check needs a model. Rules without a model found none of 101 errors" in ran.err
    assert "Leave --no-model out" in ran.err
    assert not (story / "evaluation").exists()


def test_a_model_that_says_nothing_is_no_all_clear(cli: Cli, story: Path) -> None:
    (story / "atlas.toml").write_text(script_of(dict.fromkeys(("reader", "verifier"), "Hm.")))
    ran = cli("check", "story.md", "--strict", *MODEL)
    assert ran.code == 1, ran.err
    assert "not scored: nobody could read the story" in ran.out
    assert "partial. Paragraphs 1 to 4 were not read. Check again with another model for the role 'reader'" in ran.out
    assert "There is no JSON in it." in ran.out
    (story / "atlas.toml").write_text(script_of(REPLIES | {"verifier:decide": "Hm."}))
    ran = cli("check", "story.md", "--strict", *MODEL)
    assert ran.code == 1, ran.err
    assert "not scored: the verifier gave no verdict that can be read" in ran.out


def test_the_papers_way_asks_for_graphs_and_says_what_it_dropped(cli: Cli, story: Path) -> None:
    event = {"name": "Mara comes", "evidence": "umbrella"}
    thing = {"name": "umbrella", "type": "Object", "evidence": "umbrella", "events": [1]}
    colour = {"predicate": "colour", "value": "blue", "evidence": "a green umbrella"}
    proposal = {"x": 1, "y": 2, "fact": "Mara's umbrella being blue", "event": "it being red"}
    replies = {
        "grapher:events": json.dumps({"events": [event] * 3}),
        "grapher:entities": json.dumps({"entities": [thing]}),
        "grapher:relations": json.dumps({"relations": []}),
        "grapher:node": json.dumps({"attributes": [colour]}),
        "proposer": json.dumps({"findings": [proposal]}),
        "verifier": json.dumps({"verdicts": [VERDICT]}),
        "judge": json.dumps({"findings": []}),
    }
    (story / "atlas.toml").write_text(script_of(replies), encoding="utf-8")
    ran = cli("check", "story.md", "--preset", "faithful", "--json", *MODEL)
    assert ran.code == 0, ran.err
    (data,) = ran.json["details"]["stories"]
    assert data["counts"]["dropped_attribute_without_evidence"] == 8
    kept = json.loads((story / "evaluation" / "graph-story.json").read_text(encoding="utf-8"))
    assert [node["id"] for node in kept["nodes"] if node["type"] != "Event"] == ["object:umbrella"]
    assert '<node id="object:umbrella">' in (story / "evaluation" / "graph-story.graphml").read_text(encoding="utf-8")
    assert data["findings"][0]["nodes"][0] == "object:umbrella"
    assert "In the graph: object:umbrella" in (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    assert [one["hallucination"] for one in data["findings"]] == [
        "In scene 1, Mara's umbrella being blue was established, yet in scene 2, it being red happens"
    ]
    assert [one["inside_scene"] for one in data["findings"]] == [False]
    assert ran.json["asked"] == 17


def test_a_dismissed_finding_stays_away_with_its_reason(cli: Cli, story: Path) -> None:
    key = cli("check", "story.md", "--json", *MODEL).json["details"]["stories"][0]["findings"][0]["key"]
    assert f"fabula check story.md --dismiss {key}=" in (story / "evaluation" / "atlas.html").read_text(
        encoding="utf-8"
    )
    ran = cli("check", "story.md", "--dismiss", f"{key}=she has two umbrellas", "--strict", "--json")
    assert (ran.code, ran.json["left"]) == (0, 0)
    assert ran.json["dismissed"] == {key: "she has two umbrellas"}
    again = cli("check", "story.md", "--strict", *MODEL)
    assert again.code == 0
    assert "story: 0 findings, 1 dismissed (see findings-dismissed.jsonl)" in again.out
    assert "Dismissed: she has two umbrellas" in (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    (story / "evaluation" / "findings-dismissed.jsonl").write_text("", encoding="utf-8")
    assert cli("check", "story.md", "--strict", *MODEL).code == 1


def test_the_message_of_a_dismissal_says_what_takes_it_back(cli: Cli, story: Path) -> None:
    cli("import", "story.md", "--out", "book")
    (key,) = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}", cli("check", "book", *MODEL).out)
    dismissed = cli("check", "book", "--dismiss", f"{key}=she has two umbrellas")
    assert f"To take this back, run `fabula check book --count-again {key}`.\n" in dismissed.err
    back = cli("check", "book", "--count-again", key)
    assert (back.code, "story: 1 finding\n" in back.out) == (0, True)
    assert "The last check: 1 open finding." in cli("status", "book").out
    twice = cli("check", "book", "--count-again", key)
    assert (twice.code, f"Unknown dismissed finding '{key}'" in twice.err) == (2, True)
    with_model = cli("check", "book", "--count-again", key, *MODEL)
    assert "--model would have no effect: --count-again changes the last check" in with_model.err


def two_in_one_pair_of_sentences(story: Path) -> None:
    told = (
        "Corvin had green eyes and a green scarf. It rained.\n\nHe saw his brown eyes and the red scarf in the glass.\n"
    )
    (story / "story.md").write_text(told, encoding="utf-8")
    places = {"paragraph_x": 1, "paragraph_y": 2, "why": "Two colours."}
    eyes = {"quote_x": "green eyes", "says_x": "Corvin's eyes are green", "quote_y": "brown eyes",
            "says_y": "Corvin's eyes are brown", "category": "appearance"}  # fmt: skip
    scarf = {"quote_x": "green scarf", "says_x": "Corvin's scarf is green", "quote_y": "red scarf",
             "says_y": "Corvin's scarf is red", "category": "object"}  # fmt: skip
    decisions = [{"number": n, "decision": "error", "reason": "So."} for n in (1, 2)]
    replies = {
        "reader:read": json.dumps({"findings": [places | eyes, places | scarf]}),
        "verifier:decide": json.dumps({"decisions": decisions}),
    }
    (story / "atlas.toml").write_text(script_of(replies), encoding="utf-8")


def test_two_errors_in_one_pair_of_sentences_are_dismissed_one_by_one(cli: Cli, story: Path) -> None:
    two_in_one_pair_of_sentences(story)
    first = cli("check", "story.md", "--json", *MODEL)
    keys = [one["key"] for one in first.json["details"]["stories"][0]["findings"]]
    assert (first.code, len(set(keys))) == (0, 2), first.err
    ran = cli("check", "story.md", "--dismiss", f"{keys[0]}=he wears lenses", "--strict", "--json")
    assert (ran.code, ran.json["left"]) == (1, 1), ran.err
    again = cli("check", "story.md", "--strict", *MODEL)
    assert again.code == 1, again.err
    assert "story: 1 finding, 1 dismissed" in again.out
    assert keys[1] in again.out


def test_a_folder_that_an_older_check_locked_is_read_again(cli: Cli, story: Path) -> None:
    two_in_one_pair_of_sentences(story)
    assert cli("check", "story.md", *MODEL).code == 0
    file = story / "evaluation" / "ratings.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    old = [line | {"question": "ab12cd34", "reason": reason} for line in lines[:1] for reason in ("Eyes.", "Scarf.")]
    file.write_text("".join(json.dumps(line) + "\n" for line in (*old, *lines, old[0])), encoding="utf-8")
    assert cli("check", "story.md", *MODEL).code == 0
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [one["reason"] for one in kept if one["question"] == "ab12cd34"] == ["Eyes.", "Scarf."]


def test_findings_are_given_as_sarif_and_as_annotations_with_both_places(cli: Cli, story: Path) -> None:
    ran = cli("check", "story.md", "--format", "sarif", "--strict", *MODEL)
    assert ran.code == 1, ran.err
    log = json.loads(ran.out)
    (run,) = log["runs"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "fabula check")
    (result,) = run["results"]
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert (result["level"], bool(result["message"]["text"])) == ("error", True)
    (here,), (there,) = result["locations"], result["relatedLocations"]
    lines = STORY.split("\n")
    for location, words in ((here, "The umbrella was red"), (there, "her blue umbrella")):
        place = location["physicalLocation"]
        region = place["region"]
        assert place["artifactLocation"]["uri"] == "story.md"
        assert region["startLine"] == region["endLine"]
        assert lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1] == words
    key = result["partialFingerprints"]["fabulaFinding/v1"]
    ran = cli("check", "story.md", "--format", "github", *MODEL)
    assert ran.out.startswith(
        "::error file=story.md,line=7,endLine=7,title=object::Mara's umbrella is blue / it is red"
    )
    assert f"story.md, line 3. Key {key}.)" in ran.out
    ran = cli("check", "story.md", "--dismiss", f"{key}=she has two", "--format", "github")
    assert ran.out == ""
    ran = cli("check", "story.md", "--dismiss", f"{key}=she has two", "--format", "sarif")
    (result,) = json.loads(ran.out)["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "she has two"}]
    assert "Leave one of them out." in cli("check", "story.md", "--json", "--format", "sarif", *MODEL).err


def test_annotations_cannot_be_broken_out_of(cli: Cli, story: Path) -> None:
    evil = BLUE | RED | {"says_x": "100%\n::set-output name=x::y", "category": "other"}
    replies = REPLIES | {"reader:read": json.dumps({"findings": [evil]})}
    (story / "atlas.toml").write_text(script_of(replies), encoding="utf-8")
    (story / "a,b:c.md").write_text(STORY, encoding="utf-8")
    ran = cli("check", "a,b:c.md", "--format", "github", *MODEL)
    (line,) = ran.out.splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac.md,line=7,endLine=7,title=other::100%25 ::set-output")


def test_a_file_in_an_older_encoding_is_placed_as_it_was_read(cli: Cli, story: Path) -> None:
    text = STORY.replace("sat down.", "sat down in the caf\u00e9.")
    (story / "story.md").write_bytes(text.encode("cp1252"))
    ran = cli("check", "story.md", "--format", "github", *MODEL)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("::error file=story.md,line=7,")
    assert "story.md is not UTF-8. It was read as cp1252, which fits its letters best." in ran.err


def test_a_passage_is_placed_in_linear_time() -> None:
    def placed(text: str) -> None:
        passage = {"text": "She sat.", "focus": (0, 3)}
        found = {"passage_x": passage, "line_x": text.count("\n") // 2, "key": "k"}
        assert check_formats._place(found, "x", [check_formats._File("story.md", text)]).line == found["line_x"]

    assert growth(placed, lambda n: "She sat.\n" * (n // 9), 180_000) < LINEAR


def test_places_of_a_project_are_lines_of_its_parts(cli: Cli, story: Path) -> None:
    copy_sample(story / "sample")
    key = "dcf5212a-ae60"
    ran = cli("check", "sample", "--dismiss", f"{key}=two kettles", "--format", "sarif")
    assert ran.code == 0, ran.err
    (result,) = json.loads(ran.out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    file, region = story / place["artifactLocation"]["uri"], place["region"]
    assert file.parent == story / "sample" / "story"
    line = file.read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]
    assert "mug of tea" in line[region["startColumn"] - 1 :]


def test_a_dry_run_says_how_much_is_replied_or_why_nobody_can_read_the_story(cli: Cli, story: Path) -> None:
    (story / "long.md").write_text("Mara lit the lamp and wrote it down. " * 900, encoding="utf-8")
    expected = cli("check", "long.md", "--dry-run", "--json", *MODEL).json["calls"]
    assert [call["role"] for call in expected] == ["reader", "verifier"]
    assert all(300 < call["reply"] < 3000 for call in expected)
    ran = cli("check", "long.md", "--dry-run", "--model", "smollm2", "--set", "reading=whole")
    assert "Nobody would be asked" not in ran.out
    assert "long is not read by role 'reader'. This prompt has about" in ran.out
    assert "Give this role a model with a larger context." in ran.out
    ran = cli("check", "long.md", "--model", "smollm2", "--set", "reading=whole")
    assert "\nlong is not read by role 'reader'. This prompt has about" in ran.err  # before the first call


def test_known_errors_score_the_method_and_the_judge(cli: Cli, story: Path) -> None:
    gold = [{"x": 1, "y": 2, "fact": "blue umbrella", "event": "red umbrella"}]
    (story / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    ran = cli("check", "story.md", "--gold", "gold.json", "--set", "baseline=true", "--json", *MODEL)
    assert ran.code == 0, ran.err
    rows = {(row["of"], row["what"]): row for row in ran.json["rows"]}
    assert rows["story (plain judge)", "recall/strict"]["value"] == 1
    assert rows["story (plain judge)", "recall/strict"]["baseline"]
    assert rows["story", "recall/evidence"]["value"] == 1
    assert rows["story", "precision/strict"]["high"] <= 1


def test_projects_and_layouts_are_read(cli: Cli, story: Path, project: Path) -> None:
    scenes = [{"_id": 1, "content": "The red umbrella dripped."}, {"_id": 0, "content": "Mara shut her blue umbrella."}]
    (story / "scenes.json").write_text(json.dumps(scenes), encoding="utf-8")
    (story / "script.fountain").write_text(
        "INT. LAMP - DAY\n\nMara came.\n\nEXT. QUAY - DAY\n\nShe left.\n", encoding="utf-8"
    )
    (story / "atlas.toml").write_text(script_of({"reader": '{"findings": []}', "verifier": "{}"}), encoding="utf-8")
    ran = cli("check", "scenes.json", "script.fountain", str(project), "--json", *MODEL)
    assert ran.code == 0, ran.err
    values = {one["id"]: (one["form"], one["mended"]) for one in ran.json["details"]["stories"]}
    assert values == {
        "scenes": ("json", {"reordered": 1}),
        "script": ("fountain", {}),
        "lamp": ("manuscript", {}),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.md",), "none.md"),
        (("empty.md",), "The story in empty.md is empty."),
        (("story.md", "--dismiss", "abc=why"), "Nothing was checked in evaluation yet."),
        (("story.md", "--gold", "atlas.toml", *MODEL), "neither a JSON array nor JSON lines"),
        (("story.md", "--set", "scene_words=0", *MODEL), "scene_words = 0 is too few"),
        (("story.md", "--preset", "faithful", "--set", "reading=whole", *MODEL), "reading is a setting of fabula's"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], message: str, cli: Cli, story: Path) -> None:
    (story / "empty.md").write_text(" - \n", encoding="utf-8")
    ran = cli("check", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{key}", "does not have the form ID=REASON"),
        ("{key}= - ", "does not have the form ID=REASON"),
        ("nokey=why", "Unknown finding 'nokey'"),
    ],
)
def test_a_dismissal_names_a_finding_and_a_reason(said: str, message: str, cli: Cli, story: Path) -> None:
    key = cli("check", "story.md", "--json", *MODEL).json["details"]["stories"][0]["findings"][0]["key"]
    ran = cli("check", "story.md", "--dismiss", said.format(key=key))
    assert (ran.code, message in ran.err) == (2, True), ran.err
    (story / "evaluation" / "atlas.json").write_text("{}", encoding="utf-8")
    ran = cli("check", "story.md", "--dismiss", f"{key}=why")
    assert "is not a report of a check" in ran.err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.json", '[{"_id": 0, "content": "Mara came."', "broken.json is not valid JSON"),
        ("planted.json", '{"text": "Mara came.", "errors": []}', "is not a JSON array of scenes"),
        ("story.yaml", "title: The lamp\ntext: Mara came.\n", "story.yaml is YAML, which cannot be read as a story"),
    ],
)
def test_data_that_is_no_story_is_refused_and_not_read_as_prose(
    name: str, text: str, message: str, cli: Cli, story: Path
) -> None:
    (story / name).write_text(text, encoding="utf-8")
    ran = cli("check", name, *MODEL)
    assert ran.code == 2
    assert message in ran.err


def test_what_is_not_verified_is_said_with_exit_code_1_and_the_rest_is_there(cli: Cli, story: Path) -> None:
    second = BLUE | {"paragraph_y": 4, "quote_y": "sat down", "why": "Nobody sits."}
    replies = REPLIES | {"reader:read": json.dumps({"findings": [BLUE | RED, second]})}
    replies |= {"verifier:decide": json.dumps({"decisions": [DECISION]})}
    (story / "atlas.toml").write_text(script_of(replies), encoding="utf-8")
    ran = cli("check", "story.md", *MODEL)
    assert ran.code == 1
    assert "story: 1 finding, partial (see below)" in ran.out
    assert "1 suspicion got no verdict" in ran.out
    assert "Without a verdict: 1 suspicion\n" in ran.out
    assert "Nobody sits." in ran.out.partition("Without a verdict")[2]
    assert "Check again with another model for the role 'verifier', or with another --seed." in ran.out


def test_dismissed_findings_are_counted_apart(cli: Cli, story: Path) -> None:
    key = cli("check", "story.md", "--json", *MODEL).json["details"]["stories"][0]["findings"][0]["key"]
    ran = cli("check", "story.md", "--dismiss", f"{key}=a trick of the light")
    assert ran.code == 0, ran.err
    assert "story: 0 findings, 1 dismissed" in ran.out
    assert "1 found, 1 dismissed</td>" in (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    told = (story / "evaluation" / "findings-story.md").read_text(encoding="utf-8")
    assert "Dismissed: a trick of the light" in told
    assert "One, paragraph 1, line 3:" in told


def test_planted_errors_score_a_check_on_its_own_story(cli: Cli, story: Path) -> None:
    clean = STORY.replace("The umbrella was red", "The umbrella was blue")
    edit = {
        "id": "a",
        "kind": "object_property",
        "needs": "lookup",
        "find": "The umbrella was blue",
        "replace": "The umbrella was red",
    }
    planted = {"id": "story", "text": clean, "errors": [edit], "decoys": []}
    (story / "planted.json").write_text(json.dumps(planted), encoding="utf-8")
    ran = cli("check", "story.md", "--gold", "planted.json", "--json", *MODEL)
    assert ran.code == 0, ran.err
    rows = {row["what"]: row for row in ran.json["rows"]}
    assert (rows["recall"]["value"], rows["recall, needs lookup"]["n"]) == (1, 1)
    assert rows["other findings per 10,000 words"]["value"] == 0
    assert re.search(r"\brecall +1\b.*\(n 1\)", cli("check", "story.md", "--gold", "planted.json", *MODEL).out)
