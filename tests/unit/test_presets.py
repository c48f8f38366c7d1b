"""Two programs in one folder: which of them runs, with which prompts, and what is said of settings that one lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.app.prompts_shown import prompts_of, prompts_on
from fabula.base.errors import ConfigError
from fabula.engine.journal import Journal
from fabula.engine.methods import of_presets
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import evaluators
from fabula.evaluators import find as find_evaluator
from fabula.measure.items import Item
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.systems import find, systems

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.methods import Preset

MADE_UP = re.compile(r"(?:\bw[a-z]{3,4}\b[., ]+){4}", re.IGNORECASE)
FILES = {
    "__init__.py": "",
    "config.py": '''from dataclasses import dataclass
from fabula.engine.methods import Presets
@dataclass(frozen=True, slots=True)
class Paper:
    """Values.

    Attributes:
        parts: of the story.
    """
    parts: int = 1
@dataclass(frozen=True, slots=True)
class Ours:
    """Ours.

    Attributes:
        titles: whether parts have titles.
    """
    titles: bool = True
@dataclass(frozen=True, slots=True)
class Config(Presets):
    paper: Paper = Paper()
    ours: Ours | None = None
    @classmethod
    def improved(cls):
        return cls(Paper(2), Ours())
''',
    "algorithm.py": """from fabula.story import Story
async def write(brief, run, config):
    return Story.of(brief).add("Part", await part(run))
async def part(run):
    return await run.ask("writer", "part")
""",
    "improved.py": """from fabula.story import Story
from .algorithm import part
async def write(brief, run, config):
    story = Story.of(brief)
    for n in range(config.paper.parts):
        story = story.add(f"Part {n}", await part(run.scope(n)) + await run.scope(n).ask("writer", "end"))
    return story
""",
    "prompts/part.jinja": "{% block user %}The paper's words.{% endblock %}",
    "prompts/end.jinja": "{% block user %}The end.{% endblock %}",
    "prompts/improved/part.jinja": "{% block user %}Our words.{% endblock %}",
    "paper.toml": """title = "T"
authors = ["A"]
year = 2026
venue = "V"
summary = "S."
when = "never"
asks = "1 call"
strength = "small"
worth = "Nothing was measured."
[roles]
writer = "writes"
[ours]
titles = "not measured"
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "two_programs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path / "two_programs"


@pytest.mark.parametrize(
    ("preset", "parts", "asked"),
    [
        ("faithful", 1, ["The paper's words."]),
        ("improved", 2, ["Our words.", "The end.", "Our words.", "The end."]),
    ],
)
async def test_a_preset_is_a_program_with_its_prompts(
    folder: Path, preset: Preset, parts: int, asked: list[str]
) -> None:
    system, model = find(str(folder)), ScriptedModel({"writer": ["a"] * 4})
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(system.prompt_folders(preset)), Cast.of(model))
        story = await system.write(Brief.parse("A lamp."), Run(context), system.config(preset))
    assert [request.messages[-1].content for request in model.asked] == asked
    assert len(story.scenes) == parts


def test_a_setting_of_ours_is_refused_where_the_paper_runs_alone(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"titles is a setting of fabula.s additions, which the preset faithful"):
        find(str(folder)).config("faithful", {"titles": "no"})


def test_a_setting_of_ours_has_no_value_in_the_paper(folder: Path) -> None:
    rows = [(one.full_name, paper, ours) for one, paper, ours in of_presets(find(str(folder)).settings_type)]
    assert rows == [("paper.parts", 1, 2), ("ours.titles", None, True)]


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize("name", sorted(systems()))
async def test_every_system_shows_what_it_asks(name: str, preset: Preset) -> None:
    shown = await prompts_of(systems()[name], preset)
    texts = [text for one in shown.prompts for _, text in one.messages]
    assert texts
    assert not [text for text in texts if MADE_UP.search(text)]


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize("name", sorted(name for name, one in evaluators().items() if one.roles))
async def test_every_evaluator_shows_what_it_asks(name: str, preset: Preset) -> None:
    shown = await prompts_on(evaluators()[name], preset)
    texts = [text for one in shown.prompts for _, text in one.messages]
    assert any("⟨about " in text for text in texts), "what stands in for the story is marked"
    assert not [text for text in texts if MADE_UP.search(text)]


async def test_an_evaluator_is_shown_with_the_story_that_is_given() -> None:
    asked = await prompts_on(find_evaluator("pairwise"), "improved", Item("mine", Story.parse("The lamp was dark.")))
    assert {one.name for one in asked.prompts} == {"compare", "verdict"}
    assert all("The lamp was dark." in one.messages[-1][1] for one in asked.prompts)
    assert list(asked.not_asked) == ["conclude"]
