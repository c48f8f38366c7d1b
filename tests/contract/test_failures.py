"""A run that ended because nothing of use came back goes on when it is started again, in every system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ModelError, ReplyError
from fabula.engine.journal import Journal
from fabula.models.scripted import ScriptedModel
from harness import Case, cases, dry_run_case, run_case

if TYPE_CHECKING:
    from fabula.models.base import OnText, Reply, Request

USELESS = "#"
CASES = list({(case.system.name, case.preset): case for case in cases()}.values())


class Failing(ScriptedModel):
    """Gives nothing of use to one prompt."""

    def __init__(self, case: Case, prompt: str) -> None:
        super().__init__(case.script)
        self.prompt = prompt

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        reply = await super().ask(request, on_text)
        if request.path.rpartition("/")[2] != self.prompt:
            return reply
        return self._counted(request, USELESS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_same_command_goes_on_after_replies_without_use(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
    for prompt in dict.fromkeys(request.path.rpartition("/")[2] for request in model.asked):
        with Journal() as journal:
            error: ReplyError | None = None
            try:
                await run_case(case, Failing(case, prompt), journal)
            except ReplyError as raised:
                error = raised
            except ModelError:  # the script has nothing for what is asked instead
                continue
            if error is not None:
                assert "The same command asks again from there" in str(error)
            planned = (await dry_run_case(case, case.model(), journal)).dry_run
            before, good = len(journal.calls), case.model()
            story = await run_case(case, good, journal)
            assert len(journal.calls) - before == len(good.asked)
            assert all(call.reply.text != USELESS for call in journal.calls.find(prompts=True)[before:])
            if before and good.asked:
                assert planned.planned
            frozen = case.model()
            assert await run_case(case, frozen, journal, mode="frozen") == story
            assert not frozen.asked
