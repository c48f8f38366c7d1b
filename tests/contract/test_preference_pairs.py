"""An author's edits of any system's texts give pairs under prompts of that system, or a reason why they do not."""

from __future__ import annotations

import pytest

from fabula.engine.journal import Journal
from fabula.models.base import Message
from fabula.story import plain
from fabula.systems import systems
from fabula.training.examples import PreferencePair
from fabula.training.histories import TOGETHER, history_of
from harness import cases, run_case

FIRST = {case.system.name: case for case in reversed(cases())}


@pytest.mark.parametrize("name", systems())
async def test_an_edit_of_each_text_is_a_pair_or_has_a_reason(name: str) -> None:
    case = FIRST[name]
    with Journal() as journal:
        await run_case(case, case.model(), journal)
        made = {
            path: journal.artefacts.versions(path)[-1]
            for path in journal.artefacts.paths()
            if journal.artefacts.versions(path)[-1].made
        }
        own: dict[str, str] = {}
        for number, (path, version) in enumerate(made.items()):
            *before, last = version.text.split("\n")
            own[path] = "\n".join([*before, f"{last} And then, for the first time in {number} years, it rained."])
            journal.artefacts.place(path, f"story/{number}.md")
            journal.decisions.add(path, "edit", own[path])
            journal.artefacts.keep(path, own[path], "edited")
            journal.start_run(name, {})
        found = history_of(journal, "", "lamp")
        given = {plain(reply.text) for reply in journal.calls.find()}
        prompts = {tuple(Message(*one) for one in reply.messages) for reply in journal.calls.find(prompts=True)}
    pairs = [one for one in found if isinstance(one, PreferencePair)]
    reasons = {one["path"]: one["reason"] for one in found if not isinstance(one, PreferencePair)}
    assert {one.source["path"] for one in pairs} | set(reasons) == set(made)
    assert set(reasons.values()) <= {TOGETHER}
    assert bool(pairs) == (name not in ("magnet", "ibsen"))  # of which the last lines here come from JSON
    for one in pairs:
        assert one.agent in case.system.roles
        assert one.rejected in given or one.rejected == made[one.source["path"]].text
        assert "it rained" in one.chosen
        assert any(one.messages in (asked, asked[:-1]) for asked in prompts)
