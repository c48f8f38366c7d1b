"""Prompts are files: filled in strictly, replaceable by name, and every mistake in one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.craft.length import WordRange
from fabula.engine.prompts import SystemPrompts
from fabula.models.base import Message

if TYPE_CHECKING:
    from pathlib import Path

PARENT = """{% block system %}
{% if named %}
You are {{ named }}.
{% endif %}
{% endblock %}
{% block user %}
Write {{ self.what() }}.



Now.
{% endblock %}
{% block what %}{% endblock %}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "_parent.jinja").write_text(PARENT, encoding="utf-8")
    (folder / "scene.jinja").write_text('{% extends "_parent.jinja" %}{% block what %}a scene{% endblock %}')
    return folder


@pytest.fixture
def overrides(tmp_path: Path) -> Path:
    overrides = tmp_path / "mine"
    overrides.mkdir()
    return overrides


def test_a_prompt_has_a_system_and_a_user_message(folder: Path) -> None:
    assert SystemPrompts(folder).render("scene", {"named": "Mara"}) == (
        Message("system", "You are Mara."),
        Message("user", "Write a scene.\n\nNow."),
    )


def test_an_empty_system_block_sends_no_system_message(folder: Path) -> None:
    assert SystemPrompts(folder).render("scene", {"named": ""}) == (Message("user", "Write a scene.\n\nNow."),)


def test_an_opening_is_the_assistants_first_words(folder: Path) -> None:
    opening = "{% block opening %}{{ named }} is{% endblock %}"
    (folder / "scene.jinja").write_text(f'{{% extends "_parent.jinja" %}}{opening}')
    assert SystemPrompts(folder).render("scene", {"named": "Mara"})[-1] == Message("assistant", "Mara is")


def test_texts_are_not_escaped_as_html(folder: Path) -> None:
    assert SystemPrompts(folder).render("scene", {"named": "<Mara> & Co"})[0].content == "You are <Mara> & Co."


def test_building_parts_are_no_prompts(folder: Path) -> None:
    assert SystemPrompts(folder).names == ("scene",)


def test_an_override_replaces_a_file_of_the_same_name(folder: Path, overrides: Path) -> None:
    (overrides / "scene.jinja").write_text('{% extends "_parent.jinja" %}{% block what %}a letter{% endblock %}')
    assert SystemPrompts(folder, overrides).render("scene", {"named": ""})[0].content == "Write a letter.\n\nNow."


def test_the_digest_changes_with_any_file_in_force(folder: Path, overrides: Path) -> None:
    own, empty = SystemPrompts(folder).digest, SystemPrompts(folder, overrides).digest
    (overrides / "scene.jinja").write_text("{% block user %}x{% endblock %}")
    assert own == empty != SystemPrompts(folder, overrides).digest


def test_a_field_that_is_not_given_is_an_error_that_names_it(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"The prompt file scene.jinja cannot be filled in: 'named' is undefined"):
        SystemPrompts(folder).render("scene", {})


def test_an_unknown_prompt_names_the_nearest(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown prompt 'scen'. Did you mean 'scene'\?"):
        SystemPrompts(folder).render("scen", {})


def test_an_unknown_parent_is_named(folder: Path) -> None:
    (folder / "scene.jinja").write_text('{% extends "_missing.jinja" %}')
    with pytest.raises(UnknownNameError, match=r"Unknown prompt '_missing'"):
        SystemPrompts(folder).render("scene", {})


def test_a_prompt_without_a_user_block_is_refused(folder: Path) -> None:
    (folder / "scene.jinja").write_text("Only text.")
    with pytest.raises(ConfigError, match=r"scene.jinja has no text in {% block user %}; a prompt needs one\."):
        SystemPrompts(folder).render("scene", {})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"{% block user %}{% if %}{% endblock %}", "Expected an expression"),
        (b"{% block user %}{{ named + 1 }}{% endblock %}", "concatenate"),
        (b"{% block user %}{{ 1 / 0 }}{% endblock %}", "division by zero"),
        (b"{% block user %}{{ named.__class__.mro() }}{% endblock %}", "unsafe"),
        (b"{% block user %}caf\xe9{% endblock %}", "can't decode"),
        (b'{% extends "scene.jinja" %}', "recursion"),
    ],
)
def test_a_mistake_in_an_override_is_one_sentence_with_the_files_name(
    folder: Path, overrides: Path, source: bytes, expected: str
) -> None:
    (overrides / "scene.jinja").write_bytes(source)
    with pytest.raises(ConfigError, match=rf"The prompt file scene.jinja cannot be filled in: .*{expected}") as caught:
        SystemPrompts(folder, overrides).render("scene", {"named": "Mara"})
    assert "\n" not in str(caught.value)


def test_a_folder_of_overrides_that_is_none_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--prompts .*nowhere is not a folder\. Specify a folder of \.jinja files\."):
        SystemPrompts(folder, tmp_path / "nowhere").render("scene", {})


def test_an_override_of_nothing_names_the_nearest(folder: Path, overrides: Path) -> None:
    (overrides / "scenes.jinja").write_text("x")
    with pytest.raises(UnknownNameError, match=r"Unknown prompt file 'scenes'. Did you mean 'scene'\?"):
        SystemPrompts(folder, overrides).render("scene", {})


# prompts that systems share -------------------------------------------------------------------------------------------


@pytest.fixture
def common(tmp_path: Path) -> Path:
    common = tmp_path / "common"
    common.mkdir()
    (common / "plan.jinja").write_text('{% extends "_parent.jinja" %}{% block what %}a plan{% endblock %}')
    (common / "scene.jinja").write_text("{% block user %}Never read.{% endblock %}")
    return common


