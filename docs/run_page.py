"""The page of `Run`: each of its public names with what it gives and an example, which the tests of the pages run."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent
from typing import Final

from fabula.engine.room import Room
from fabula.engine.run import Run

_HEAD: Final = """# Run

All that a system or an evaluator may touch ([how to write one](../how-to/own-system.md)). A `Run` is a place in a run:
it finds who plays a role, renders the prompt, looks into the journal, respects budget and concurrency, reads the reply,
records it, and tells the listeners. The examples on this page continue from each other, and begin with these lines; in
a system, `await` stands where they have `done`.

```python
import asyncio
from contextlib import ExitStack
from pathlib import Path

from pydantic import BaseModel

from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import RunContext
from fabula.plugin import Message, Run, ScriptedModel, side_by_side

Path("prompts").mkdir()
Path("prompts/say.jinja").write_text(
    "{#- Reply: 12 words -#}{% block user %}Say something about {{ what }}.{% endblock %}"
    "{% block closing %}Go on.{% endblock %}"
)
model = ScriptedModel({"poet": "The lamp was lit.", "critic": '["B"]', "judge": "B"})
journal = ExitStack().enter_context(Journal())
run = Run(RunContext(journal, SystemPrompts(Path("prompts")), Cast.of(model)))
done = asyncio.run
```

Independent work is done at the same time by `side_by_side(...)` and `branches()` of `fabula.plugin`. What an
estimate takes a reply to look like stands in the prompt's file: `{#- Reply: 12 words -#}`, or for a typed one
`{#- Reply: scenes 5, title 3 -#}`, or a form such as `{#- Reply: Title: {4} -#}`. In place of a number may stand an
expression of the prompt's fields, as in `{#- Reply: scenes {outline | length}, quote {text} -#}`: a text is quoted.
"""
# A name that is missing here, or gone from `Run`, stops the generator.
EXAMPLES: Final = {
    "context": """
        assert run.context.seed == 1
    """,
    "at": """
        assert run.scope("scene", 3).at == "scene/3"
    """,
    "rng": """
        assert run.scope("scene", 3).rng.random() == run.scope("scene", 3).rng.random()
    """,
    "scope": """
        scene = run.scope("scene", 3)
        assert scene.scope("turn", 2).at == "scene/3/turn/2"
    """,
    "ask": """
        assert done(scene.ask("poet", "say", what="the sea")) == "The lamp was lit."
    """,
    "reply": """
        said = [Message("assistant", "The lamp was lit.")]
        reply = done(scene.reply("poet", "say", said, what="the sea"))
        assert reply.finish == "stop"
    """,
    "ask_for": """
        assert done(scene.ask_for(list[str], "critic", "say", what="the better story")) == ["B"]
    """,
    "choose": """
        assert done(scene.choose(["A", "B"], "judge", "say", what="the better story")) == "B"
    """,
    "weigh": """
        reply = done(scene.weigh(["A", "B"], "judge", "say", what="the better story"))
        assert (reply.text, reply.logprobs) == ("B", None)  # this model gives no probabilities
    """,
    "sample": """
        assert done(scene.sample(2, "poet", "say", what="the wind")) == ("The lamp was lit.",) * 2
    """,
    "render": """
        assert run.render("say", what="the sea") == "Say something about the sea.\\n\\nGo on."
    """,
    "keep": """
        async def verse(own: Run) -> str:
            return await own.ask("poet", "say", what="the sea")


        class Told(BaseModel):
            text: str
            memory: str = ""


        async def part(own: Run) -> Told:
            return Told(text=await verse(own), memory="the lamp is lit")


        assert done(run.keep("verse", verse, folder="story")) == "The lamp was lit."
        assert done(run.keep("words", verse, read=str.split, folder="plan")) == ["The", "lamp", "was", "lit."]
        assert done(run.keep("part-1", part, shape=Told, folder="story")).memory == "the lamp is lit"
    """,
    "given": """
        assert done(run.given("verse", folder="story")) is None  # nobody edited it
    """,
    "note": """
        scene.note("The poet was brief.")
        scene.note("The story is shorter than was asked for.", "shortfall")
        assert run.context.shortfalls == ["The story is shorter than was asked for."]
    """,
    "removed": """
        scene.removed("chatter", "Here is your verse: The lamp was lit.", "The lamp was lit.")
    """,
    "optional": """
        motto = run.optional("the story has no motto")
        assert done(motto.ask("poet", "say", what="hope")) == "The lamp was lit."
    """,
    "tries": """
        tries = run.tries("say")
    """,
    "again": """
        for attempt in range(3):
            text = done(tries.again(attempt, "It was a list.").ask("poet", "say", what="rain"))
            if not text.startswith("- "):
                break
    """,
    "exhausted": """
        error = tries.exhausted("say", "The poet gave lists alone.", "poet", text)
        assert error.reply == "The lamp was lit."
    """,
    "room": """
        room = run.room("poet")
        assert (room.aids, room.window, room.reply_tokens(96)) == (False, None, None)
    """,
}


def run_page() -> str:
    """Each public name of `Run`, and of the `Room` of a role."""
    names = {name for name in (*vars(Run), *Run.__dataclass_fields__) if not name.startswith("_")}
    if names != set(EXAMPLES):
        raise ValueError(f"docs/run_page.py and Run differ in {sorted(names ^ set(EXAMPLES))}.")
    parts = [_HEAD]
    for name, example in EXAMPLES.items():
        parts.append(f"## run.{name}\n\n{_about(name)}\n\n```python\n{dedent(example).strip()}\n```\n")
    rows = [f"| `{name}` | {_first(value)} |" for name, value in vars(Room).items() if _is_public(name, value)]
    table = "\n".join(rows)
    parts.append(f"## Room\n\n{_first(Room)}\n\n| name | what it is |\n|---|---|\n{table}\n")
    return "\n".join(parts)


def _is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and (isinstance(value, property) or inspect.isfunction(value))


def _about(name: str) -> str:
    """What the docstring says, with arguments and errors as lists."""
    if name == "context":
        return "What all places of a run share: journal, prompts, cast, seed, budget."
    about = inspect.getdoc(vars(Run)[name]) or ""
    head, *sections = re.split(r"^(Args|Raises):\n", about, flags=re.MULTILINE)
    text = [head.strip()]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries = re.findall(r"^    (\S[^:]*): (.*(?:\n        .*)*)", body, flags=re.MULTILINE)
        lines = "\n".join(f"- `{what}`: {' '.join(said.split())}" for what, said in entries)
        text.append(f"Raises:\n\n{lines}" if title == "Raises" else lines)
    return "\n\n".join(text)


def _first(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
