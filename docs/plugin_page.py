"""The page of `fabula.plugin`: how each kind of plug-in is brought, with an example, and every name with what it is."""

from __future__ import annotations

import inspect
from types import UnionType
from typing import Final, get_args

from fabula import plugin

_HEAD: Final = '''# Plug-ins

What systems, evaluators, models, formats and the like of others are made with: the names of `fabula.plugin`, the
errors of [`fabula.errors`](errors.md), the [verbs](python.md) of `fabula`, and `fabula.testing`, which tries the
rules.

These names keep their meaning from one minor version to the next; one that is to go is first marked so for a minor
version. Whatever else lies in the package may change at any time. Fabula's own examples import nothing else, which a
test holds.

## How they are found

An installed package names what it brings as entry points. It is trusted, since you have installed it; its code is
imported when it is used, and an error in it is told as its own. Fabula's own names go first. `fabula doctor` lists
what packages bring, and what is wrong with it. The page of a panel is a tab of each project in the studio.

```toml
# pyproject.toml
[project.entry-points."fabula.exporters"]
html = "my_papers.extras:as_html"

[project.entry-points."fabula.briefs"]
ini = "my_papers.extras:brief_of"

[project.entry-points."fabula.commands"]
longest = "my_papers.extras:longest"

[project.entry-points."fabula.panels"]
scene-lengths = "my_papers.extras:scene_lengths"
```

| group | its name | what it points to |
|---|---|---|
| `fabula.systems` | of the system | [a folder](../how-to/own-system.md), as a package |
| `fabula.evaluators` | of the evaluator | [a folder](../how-to/own-evaluator.md), as a package |
| `fabula.models` | a prefix, as in `keeper:mara` | [a factory](../how-to/own-provider.md) of models |
| `fabula.exporters` | a format; files end so | a function of a `Story` and its `Meta` that gives text or bytes |
| `fabula.briefs` | the end of files that hold briefs | a function of a file's path that gives the brief's text |
| `fabula.commands` | of the command | a function whose annotations typer reads, or a `typer.Typer` |
| `fabula.panels` | of a page in the studio | a function of a `fabula.Project` that gives Markdown |

## A format, a loader of briefs, a command, a page in the studio

```python
# my_papers/extras.py
import configparser
from html import escape
from pathlib import Path
from typing import Annotated

import typer

import fabula
from fabula.plugin import Meta, Story


def as_html(story: Story, meta: Meta) -> str:
    """For `fabula export -f html`, and wherever a story can be exported."""
    scenes = "".join(f"<section>{escape(scene.text)}</section>" for scene in story.scenes)
    return f"<!doctype html><title>{escape(meta.title)}</title>{scenes}"


def brief_of(path: Path) -> str:
    """For `fabula write brief.ini`: the text of the brief; a first line `# Title` is its title."""
    asked = configparser.ConfigParser()
    asked.read_string(path.read_text(encoding="utf-8"))
    return f"# {asked['story']['title']}\\n\\n{asked['story']['about']}"


def longest(folder: Annotated[str, typer.Argument(help="Of a project.")]) -> None:
    """Print the longest text of a project: `fabula longest lamp`."""
    story = fabula.read(Path(folder) / "story.md")
    assert isinstance(story, Story)
    print(max(story.scenes, key=lambda scene: scene.words).label)


def scene_lengths(project: fabula.Project) -> str:
    """A page beside Write and Edit: what is Markdown is shown as that; nothing in it runs or loads."""
    story = fabula.read(project.folder / "story.md")
    assert isinstance(story, Story)
    return "\\n".join(f"- {scene.label}: {scene.words} words" for scene in story.scenes)
```

## A judge that takes stories

Whoever plays a role may be an object with a method `reply`. Where it has a parameter `fields`, it is given what the
prompt's fields are filled with: the judge of two stories has them as `first` and `second`, and the names of what it
is asked as `labels`. So it need not read stories off a prompt. Its answer ends as the prompt asks for. It is one of
`model=`, or of a package's `fabula.models`: `fabula evaluate pairwise one.md two.md --model PREFIX:NAME`.

```python
from collections.abc import Mapping
from typing import Any

import fabula


class LikesLong:
    """The longer one is the better one; a judge that people should be compared with."""

    def reply(self, prompt: str, *, fields: Mapping[str, Any] | None = None) -> str:
        assert fields is not None
        first, second = (len(fields[name].split()) for name in ("first", "second"))
        verdict = "A" if first > second else "B" if second > first else "Same"
        return "\\n".join(f"{label}: {verdict}" for label in fields["labels"])


one, other = "Mara lit the lamp.", "Mara lit the lamp, and the boat came home before the storm."
judged = fabula.judge(one, other, model=LikesLong(), folder=None)
assert judged.better == "story-2"
```

## Every name
'''


def plugin_page() -> str:
    """The page."""
    rows = [f"| `{name}` | {_about(name)} |" for name in plugin.__all__]
    return "\n".join([_HEAD, "| name | what it is |", "| --- | --- |", *rows, ""])


def _about(name: str) -> str:
    """The first line of what is said of a name; what a type stands for."""
    thing = getattr(plugin, name)
    if isinstance(thing, type) or inspect.isroutine(thing):
        return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
    one_of = get_args(thing) if isinstance(thing, UnionType) else ()
    return " or ".join(f"`{one.__name__}`" for one in one_of) or f"`{thing}`".replace("collections.abc.", "")