def test_a_prompt_is_looked_for_in_the_overrides_then_the_system_then_what_is_shared(
    folder: Path, overrides: Path, common: Path
) -> None:
    def said(name: str) -> str:
        return SystemPrompts(folder, overrides, common).render(name, {"named": ""})[0].content

    assert said("scene") == "Write a scene.\n\nNow."
    assert said("plan") == "Write a plan.\n\nNow."  # with the building part of the system
    (folder / "plan.jinja").write_text("{% block user %}The system's.{% endblock %}")
    assert said("plan") == "The system's."
    (overrides / "plan.jinja").write_text("{% block user %}Mine.{% endblock %}")
    assert said("plan") == "Mine."


def test_the_names_of_shared_prompts_are_known(folder: Path, overrides: Path, common: Path) -> None:
    assert SystemPrompts(folder, None, common).names == ("plan", "scene")
    (overrides / "plans.jinja").write_text("x")
    with pytest.raises(UnknownNameError, match=r"Unknown prompt file 'plans'. Did you mean 'plan'\?"):
        SystemPrompts(folder, overrides, common).render("scene", {})


def test_a_shared_prompt_in_force_is_in_the_digest(folder: Path, common: Path) -> None:
    alone, before = SystemPrompts(folder).digest, SystemPrompts(folder, None, common).digest
    (common / "plan.jinja").write_text("{% block user %}Another.{% endblock %}")
    assert len({alone, before, SystemPrompts(folder, None, common).digest}) == 3


def test_a_chat_stands_before_what_is_said_last_and_neighbours_are_one_message(tmp_path: Path) -> None:
    text = "{% block user %}Play.{% endblock %}{% block closing %}Now you.{% endblock %}"
    (tmp_path / "turn.jinja").write_text(text)
    prompts = SystemPrompts(tmp_path)
    assert prompts.render("turn", {}) == (Message("user", "Play.\n\nNow you."),)
    chat = (Message("user", "Hm?"), Message("assistant", "Ha."), Message("user", "Why?"))
    assert prompts.render("turn", {}, chat) == (
        Message("user", "Play.\n\nHm?"),
        Message("assistant", "Ha."),
        Message("user", "Why?\n\nNow you."),
    )


@pytest.mark.parametrize(
    ("comment", "usual"),
    [
        ("60 words", 60),
        ("events 5, completed 0.5, narrative {words}", {"events": 5, "completed": 0.5, "narrative": "{words}"}),
        ("edits {[a, b] | max},\n    why 20", {"edits": "{[a, b] | max}", "why": 20}),
        ("#1. {6}\n- {25}", "#1. {6}\n- {25}"),
        ("says {6}", "says {6}"),
        ("{300}\n{labels}: A", "{300}\n{labels}: A"),
        ("9999999 words", "9999999 words"),
    ],
)
def test_a_file_says_what_the_usual_reply_looks_like(
    tmp_path: Path, comment: str, usual: int | str | dict[str, float | str]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "own" / "say.jinja").write_text(f"{{#- Reply: {comment} -#}}\n{{% block user %}}Go.{{% endblock %}}")
    (tmp_path / "theirs" / "say.jinja").write_text("{% block user %}Go on.{% endblock %}")
    assert SystemPrompts(tmp_path / "own").usual("say") == usual
    assert SystemPrompts(tmp_path / "own", tmp_path / "theirs").usual("say") == usual  # a replaced file need not say it
    assert SystemPrompts(tmp_path / "theirs").usual("say") is None


def test_what_a_file_says_of_a_typed_reply_may_hang_on_the_fields(tmp_path: Path) -> None:
    said = """scenes {number or (words.target // 500 if words else 3)}, lines {lines}, quote {lines | join(" ")},
        narrative {words}, why 20, also {none}, sure 0.5"""
    (tmp_path / "say.jinja").write_text(f"{{#- Reply: {said} -#}}\n{{% block user %}}Go.{{% endblock %}}")
    prompts, fixed = SystemPrompts(tmp_path), {"lines": 2, "quote": "One. Two.", "why": 20, "also": None, "sure": 0.5}
    lines = ["One.", "Two."]
    assert prompts.expected("say", {"number": 7, "words": None, "lines": lines}) == fixed | {
        "scenes": 7,
        "narrative": None,
    }
    assert prompts.expected("say", {"number": 0, "words": WordRange.about(2000), "lines": lines}) == fixed | {
        "scenes": 4,
        "narrative": 2000,
    }
    with pytest.raises(ConfigError, match=r"say\.jinja describes its reply with \{number or"):
        prompts.expected("say", {})


@pytest.mark.parametrize("expression", ["9 ** 9 ** 9", "words.__class__", "lines |", "range(10 ** 9) | list"])
def test_an_expression_that_says_what_a_reply_has_is_kept_in_bounds(tmp_path: Path, expression: str) -> None:
    (tmp_path / "say.jinja").write_text(f"{{#- Reply: a {{{expression}}} -#}}{{% block user %}}Go.{{% endblock %}}")
    with pytest.raises(ConfigError, match=r"say\.jinja describes its reply with"):
        SystemPrompts(tmp_path).expected("say", {"words": "text", "lines": []})


def test_a_shared_file_says_nothing_of_a_prompt_of_the_systems_own(tmp_path: Path) -> None:
    for folder, comment in (("own", ""), ("common", "{#- Reply: 60 words -#}")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "say.jinja").write_text(f"{comment}{{% block user %}}Go.{{% endblock %}}")
    assert SystemPrompts(tmp_path / "own", common=tmp_path / "common").usual("say") is None
