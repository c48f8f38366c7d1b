"""Prompt files of somebody else: they read only their own folder and fields, and end in time and in size."""

from __future__ import annotations

import os
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, FabulaError
from fabula.engine import templates
from fabula.engine.prompts import SystemPrompts

if TYPE_CHECKING:
    from pathlib import Path

BOMBS = {
    "loops in loops": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "loops over texts": "{% for a in text %}{% for b in text %}{% for c in text %}{% endfor %}{% endfor %}{% endfor %}",
    "macros": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(200) }}",
    "files in files": "{% if n is not defined %}{% endif %}{% include '_again.jinja' %}",
    "a product": "{{ 'x' * 10 ** 9 }}",
    "a long text": "{{ 'xxxxxxxxxxxxxxxxxxxx' * 900000000 }}",
    "a list": "{{ ([0] * 900000000) | length }}",
    "a power": "{{ 9 ** 9 ** 9 }}",
    "doubled": "{% set ns = namespace(x='xx') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "added": "{% set ns = namespace(x='xx') %}{% for a in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "replaced": "{% set n = namespace(x='xx') %}{% for a in range(9) %}{% set n.x=n.x|replace('x', n.x) %}{% endfor %}",
    "replaced by a method": "{% set ns = namespace(x='x' * 9999) %}{{ ns.x.replace('', ns.x).replace('x', ns.x) }}",
    "joined": "{{ (['x' * 999999] * 9999) | join('x' * 999999) | length }}",
    "filled": "{{ '%999999999d' % 1 }}",
    "formatted": "{{ '{:999999999}'.format(1) }}",
    "centred": "{{ 'x'.center(999999999) }}",
    "centred by a filter": "{{ 'x'|center(999999999) }}",
    "indented": "{{ 'x'|indent(999999999, true) }}",
    "nonsense": "{{ lipsum(999999) }}",
    "said again": "{% set t = 'x' * 999999 %}{% for a in range(9999) %}{{ t }}{% endfor %}",
    "inside": "{{ ''.__class__.__mro__ }}",
    "changed": "{{ names.append('x') }}",
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("scene", "_again"):
        (folder / f"{name}.jinja").write_text("{% block user %}Write.{% endblock %}", encoding="utf-8")
    return folder


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_prompt_ends_in_time_and_in_size(own: Path, theirs: Path, bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    clock = SimpleNamespace(monotonic=lambda: next(looks) / 1000)
    monkeypatch.setattr(templates, "time", clock)  # ten seconds are 10,000 looks
    again = "{% include '_again.jinja' %}{% include '_again.jinja' %}"
    (theirs / "_again.jinja").write_text(again, encoding="utf-8")
    text = f"{{% block user %}}Write. {BOMBS[bomb]}{{% endblock %}}"
    (theirs / "scene.jinja").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"scene\.jinja cannot be filled in|_again\.jinja cannot"):
        SystemPrompts(own, theirs).render("scene", {"text": "x" * 100_000, "names": []})
    assert next(looks) <= 10_010


def test_what_prompts_do_they_do_still(own: Path, theirs: Path) -> None:
    text = (
        "{% macro line(n) %}{{ n|upper }} of {{ names|length }}{% endmacro %}{% block user %}"
        "{% for n in names if n != 'b' %}{{ loop.index }}/{{ loop.length }}: {{ line(n) }}{% if not loop.last %}, "
        "{% endif %}{% else %}nobody{% endfor %}; {{ names|join(' and ') }}; {{ ('a' ~ 1) + 'b' }}; {{ '-' * 3 }};"
        " {{ text.split()[0].replace('x', 'y')|indent }}; {% filter upper %}loud{% endfilter %}{% endblock %}"
    )
    (theirs / "scene.jinja").write_text(text, encoding="utf-8")
    (message,) = SystemPrompts(own, theirs).render("scene", {"names": ["a", "b", "c"], "text": "xx z"})
    assert message.content == "1/2: A of 3, 2/2: C of 3; a and b and c; a1b; ---; yy; LOUD"


def _links(theirs: Path, tmp_path: Path) -> dict[str, Path]:
    secret = tmp_path / "secret"
    secret.write_text("{% block user %}my key{% endblock %}", encoding="utf-8")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "x.jinja").write_text("my key", encoding="utf-8")
    (theirs / "sub").symlink_to(tmp_path / "else")
    return {"scene.jinja": secret}


def test_a_link_to_a_file_elsewhere_puts_nothing_into_a_prompt(own: Path, theirs: Path, tmp_path: Path) -> None:
    for name, target in _links(theirs, tmp_path).items():
        (theirs / name).symlink_to(target)
    for ask in (lambda: SystemPrompts(own, theirs).digest, lambda: SystemPrompts(own, theirs).render("scene", {})):
        with pytest.raises(ConfigError, match="is a link to a place outside"):
            ask()
    (theirs / "scene.jinja").unlink()
    (theirs / "scene.jinja").write_text("{% block user %}{% include 'sub/x.jinja' %}{% endblock %}", encoding="utf-8")
    with pytest.raises(FabulaError, match="is a link to a place outside"):
        SystemPrompts(own, theirs).render("scene", {})


def test_what_is_no_file_is_not_waited_for(own: Path, theirs: Path) -> None:
    os.mkfifo(theirs / "scene.jinja")
    with pytest.raises(ConfigError, match="is not a file of at most"):
        _ = SystemPrompts(own, theirs).digest
