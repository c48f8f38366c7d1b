"""What is trained on is what is asked: the messages of the data are those that `fabula write` sends, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of as script
from fabula.app.back_translating import BackTranslationTask, back_translate_in, config_for
from fabula.app.evaluating import journal_to_read
from fabula.app.writing import Options, Supplied, write_in
from fabula.engine.methods import settings_of
from fabula.engine.roles import Assignment, Cast
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief, Story
from fabula.systems import find
from fabula.systems.agents_room.back_translation import GUIDES
from fabula.training.examples import read_examples
from finished import BRIEF, NOTES, SPLIT, STORY

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.training.examples import Example

SMALL = Capabilities(continues=True, small=True, context=8192, parallel=64)
CAPABLE = Capabilities(context=32_768, parallel=64)
VARIANTS: dict[str, dict[str, Any]] = {
    "plan+write": {"system": "agents-room"},
    "plan": {"system": "agents-room", "config": {"variant": "plan"}},
    "write": {"system": "agents-room", "config": {"variant": "write"}},
    "end-to-end": {"system": "end-to-end"},
}
BRIEFS = {
    "words": BRIEF,
    "other words": BRIEF.replace("300", "900"),
    "no words": BRIEF.replace(" of about 300 words", ""),
}


async def data_of(
    tmp_path: Path,
    able: Capabilities,
    brief: str,
    **settings: Any,  # noqa: ANN401 - of any setting
) -> tuple[BackTranslationTask, tuple[Example, ...]]:
    """The training data of one story."""
    (tmp_path / "teacher.toml").write_text(script({**NOTES, "splitter": SPLIT}), encoding="utf-8")
    item = Item("lamp", Story.parse(STORY), brief=Brief.parse(brief))
    learner = Settings.of(settings, "test")
    task = BackTranslationTask([item], tmp_path / "data", learner, able, "somebody", development=0)
    teacher = Settings(model=f"scripted:{tmp_path / 'teacher.toml'}", preset=learner.preset)
    made = await back_translate_in(task, teacher, Options())
    assert not made.left_out
    return task, read_examples(tmp_path / "data", "train")


@pytest.mark.parametrize(
    ("preset", "able", "brief"),
    [
        ("faithful", CAPABLE, "words"),
        ("improved", CAPABLE, "words"),
        ("improved", CAPABLE, "other words"),
        ("improved", SMALL, "words"),
        ("improved", SMALL, "no words"),
    ],
    ids=["faithful", "improved", "other-words", "small", "small-no-words"],
)
@pytest.mark.parametrize("variant", VARIANTS)
async def test_the_messages_of_the_data_are_those_of_a_run(
    tmp_path: Path, variant: str, preset: str, able: Capabilities, brief: str
) -> None:
    task, examples = await data_of(tmp_path, able, BRIEFS[brief], preset=preset, **VARIANTS[variant])
    texts = {example.agent: example.completion for example in examples}
    asked = Brief.parse(BRIEFS[brief])
    config = config_for(task, asked, texts)
    fields = {one.name: one.value for one in settings_of(config)}
    project = ProjectFolder.create(tmp_path / "project", asked, {})
    model = ScriptedModel(texts, capabilities=able)
    roles = find(task.settings.system).roles
    cast = Cast(Assignment(model, adapter="mine"), known=roles)
    outcome = await write_in(project, with_config(task.settings, fields), Options(), Supplied(cast, Budget()))
    sent = {request.role: request.messages for request in model.asked}
    assert [request.role for request in model.asked] == [example.agent for example in examples]
    assert {example.agent: example.messages for example in examples} == sent
    assert all(message.role != "assistant" for messages in sent.values() for message in messages)
    if variant != "plan":
        assert outcome.story.text.split() == STORY.split()


def with_config(settings: Settings, fields: dict[str, Any]) -> Settings:
    """The settings as `fabula write --set` would have them."""
    shares = ",".join(map(str, fields.pop("shares", ())))
    return settings.with_({"config": fields | ({"shares": shares} if shares else {})})


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_the_teacher_is_asked_as_appendix_c_has_it(tmp_path: Path, preset: str) -> None:
    await data_of(tmp_path, CAPABLE, BRIEF, system="agents-room", preset=preset)
    with journal_to_read(tmp_path / "data") as journal:
        asked = {one.role: one.messages[-1][1] for one in journal.calls.find(prompts=True)}
    split, story = asked.pop("splitter"), f"[User-Written Response] {STORY.strip()}"
    assert list(asked) == list(NOTES)
    for prompt in asked.values():
        assert f"[Creative Writing Task] {Brief.parse(BRIEF).titled}\n\n{story}" in prompt
        assert "Given a Creative Writing Task and a User-Written Response, " in prompt
    assert story in split
    assert "Creative Writing Task" not in split
    assert [f"* [{label}]: {guide}" for label, guide in GUIDES.items()] == [
        line for line in split.splitlines() if line.startswith("* [")
    ]
    headers = "[Exposition], [Rising Action], [Climax], [Falling Action], [Resolution]"
    assert f"give its header ({headers}), and behind it the first sentence of that section, copied exactly" in split
