"""What the contract rules say of a system that breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from fabula.testing import check
from fabula.testing.traced import traced
from outside import PAPER, lay

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.testing import RuleOutcome

_ALGORITHM: Final = """\
from __future__ import annotations
from dataclasses import replace
from fabula.story import Story

async def write(brief, run, config):
    async def outline(own):
        return await own.ask("writer", "outline", brief=brief.text, style=config.style)
    plan = await run.keep("plan", outline, folder="plan")
    async def people(own):
        return await own.ask("writer", "people", plan=plan)
    cast = await run.keep("people", people, folder="plan")
    story, scenes = Story.of(brief), []
    for number in (1, 2):
        async def scene(own, number=number, before=tuple(scenes)):
            text = await own.ask("writer", "scene", number=number, people=cast, more={more})
            return {text}
        scenes.append(await run.keep(f"scene-{number}", scene, folder="story", reads={reads}))
        story = story.add(f"Scene {number}", scenes[-1])
    return story
"""
_CONFIG: Final = """\
from __future__ import annotations
from dataclasses import dataclass
from fabula.engine.methods import Presets

@dataclass(frozen=True, slots=True)
class Paper:
    \"\"\"Values of the paper.

    Attributes:
        style: how it is told.
        unused: what nothing reads.
    \"\"\"

    style: str = "plain"
    unused: int = 3

@dataclass(frozen=True, slots=True)
class Config(Presets):
    \"\"\"Its settings.

    Attributes:
        paper: values of the paper.
    \"\"\"

    paper: Paper = Paper()

    @property
    def style(self):
        return self.paper.style
