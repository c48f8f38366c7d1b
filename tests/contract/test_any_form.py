"""Person, tense, form and language are the brief's: every writing prompt is told them, and no prompt says otherwise."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from capable import Capable, wanted
from fabula.base.errors import FabulaError
from fabula.engine.journal import Journal
from fabula.story import Brief
from harness import Case, cases, run_case

if TYPE_CHECKING:
    from fabula.models.base import Request
    from fabula.models.scripted import ScriptedModel

FORM: Final = "in the present tense, in the first person, as letters, in German"
BRIEF: Final = (
    f"Write a story of about 400 words about Mara, who keeps a lighthouse, and the boy Tobias, {FORM}. It ends well."
)
PLAN: Final = """
person: first person, told by Mara
tense: present tense
form: letters, in German
"""
# What fixes the form of the story; what is material for it may be in a form of its own where the prompt says so.
_FIXED: Final = re.compile(
    r"past tense|third person|as in a novel|novelist|narrative prose|story prose|in English|sentences and paragraphs",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"whatever (?:the|person)|unless it says otherwise|if it does not say|such as \"|its language and the third person",
    re.IGNORECASE,
)
_WRITES: Final = re.compile(
    r"(?:exposition|rising_action|climax|falling_action|resolution|finalizer|rewrite|retell|story|scene|tell|extend|"
    r"shorten|revise|final_reading)\Z"
)


class Recording(Capable):
    """Writes too little at first, and too much when it is asked for more, so that it is asked in every way."""

    def __init__(self) -> None:
        super().__init__(
            (lambda n: f"Liebe Schwester, heute zähle ich {n} Wellen. Der Leuchtturm steht, und ich warte.",)
        )

    def answer(self, request: Request) -> str:
        if request.schema is not None or request.choices:
            return super().answer(request)
        words = wanted(request)
        last = request.messages[-1].content
        if "too early" in last or "Continue" in last:
            words *= 4
        elif "Rewrite it at that length" not in last:
            words //= 2
        return self.written(max(words, 20))


def usual() -> list[Case]:
    """The first improved case of each system, but for those of a script's form."""
    found: dict[str, Case] = {}
    for case in cases():
        formed = case.config.get("script") or (case.system.name == "dramatron" and not case.plan)
        if case.preset == "improved" and not case.edits and not formed:
            found.setdefault(case.system.name, case)
    return list(found.values())


@pytest.mark.parametrize("aids", ["off", "on"])
@pytest.mark.parametrize("case", usual(), ids=lambda case: case.id)
async def test_the_form_comes_from_the_brief_in_every_prompt(case: Case, aids: str) -> None:
    config = {name: value for name, value in case.config.items() if name != "words"}
    plan = case.plan and PLAN + case.plan
    case = replace(case, brief=Brief(BRIEF), config=config, plan=plan)
    model: ScriptedModel = Recording() if aids == "off" else case.model()
    with Journal() as journal, suppress(FabulaError, ExceptionGroup) if aids == "on" else nullcontext():
        await run_case(case, model, journal, aids=aids)  # a script for another brief may end before the story does
    assert model.asked
    for request in model.asked:
        prompt = "\n".join(message.content for message in request.messages if message.role != "assistant")
        lines = [line for line in prompt.splitlines() if _FIXED.search(line) and not _OPEN.search(line)]
        assert not lines, request.path
        if aids == "off" and _WRITES.search(request.path) and request.schema is None:
            assert FORM in prompt or "first person, told by Mara; present tense" in prompt, request.path
    if aids == "off" and case.system.name in {"agents-room", "character-simulation", "end-to-end"}:
        assert any("/extend/" in request.path for request in model.asked)
