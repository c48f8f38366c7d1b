"""ATLAS: what is dropped, what a verdict needs, who is who, how findings are joined and scored."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from fabula.base.errors import UsageError
from fabula.continuity import NumberedScene, Scenes, split
from fabula.craft.matching import ErrorFinding, parse_finding
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.atlas.algorithm import outcome_of, scene_graph, valid_proposals
from fabula.evaluators.atlas.checking import StoryCheck
from fabula.evaluators.atlas.config import Config, Paper
from fabula.evaluators.atlas.dismissed import FILE, Dismissal, dismissed_of, read_dismissed, write_dismissed
from fabula.evaluators.atlas.findings import Proposal, clause_of, distinct
from fabula.evaluators.atlas.gold import Detected, KnownError, accuracies, read_gold
from fabula.evaluators.atlas.graph import EntityTable, FactEdge, allowed, as_graph, normal
from fabula.evaluators.atlas.page import as_page
from fabula.evaluators.atlas.quoting import StoryText
from fabula.evaluators.atlas.replies import ProposalReply, VerdictReply
from fabula.measure.items import Item
from fabula.models.base import Capabilities, Reply
from fabula.models.budget import prompt_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Scene, Story
from fabula.story.world.graph import graphml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.evaluators.atlas.findings import AtlasFinding
    from fabula.measure.report import Report
    from fabula.models.base import OnText, Request

ATLAS = find("atlas")
SCENES = (
    NumberedScene(
        1, "The lamp", "Elena Voss came in a red jeep. “The opening night is Friday,” she said.\n\nShe limped."
    ),
    NumberedScene(2, "The quay", "They had moved the opening night to Saturday. Nobody minded the rain."),
    NumberedScene(3, "The end", "Voss parked her blue jeep. The opening night was Saturday, and everybody came."),
)
TEXT = StoryText(SCENES)
JEEP = Proposal(1, 3, "Elena's jeep being red", "Elena's jeep being blue")


def verdict(**told: Any) -> VerdictReply:  # noqa: ANN401 - fields of a verdict
    said = {"quote_x": "a red jeep", "quote_y": "her blue jeep", "attribute": "colour", "decision": "error"}
    return VerdictReply(number=1, **(said | told))


def check_by(model: ScriptedModel, journal: Journal) -> StoryCheck:
    context = RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model))
    return StoryCheck(Run(context), Item("lamp", Story()), Scenes(SCENES, "prose"), Config.improved())


@pytest.fixture
def check() -> Iterator[StoryCheck]:
    with Journal() as journal:
        yield check_by(ScriptedModel({}), journal)


# what stands in the text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("a red jeep", "a red jeep"),
        ('"the opening night is friday"', "The opening night is Friday"),
        ("came in ... Friday", "came in a red jeep. “The opening night is Friday"),
        ("red", "red"),
        ("a red car", None),
        ("jee", None),
        ("Friday ... came in", None),
        ("", None),
        ("...", None),
    ],
)
def test_a_quotation_stands_word_for_word_but_for_blanks_case_and_marks(quote: str, found: str | None) -> None:
    passage = TEXT.find(1, quote)
    assert (passage and passage.words) == found


def test_nearly_is_four_fifths_of_the_words_in_a_row() -> None:
    assert TEXT.find(3, "The opening night was Saturday and all came") is None
    near = TEXT.find(3, "The opening night was Saturday and everyone came", nearly=True)
    assert near is not None
    assert near.quote == "The opening night was Saturday, and everybody came."
    assert TEXT.find(3, "The opening day is Saturday and everyone came", nearly=True) is None
    assert TEXT.find(3, "blue jeeps", nearly=True) is None
    assert TEXT.find(9, "blue jeep") is None


def test_what_is_left_out_is_a_few_words_and_the_nearest_beginning_counts() -> None:
    far = "She came. " + "It rained and rained. " * 60 + "She came in the end and left."
    text = StoryText([NumberedScene(1, "", far)])
    passage = text.find(1, "She came ... and left")
    assert passage is not None
    assert passage.quote == "She came in the end and left."
    assert text.find(1, "It rained ... the end") is not None
    assert StoryText([NumberedScene(1, "", far[:-30] + "So she left.")]).find(1, "She came ... she left") is None


def test_a_passage_is_whole_sentences_and_verbatim() -> None:
    passage = TEXT.find(1, "limped")
    assert passage is not None
    assert SCENES[0].text[passage.start : passage.end] == passage.quote == "She limped."


# the paper's graph --------------------------------------------------------------------------------------------------


def test_relations_join_only_what_the_schema_says_and_have_one_form() -> None:
    assert allowed("possesses", "Character", "Object")
    assert not allowed("possesses", "Object", "Character")
    assert not allowed("loves", "Character", "Character")
    assert normal(FactEdge("b", "occurs_after", "a", 1, "x")) == FactEdge("a", "precedes", "b", 1, "x")
    assert normal(FactEdge("b", "kinship_with", "a", 1, "x")) == normal(FactEdge("a", "kinship_with", "b", 1, "x"))


async def graphed(replies: dict[str, Any]) -> tuple[Any, dict[str, int]]:
    empty: dict[str, Any] = {"relations": {"relations": []}, "node": {"attributes": []}}
    model = ScriptedModel({f"grapher:{name}": json.dumps(told) for name, told in (empty | replies).items()})
    with Journal() as journal:
        check = check_by(model, journal)
        graph = await scene_graph(check, SCENES[0])
    return graph, dict(check.counts)


async def test_unknown_types_foreign_edges_and_evidence_that_is_not_there_are_dropped_and_counted() -> None:
    graph, counts = await graphed(
        {
            "events": {
                "events": [
                    {"name": "Elena comes", "evidence": "came in a red jeep"},
                    {"name": "a storm", "evidence": "a storm came"},
                ]
            },
            "entities": {
                "entities": [
                    {"name": "Elena", "type": "Character", "evidence": "Elena Voss", "events": [1, 9]},
                    {"name": "jeep", "type": "Object", "evidence": "a red jeep", "events": [1]},
                    {"name": "hope", "type": "Feeling", "evidence": "red", "events": [1]},
                    {"name": "boat", "type": "Object", "evidence": "a green boat", "events": [1]},
                    {"name": "night", "type": "TimePoint", "evidence": "opening night", "events": [7]},
                ]
            },
            "relations": {
                "relations": [
                    {"source": "N1", "relation": "possesses", "target": "n2", "evidence": "a red jeep"},
                    {"source": "n2", "relation": "possesses", "target": "n1", "evidence": "a red jeep"},
                    {"source": "n1", "relation": "admires", "target": "n2", "evidence": "a red jeep"},
                    {"source": "n1", "relation": "possesses", "target": "n8", "evidence": "a red jeep"},
                    {"source": "n1", "relation": "performs", "target": "e1", "evidence": "she sailed in"},
                ]
            },
            "node": {
                "attributes": [
                    {"predicate": "colour", "value": "red", "evidence": "a red jeep"},
                    {"predicate": "age", "value": "old", "evidence": "an old jeep"},
                    {"predicate": "state", "value": ""},
                ]
            },
        }
    )
    assert [node.name for node in graph.nodes] == ["Elena comes", "Elena", "jeep"]
    assert [(edge.source, edge.relation) for edge in graph.edges] == [("1:n1", "possesses")]
    assert [(one.predicate, one.value) for one in graph.attributes] == [("colour", "red")] * 3  # one of each node
    dropped = {name: n for name, n in counts.items() if name.startswith("dropped_") and n}
    assert dropped == {
        "dropped_event_without_evidence": 1,
        "dropped_unknown_type": 1,
        "dropped_entity_without_evidence": 1,
        "dropped_without_event": 1,
        "dropped_outside_schema": 2,
        "dropped_edge_without_node": 1,
        "dropped_edge_without_evidence": 1,
        "dropped_attribute_without_evidence": 3,
        "dropped_empty_attribute": 3,
    }
    assert graph.sparse
    assert counts["sparse_scenes"] == 1


async def test_scenes_share_the_ids_of_entities_that_they_name_differently() -> None:
    event = {"events": {"events": [{"name": "Elena comes", "evidence": "came in"}]}}
    who = {"name": "Captain Elena Voss", "type": "Character", "evidence": "Elena", "events": [1]}
    first, _ = await graphed(event | {"entities": {"entities": [who]}})
    second, _ = await graphed(event | {"entities": {"entities": [who | {"name": "Voss"}]}})
    table = EntityTable()
    ids = [
        {node.id for node in graph.joined(table).nodes} & {entity.id for entity in table.entities}
        for graph in (first, second)
    ]
    assert ids[0] == ids[1] != set()


async def test_a_scene_that_names_an_entity_twice_keeps_both_descriptions() -> None:
    event = {"events": {"events": [{"name": "Elena comes", "evidence": "came in"}]}}
    who = {"type": "Character", "evidence": "Elena", "events": [1]}
    twice = [
        who | {"name": "Elena Voss", "description": "She is a captain."},
        who | {"name": "Voss", "description": "She is forty."},
    ]
    graph, _ = await graphed(event | {"entities": {"entities": twice}})
    (elena,) = [node for node in graph.joined(EntityTable()).nodes if node.type == "Character"]
    assert elena.description == "She is a captain. She is forty."


def test_a_part_of_two_names_is_nobodys() -> None:
    table = EntityTable()
    elena, tom = (
        table.entity("Character", "Elena Voss", (), 1),
        table.entity("Character", "Tom Voss", ("the boy",), 1),
    )
    assert table.entity("Character", "Elena", (), 2) is elena
    assert table.entity("Character", "the boy", (), 2) is tom
    assert table.entity("Character", "Voss", (), 3) not in (elena, tom)
    assert table.entity("Object", "Elena", (), 3).id == "object:elena"


# proposals ------------------------------------------------------------------------------------------------------------


def test_proposals_out_of_order_or_of_unknown_scenes_are_dropped_and_no_true_one(check: StoryCheck) -> None:
    said = [
        ProposalReply(x=1, y=3, fact="the jeep being red.", event="the jeep being blue"),
        ProposalReply(x=3, y=3, fact="a", event="b"),
        ProposalReply(x=4, y=3, fact="a", event="b"),
        ProposalReply(x=1, y=2, fact="a", event="b"),
        ProposalReply(x=1, y=3, fact=" . ", event="b"),
        ProposalReply(x=1, y=3, fact="Marcus established the foundation in 1912", event="word " * 16),
        ProposalReply(x=1, y=3, fact="the jeep being red was established", event="it being blue happens."),
        ProposalReply(x=1, y=3, fact="the jeep being red", event="the jeep being blue"),
    ]
    kept = list(valid_proposals(check, said, later=3))
    assert [(one.fact, one.event) for one in kept] == [
        ("the jeep being red", "the jeep being blue"),
        ("Marcus established the foundation in 1912", ("word " * 16).strip()),
        ("the jeep being red", "it being blue"),
        ("the jeep being red", "the jeep being blue"),
    ]
    assert check.counts == {"dropped_not_before": 1, "dropped_unknown_scene": 2, "dropped_clause": 1}


async def faithful(text: str, answer: Any, **values: object) -> tuple[dict[str, Any], list[Request]]:  # noqa: ANN401 - a script
    """What the paper's way makes of a story of scenes, and all that it asked."""
    model = (
        answer if isinstance(answer, ScriptedModel) else ScriptedModel(answer, capabilities=Capabilities(schema=True))
    )
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("faithful")), Cast.of(model)))
        item = Item("lamp", Story("", (Scene("story", text),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("faithful", values))
    return report.details["stories"][0], list(model.asked)


EVENTS = {
    "events": [{"name": "Elena comes", "description": "Elena comes in a jeep.", "evidence": "came in a red jeep"}]
}
ENTITIES = {
    "entities": [
        {"name": name, "type": "Object", "evidence": evidence, "events": [1]}
        for name, evidence in (("jeep", "a red jeep"), ("night", "opening night"), ("rain", "Friday"))
    ]
}
MOVED = [{"source": "n1", "relation": "uses", "target": "n2", "evidence": "a red jeep"}]
PASS = {
    "events": EVENTS,
    "entities": ENTITIES,
    "relations": {"relations": MOVED},
    "node": {"attributes": [{"predicate": "colour", "value": "red", "evidence": "red"}]},
    "judge": {"findings": []},
    "verify": {"verdicts": []},
}


def passes(request: Request) -> str:
    return json.dumps(PASS[request.path.rpartition("/")[2]])


async def test_a_story_of_one_scene_has_no_number_of_findings_in_the_papers_way() -> None:
    one, asked = await faithful("Elena Voss came in a red jeep on Friday, the opening night.", passes)
    assert not one["scored"]
    assert not [request for request in asked if request.role == "proposer"]


async def test_the_faithful_prompts_name_no_categories_and_no_caps_and_show_every_earlier_fact() -> None:
    def answer(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        found = {"findings": [{"x": 1, "y": 2, "fact": "the jeep being red", "event": "it being blue"}] * 30}
        return json.dumps(found if prompt == "propose" else PASS[prompt])

    text = f"# One\n\n{SCENES[0].text}\n\n# Two\n\n{SCENES[0].text}"
    story, asked = await faithful(text, answer)
    for request in asked:
        shown = request.messages[-1].content.rpartition(" ends\n")[2]
        assert not re.search(r"category|appearance|kinship,|at most \d|colours, materials", shown), request.path
        assert "category" not in str(request.schema)
    (propose,) = [request.messages[-1].content for request in asked if request.path.endswith("propose")]
    earlier = propose.partition("What earlier scenes stated:")[2]
    assert "uses night" in earlier  # what holds for a moment is shown too
    assert story["counts"]["proposals"] == 30
    verified = "".join(request.messages[-1].content for request in asked if request.path.endswith("verify"))
    assert verified.count("the jeep being red. Scene 2") == 30  # near duplicates are verified too


async def test_a_long_earlier_state_is_shown_whole_where_the_window_holds_it() -> None:
    value = "painted over and over again in every colour of the sea " * 40

    def answer(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        if prompt == "node":
            return json.dumps({"attributes": [{"predicate": f"p{n}", "value": f"{n} {value}"} for n in range(30)]})
        return json.dumps({"findings": []} if prompt == "propose" else PASS[prompt])

    text = f"# One\n\n{SCENES[0].text}\n\n# Two\n\n{SCENES[0].text}"
    story, asked = await faithful(text, answer)
    (propose,) = [request.messages[-1].content for request in asked if request.path.endswith("propose")]
    assert propose.partition("What earlier scenes stated:")[2].count("painted over") >= 30 * 4 * 40
    assert "facts_without_room" not in story["counts"]
    small = ScriptedModel(answer, capabilities=Capabilities(schema=True, context=30_000))
    story, _ = await faithful(text, small)
    assert story["counts"]["facts_without_room"] > 0


async def test_a_finding_names_the_nodes_of_the_graph_that_it_rests_on() -> None:
    def answer(request: Request) -> str:
        prompt, second = request.path.rpartition("/")[2], "/2/" in request.path
        jeep = {"name": "jeep", "type": "Vehicle", "evidence": "her blue jeep" if second else "a red jeep"}
        rain = {"name": "limp", "type": "Concept", "evidence": "She limped"}
        replies = PASS | {
            "events": {"events": [{"name": "She parks", "evidence": "Voss parked"}] if second else EVENTS["events"]},
            "entities": {"entities": [one | {"events": [1]} for one in ([jeep] if second else [jeep, rain])]},
            "relations": {"relations": [{"source": "e1", "relation": "occurs_at", "target": "n1", "evidence": "jeep"}]},
            "propose": {"findings": [{"x": 1, "y": 2, "fact": "the jeep being red", "event": "it being blue"}]},
            "verify": {"verdicts": [verdict().model_dump()]},
            "node": PASS["node"] if "/n1/" in request.path else {"attributes": []},
        }
        return json.dumps(replies[prompt])

    story, _ = await faithful(f"# One\n\n{SCENES[0].text}\n\n# Two\n\n{SCENES[2].text}", answer)
    (found,) = story["findings"]
    assert found["nodes"] == ["vehicle:jeep", "1:e1", "2:e1"]  # what both scenes have first; the limp is elsewhere
    jeep = next(node for node in story["graph"]["nodes"] if node["id"] == "vehicle:jeep")
    assert [(said["scene"], said["evidence"]) for said in jeep["scenes"]] == [
        (1, ["a red jeep"]),
        (2, ["her blue jeep"]),
    ]
    assert story["graph"]["edges"][1] == {
        "source": "2:e1", "relation": "occurs_at", "target": "vehicle:jeep", "scene": 2, "evidence": "jeep",
    }  # fmt: skip
    root = ET.fromstring(graphml(as_graph(story["graph"])))  # noqa: S314 - it was just written
    named = {node.get("id") for node in root.iter("{http://graphml.graphdrawing.org/xmlns}node")}
    ends = {
        edge.get(end)
        for edge in root.iter("{http://graphml.graphdrawing.org/xmlns}edge")
        for end in ("source", "target")
    }
    assert ends <= named
    assert {"vehicle:jeep", "concept:limp", "1:e1", "attribute:1"} <= named
    assert "her blue jeep" in graphml(as_graph(story["graph"]))


async def test_an_estimate_counts_the_nodes_that_a_scene_usually_has() -> None:
    """A check of a script of the paper, 9 scenes of 173 words, took 145 calls; 28 were announced."""
    scenes = "\n\n".join(f"# Scene {n}\n\n" + "The old keeper counted every boat twice. " * 25 for n in range(9))
    model = ScriptedModel({}, capabilities=Capabilities(schema=True))
    with Journal() as journal:
        dry = RunContext(journal, SystemPrompts(ATLAS.prompt_folders("faithful")), Cast.of(model), mode="dry")
        await ATLAS.evaluate((Item("a", Story("", (Scene("a", scenes),))),), Run(dry), ATLAS.config("faithful"))
    prompts = Counter(call.path.rpartition("/")[2] for call in dry.dry_run.planned)
    assert prompts == {"events": 9, "entities": 9, "relations": 9, "node": 108, "propose": 8, "verify": 1, "judge": 1}


async def test_a_story_beyond_the_verifiers_window_is_verified_against_what_names_the_thing() -> None:
    def answer(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        found = {"findings": [{"x": 1, "y": 3, "fact": "Elena's jeep being red", "event": "it being blue"}]}
        return json.dumps(found if request.path.endswith("3/propose") else PASS.get(prompt, {"findings": []}))

    between = "Elena's jeep was painted.\n\n" + "\n\n".join(
        "Nobody came to the quay in the rain. " * 40 for _ in range(80)
    )
    text = f"# One\n\n{SCENES[0].text}\n\n# Two\n\n{between}\n\n# Three\n\n{SCENES[0].text}"
    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, context=24_000))
    _, asked = await faithful(text, model, baseline=False, scene_words=1_000_000)
    (shown,) = [request.messages[-1].content for request in asked if request.path.endswith("verify")]
    assert "Elena's jeep was painted." in shown
    assert "Nobody came" not in shown


async def test_the_attribute_pass_asks_for_all_nodes_side_by_side() -> None:
    class Slow(ScriptedModel):
        now = most = 0

        async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
            own = request.path.endswith("/node")
            self.now += own
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01 * own)
            self.now -= own
            return await super().ask(request, on_text)

    def answer(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        return json.dumps({"findings": []} if prompt == "propose" else PASS[prompt])

    model = Slow(answer, capabilities=Capabilities(schema=True, parallel=16))
    await faithful(SCENES[0].text, model)
    assert model.most == 4


@pytest.mark.parametrize(
    "text",
    [
        "In scene 1, a red jeep was established, yet in scene 3, a blue jeep happens",
        "In scene 1, a red jeep was established, yet in scene 3, a blue jeep happens.",
        "In scene 1, a red jeep, yet in scene 3, a blue jeep",
    ],
)
def test_the_sentence_is_written_and_read_in_all_its_forms(text: str) -> None:
    found = parse_finding(text)
    assert found == ErrorFinding(1, 3, "a red jeep", "a blue jeep")
    assert parse_finding(str(found)) == found


# verdicts -------------------------------------------------------------------------------------------------------------


def test_a_true_contradiction_is_kept_with_both_passages() -> None:
    found = outcome_of(JEEP, verdict(fact="Elena's jeep being red", event=""), TEXT).found
    assert found is not None
    assert found.sentence == (
        "In scene 1, Elena's jeep being red was established, yet in scene 3, Elena's jeep being blue happens"
    )
    assert (found.before.words, found.after.quote) == ("a red jeep", "Voss parked her blue jeep.")


@pytest.mark.parametrize(
    ("told", "rejected", "unscored"),
    [
        ({"quote_x": "a green jeep"}, "ungrounded", "Its quotation is not in scene 1."),
        ({"quote_y": "a red jeep"}, "ungrounded", "Its quotation is not in scene 3."),
        ({"quote_y": ""}, "ungrounded", "Its quotation is not in scene 3."),
        ({"quote_x": "jeep"}, "ungrounded", "Its quotation is not in scene 1."),
        ({"decision": "explained"}, "explained", ""),
        ({"decision": "other_thing"}, "other_thing", ""),
        ({"decision": "yes"}, "", "The verifier decided 'yes', which is no decision."),
        ({"explanation_quote": "Nobody minded the rain"}, "explained", ""),
    ],
)
def test_a_verdict_without_grounds_is_no_finding(told: dict[str, Any], rejected: str, unscored: str) -> None:
    outcome = outcome_of(JEEP, verdict(**told), TEXT)
    assert (outcome.found, outcome.rejected, outcome.unscored) == (None, rejected, unscored)


def test_an_explanation_that_is_not_in_the_story_or_one_of_the_quotations_explains_nothing() -> None:
    for quote in ("it was painted", "her blue jeep", None, ""):
        assert outcome_of(JEEP, verdict(explanation_quote=quote), TEXT).found is not None


def test_an_announced_change_is_no_error_although_the_model_says_so() -> None:
    opening = Proposal(1, 3, "the opening night being Friday", "the opening night being Saturday")
    said = verdict(
        quote_x="The opening night is Friday",
        quote_y="The opening night was Saturday",
        explanation_quote="They had moved the opening night to Saturday",
    )
    assert outcome_of(opening, said, TEXT).rejected == "explained"


def test_a_missing_verdict_is_no_verdict() -> None:
    assert outcome_of(JEEP, None, TEXT).unscored == "The verifier gave no verdict on it."


def test_a_clause_brings_no_words_of_the_frame_along_at_its_end() -> None:
    assert clause_of(" a red\njeep. ") == "a red jeep"
    assert clause_of("the jeep being red was established.") == "the jeep being red"
    assert clause_of("whatever happens to her happens") == "whatever happens to her"
    assert clause_of("it was established in 1912") == "it was established in 1912"
    assert clause_of("w " * 16).count("w") == 16
    assert clause_of("") == clause_of(" ., ") == ""


# findings -------------------------------------------------------------------------------------------------------------


def found_at(x: str, y: str, attribute: str = "colour", subject: str = "jeep") -> AtlasFinding:
    said = verdict(quote_x=x, quote_y=y, attribute=attribute)
    scenes = [n for n in (1, 2, 3) if TEXT.find(n, x)], [n for n in (1, 2, 3) if TEXT.find(n, y)]
    found = outcome_of(Proposal(scenes[0][0], scenes[1][-1], subject, subject), said, TEXT).found
    assert found is not None
    return found


def test_two_scenes_that_state_a_fact_are_two_findings_and_the_same_words_are_one() -> None:
    late = found_at("moved the opening night to Saturday", "The opening night was", "date", "opening night")
    early = found_at("The opening night is Friday", "The opening night was", "date", "opening night")
    told = distinct([late, early, early])
    assert [(one.x, one.y) for one in told] == [(1, 3), (2, 3)]
    assert len({one.root for one in told}) == 1


def test_findings_about_one_attribute_have_one_root() -> None:
    jeep = found_at("a red jeep", "her blue jeep")
    again = found_at("red jeep", "everybody came")
    night = found_at("The opening night is Friday", "The opening night was", "date", "opening night")
    told = distinct([night, jeep, again])
    assert sorted(one.root for one in told) == [1, 1, 2]
    assert len({one.key for one in told}) == 3


def test_keys_hang_on_the_sentences_and_the_claim_and_not_on_typography() -> None:
    straight = StoryText([NumberedScene(s.number, s.title, s.text.replace("“", '"').replace("”", '"')) for s in SCENES])
    said = verdict(quote_x="The opening night is Friday", quote_y="night was Saturday")
    one = outcome_of(Proposal(1, 3, "a", "b"), said, TEXT).found
    same = outcome_of(Proposal(1, 3, "a", "b"), said, straight).found
    other = outcome_of(Proposal(1, 3, "c", "d"), said, straight).found
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.key == same.key
    assert one.key != other.key
    assert one.key[:8] == other.key[:8]


# whole checks ---------------------------------------------------------------------------------------------------------


def checked(text: str, config: Config, answer: Any = None, *, small: bool = False) -> Report:  # noqa: ANN401 - a script of any kind
    model = answer
    if not isinstance(answer, ScriptedModel):
        model = ScriptedModel(answer or (lambda _: "{}"), capabilities=Capabilities(schema=True, small=small))

    async def one() -> Report:
        with Journal() as journal:
            run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
            item = Item("long", Story("", (Scene("story", text),)))
            report: Report = await ATLAS.evaluate((item,), run, config)
            return report

    return asyncio.run(one())


def test_a_model_with_little_room_reads_part_after_part_with_the_notes_on_those_before() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        number = int(request.messages[-1].content.partition("[")[2].partition("]")[0]) + 3
        note = {"paragraph": number, "about": "Mara", "fact": f"she counted {number} boats", "category": "number"}
        return json.dumps({"findings": [], "notes": [note], "decisions": []})

    text = "\n\n".join(f"Mara counted {n} boats and went home over the hill in the rain." * 5 for n in range(120))
    report = checked(
        text, Config.improved(), ScriptedModel(answer, capabilities=Capabilities(schema=True, context=8000))
    )
    assert {request.role for request in asked} == {"reader"}
    assert all(prompt_tokens(request) < 5000 for request in asked)
    numbers = [set(re.findall(r"^\[(\d+)\] Mara counted", r.messages[-1].content, re.MULTILINE)) for r in asked]
    assert set.union(*numbers) == {str(n) for n in range(1, 121)}
    assert all(one & other for one, other in pairwise(numbers))
    assert "[4] Mara: she counted 4 boats" in asked[1].messages[-1].content
    assert report.details["stories"][0]["by"]["notes"] == len(asked) - 1


@pytest.mark.parametrize("small", [True, False])
def test_replies_of_small_models_alone_are_bounded(small: bool) -> None:  # noqa: FBT001 - a case
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return json.dumps({"facts": [], "findings": [], "verdicts": []})

    checked("Mara came.", Config.improved(), answer, small=small)
    assert asked
    for request in asked:
        assert ("maxLength" in str(request.schema)) is small
        assert (request.sampling.max_tokens is not None) is small


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_an_estimate_counts_only_what_was_not_checked_before(preset: Preset) -> None:
    def answer(request: Request) -> str:
        fields = ("events", "entities", "relations", "attributes", "facts", "findings", "verdicts")
        return json.dumps({field: [] for field in fields if field in str(request.schema)})

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True))
    stories = [
        Item(name, Story().add("a", f"{name} saw the red jeep. It rained.").add("b", f"{name} left.")) for name in "ABC"
    ]
    with Journal() as journal:
        cast, prompts = Cast.of(model), SystemPrompts(ATLAS.prompt_folders(preset))
        await ATLAS.evaluate(stories[:1], Run(RunContext(journal, prompts, cast)), ATLAS.config(preset))
        await ATLAS.evaluate(stories[2:], Run(RunContext(journal, prompts, cast)), ATLAS.config(preset))
        dry = RunContext(journal, prompts, cast, mode="dry")
        await ATLAS.evaluate(stories, Run(dry), ATLAS.config(preset))
    assert {call.path.partition("/")[0] for call in dry.dry_run.planned} == {"B"}


@pytest.mark.parametrize(
    ("text", "form", "mended"),
    [
        (
            json.dumps([{"_id": 1, "content": "Mara came."}, {"_id": 0, "content": "She left."}]),
            "json",
            {"reordered": 1},
        ),
        (
            json.dumps([{"content": "Mara came."}, {"content": "She left."}, 7]),
            "json",
            {"unnumbered": 2, "not_a_scene": 1},
        ),
        ("INT. LAMP - DAY\n\nMara came.\n\nEXT. QUAY - DAY\n\nShe left.", "fountain", {}),
        ("word " * 20_000, "prose", {}),
    ],
)
def test_stories_in_any_layout_are_read_and_what_was_mended_is_told(
    text: str, form: str, mended: dict[str, int]
) -> None:
    report = checked(text, Config.improved())
    (story,) = report.details["stories"]
    assert (story["form"], story["mended"]) == (form, mended)
    assert bool(mended) == any(note.startswith("long: read as") for note in report.notes)


def test_settings_out_of_range_are_named() -> None:
    for config, message in (
        (Config(Paper(temperature=-1)), "temperature = -1 is below 0"),
        (Config(Paper(scene_words=0)), "scene_words = 0 is too few"),
    ):
        with pytest.raises(UsageError, match=message):
            config.validate()


# scoring --------------------------------------------------------------------------------------------------------------


def test_three_rules_each_match_one_to_one() -> None:
    known = [
        KnownError(ErrorFinding(1, 3, "the red jeep", "the blue jeep")),
        KnownError(ErrorFinding(1, 3, "night on Friday", "night on Saturday")),
    ]
    told = [
        Detected(ErrorFinding(1, 3, "a red jeep", "a blue jeep")),
        Detected(ErrorFinding(1, 3, "the jeep is red", "blue jeep")),
        Detected(ErrorFinding(2, 3, "opening night on Friday", "opening night on Saturday")),
    ]
    counted = {rule: (a.tp, a.fp, a.fn) for rule, a in accuracies(told, known).items()}
    assert counted == {"strict": (1, 2, 1), "evidence": (2, 1, 0), "assignment": (2, 1, 0)}


def test_quotations_settle_evidence_where_both_sides_have_them() -> None:
    known = [KnownError(ErrorFinding(1, 3, "a", "b"), "a red jeep", "her blue jeep")]
    right = Detected(ErrorFinding(2, 3, "c", "d"), "Elena Voss came in a red jeep.", "Voss parked her blue jeep.")
    wrong = Detected(ErrorFinding(1, 3, "a", "b"), "She limped.", "Nobody came.")
    assert accuracies([right], known)["evidence"].tp == 1
    assert accuracies([wrong], known)["evidence"].tp == 0


def test_labels_of_injected_errors_are_met_by_their_place(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    fact, place = {"start": 0, "end": 5, "quote": "a"}, {"start": 90, "end": 95, "quote": "b"}
    labels = [{"error": True, "fact": fact, "place": place}, {"error": False, "fact": fact, "place": place}]
    file.write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    known = read_gold(str(file), {"lamp": ""})["lamp"]
    assert isinstance(known, tuple)
    counted = accuracies([Detected(ErrorFinding(1, 1, "a", "b"), spans=((0, 5), (80, 91)))], known)
    assert {rule: (a.tp, a.fp, a.fn) for rule, a in counted.items()} == {"evidence": (1, 0, 0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "neither a JSON array nor JSON lines"),
        ('[{"x": 1}]', "entry 1: neither x, y, fact and event"),
        ("[3]", "entry 1: not an object"),
        ('[{"story": "b", "x": 1, "y": 2, "fact": "a", "event": "b"}]', "there is no story 'b', only a, c"),
        ('[{"place": {}, "fact": "a"}]', "not a complete label"),
    ],
)
def test_known_errors_that_cannot_be_read_are_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_gold(str(file), {"a": "", "c": ""} if "story" in text else {"a": ""})


# page and dismissals --------------------------------------------------------------------------------------------------


def test_the_page_escapes_marks_quotations_and_has_the_command() -> None:
    evil = "<script>alert(1)</script>"
    text = f"# A\n\nMara took {evil} her blue umbrella.\n\n# B\n\nThe red umbrella of Mara dripped."
    places = {"paragraph_x": 2, "quote_x": "her blue umbrella", "paragraph_y": 4, "quote_y": "The red umbrella"}
    said = {"says_x": "blue", "says_y": "red", "why": "Two colours.", "category": "object", "sure": "certain"}
    decided = places | {"number": 1, "decision": "error", "reason": "Two colours.", "sure": "certain"}

    def answer(request: Request) -> str:
        reading = request.path.endswith("read")
        return json.dumps({"findings": [places | said]} if reading else {"decisions": [decided]})

    report = checked(text, Config.improved(), answer).as_data()
    (one,) = report["details"]["stories"][0]["findings"]
    told = as_page(report, {}, ["fabula", "check", "my story.md"])
    assert "<script" not in told
    assert "&lt;script&gt;" in told
    assert "<mark>" in told
    assert f"fabula check &#x27;my story.md&#x27; --dismiss {one['key']}=" in told
    gone = as_page(report, {one["key"]: "two umbrellas"}, ["fabula", "check", "s.md"])
    assert "Dismissed: two umbrellas" in gone
    assert "--dismiss" not in gone


def test_dismissals_are_kept_and_a_bad_line_is_named(tmp_path: Path) -> None:
    assert read_dismissed(tmp_path) == {}
    write_dismissed(tmp_path, [Dismissal("abc", "one\nreason", "In scene 1, ...")])
    write_dismissed(tmp_path, [*read_dismissed(tmp_path).values(), Dismissal("def", "another", "In scene 2, ...")])
    kept = {"abc": ("one reason", "In scene 1, ..."), "def": ("another", "In scene 2, ...")}
    assert {key: (one.reason, one.finding) for key, one in read_dismissed(tmp_path).items()} == kept
    (tmp_path / FILE).write_text('{"key": "abc"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="line 1: not of the form"):
        read_dismissed(tmp_path)


@pytest.mark.parametrize(
    ("kept", "fact", "event", "stays"),
    [
        ("ab12cd34", "her eyes are grey", "Mara's eyes are brown", True),  # as older checks named it
        ("ab12cd34-9999", "her eyes are grey", "Mara's eyes are brown", True),  # worded anew by another model
        ("ab12cd34-9999", "Mara's scarf is grey", "Mara's scarf is brown", False),
        ("ab12cd34", "Mara's scarf is grey", "Mara's scarf is brown", False),
        ("ffffffff", "Mara's eyes are grey", "Mara's eyes are brown", False),
    ],
)
def test_a_dismissal_holds_for_what_was_claimed_and_for_nothing_else_in_these_sentences(
    kept: str,
    fact: str,
    event: str,
    stays: bool,  # noqa: FBT001 - a case
) -> None:
    said = "In scene 1, Mara's eyes are grey was established, yet in scene 2, Mara's eyes are brown happens"
    finding = {"key": "ab12cd34-0000", "fact": fact, "event": event}
    assert bool(dismissed_of([Dismissal(kept, "A trick of the light.", said)], [finding])) is stays


def test_scenes_of_a_real_layout_are_found() -> None:
    assert [scene.number for scene in split("# A\n\nOne.\n\n# B\n\nTwo.").scenes] == [1, 2]
