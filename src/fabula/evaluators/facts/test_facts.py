"""Facts: what a reader notes of scenes, as facts of a world, with the words that stand there."""

from __future__ import annotations

from collections import Counter

from fabula.continuity import NumberedScene
from fabula.evaluators.facts.algorithm import FactReply, SceneFacts, facts_of
from fabula.story.world import Moment

SCENE = NumberedScene(2, "Two", "At six Mara lit the lamp. “Stay,” she said; she would stay.")


def test_a_reply_becomes_facts_of_its_scene_in_the_order_of_their_words() -> None:
    counts: Counter[str] = Counter()
    stay = FactReply(
        about=" Mara ", property="plan", value="to stay", quote='"Stay," she said', said="planned", by="Mara"
    )
    lamp = FactReply(about="the lamp", property="state", value="lit", quote="lit the lamp", known_to=["Mara", "Mara"])
    found = facts_of(SceneFacts(facts=[stay, lamp]), SCENE, counts)
    assert [(fact.subject, fact.told) for fact in found] == [("the lamp", Moment(2, 12)), ("Mara", Moment(2, 26))]
    assert (found[0].witnesses, found[0].modality, found[0].quote) == (("Mara",), "asserted", "lit the lamp")
    assert (found[1].modality, found[1].source, found[1].quote) == ("planned", "Mara", "“Stay,” she said")
    assert counts == {"quoted": 2}


def test_what_names_nothing_is_left_out_and_a_wrong_quotation_goes() -> None:
    counts: Counter[str] = Counter()
    nothing = FactReply(about="", property="state", value="lit")
    wrong = FactReply(about="Mara", property="x" * 500, value="y", quote="never said", said="shouted", by="Tobias")
    (found,) = facts_of(SceneFacts(facts=[nothing, wrong]), SCENE, counts)
    assert counts == {"empty": 1, "unquoted": 1}
    assert (found.quote, found.span, found.modality, found.source, len(found.slot)) == ("", None, "asserted", "", 200)