"""
_SCRIPT: Final = """\
brief = "Write a story about Mara, who keeps a lighthouse."
[[cases]]
preset = "faithful"
[replies]
"plan/outline" = "The lamp is broken and a boat is still out at sea."
"people/people" = "Mara keeps the lamp, and Tobias waits for his father."
"scene-1/scene" = "Mara climbed the stairs with the oil can and counted the steps in the dark."
"scene-2/scene" = "Tobias saw the light from the quay, and then he saw the boat under it."
"""
_PROMPTS: Final = {
    "outline": "{{ brief }} Make a plan, {{ style }}.",
    "people": "{{ plan }} Who is in it?",
    "scene": "{{ people }} Write scene {{ number }}. {{ more }}",
}


def lay_planned(folder: Path, *, reads: str = '["people"]', more: str = '""', text: str = "text") -> Path:
    """A system that plans, and writes two scenes from its list of people alone; `more` is what they are shown too."""
    lay(folder)
    (folder / "prompts" / "story.jinja").unlink()
    algorithm = _ALGORITHM.replace("{more}", more).replace("{text}", text).replace("{reads}", reads)
    files = {"algorithm.py": algorithm, "config.py": _CONFIG.replace("        unused: what nothing reads.\n", "")}
    files["config.py"] = files["config.py"].replace("    unused: int = 3\n", "")
    files |= {"paper.toml": PAPER, "README.md": "# Planned\n", "script.toml": _SCRIPT}
    files |= {f"prompts/{name}.jinja": f"{{% block user %}}{said}{{% endblock %}}\n" for name, said in _PROMPTS.items()}
    for name, said in files.items():
        (folder / name).write_text(said, encoding="utf-8")
    return folder


async def tried(folder: Path) -> list[RuleOutcome]:
    return [outcome async for outcome in check(str(folder))]


async def broken_in(folder: Path) -> dict[str, str]:
    return {outcome.rule: outcome.broken for outcome in await tried(folder) if outcome.broken}


async def test_a_system_whose_reads_are_true_keeps_every_rule(tmp_path: Path) -> None:
    assert await broken_in(lay_planned(tmp_path / "planned")) == {}


async def test_a_setting_that_nothing_reads_is_named(tmp_path: Path) -> None:
    folder = lay_planned(tmp_path / "planned")
    (folder / "config.py").write_text(_CONFIG, encoding="utf-8")
    assert await broken_in(folder) == {
        "every setting is read": "Nothing reads paper.unused in any case of script.toml."
    }


async def test_to_copy_a_config_is_not_to_read_it(tmp_path: Path) -> None:
    folder = lay_planned(tmp_path / "planned")
    (folder / "config.py").write_text(_CONFIG, encoding="utf-8")
    algorithm = (folder / "algorithm.py").read_text(encoding="utf-8")
    copied = algorithm.replace(
        "    async def outline", "    config = replace(config, paper=replace(config.paper))\n    async def outline"
    )
    (folder / "algorithm.py").write_text(copied, encoding="utf-8")
    assert "paper.unused" in (await broken_in(folder))["every setting is read"]


PLAN_READ: Final = "planned-faithful-: scene-1 is said to read people alone (reads=), but with plan edited "
SCENE_READ: Final = "planned-faithful-: scene-2 is said to read people alone (reads=), but with scene-1 edited "


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"more": "plan"}, f"{PLAN_READ}the prompt scene-1/scene is another one."),
        ({"text": 'f"{plan}\\n\\n{text}"'}, f"{PLAN_READ}its text is another one."),
        ({"more": '" ".join(before)'}, f"{SCENE_READ}the prompt scene-2/scene is another one."),
        ({"more": 'before[-1][-4:] if before else ""'}, f"{SCENE_READ}the prompt scene-2/scene is another one."),
        (
            {"more": '"word " * len(" ".join(before).split())'},
            f"{SCENE_READ}the prompt scene-2/scene is another one.",
        ),
        ({"reads": "[]"}, "is said to read nothing alone (reads=), but with plan edited the prompt scene-1/scene is"),
    ],
    ids=["prompt", "text", "another scene", "its last letters", "its length", "nothing"],
)
async def test_what_is_read_and_not_declared_is_named(tmp_path: Path, lie: dict[str, str], said: str) -> None:
    broken = (await broken_in(lay_planned(tmp_path / "planned", **lie)))["what names its reads is made of nothing else"]
    assert said in broken


async def test_a_missing_readme_is_named_and_stops_nothing(tmp_path: Path) -> None:
    folder = lay_planned(tmp_path / "planned", more="plan")
    rules = len(await tried(folder))
    (folder / "README.md").unlink()
    outcomes = await tried(folder)
    assert len(outcomes) == rules
    assert [one.rule for one in outcomes if one.broken] == [
        "the folder is whole",
        "what names its reads is made of nothing else",
    ]
    assert "README.md is missing" in outcomes[0].broken


async def test_without_a_script_nothing_is_run(tmp_path: Path) -> None:
    folder = lay_planned(tmp_path / "planned")
    (folder / "script.toml").unlink()
    assert [one.rule for one in await tried(folder) if one.broken] == [
        "the folder is whole",
        "script.toml has cases to try it on",
    ]


async def test_what_is_given_differently_than_it_was_made_breaks_a_rule(tmp_path: Path) -> None:
    folder = lay_planned(tmp_path / "planned")
    algorithm = (folder / "algorithm.py").read_text(encoding="utf-8")
    lost = algorithm.replace("            return text\n", '            story.title = "Made"\n            return text\n')
    assert lost != algorithm
    lost = lost.replace(
        "    return story\n", '    return story if story.title != "Made" else story.add("More", "More.")\n'
    )
    (folder / "algorithm.py").write_text(lost, encoding="utf-8")
    assert "replays what is recorded without asking" in await broken_in(folder)


def test_a_traced_config_is_the_config() -> None:
    from fabula.systems import find  # noqa: PLC0415 - the one test that wants a system of ours

    config, read = find("magnet").config("improved"), set[str]()
    copy = traced(config, read)
    assert repr(copy) == repr(config)
    assert not read
    assert copy.paper.stall_steps == config.paper.stall_steps
    assert read == {"paper", "paper.stall_steps"}
