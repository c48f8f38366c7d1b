"""Prompts from a folder of Jinja templates, each with a `system` and a `user` block; a chat may follow.

A missing field is an error (`StrictUndefined`), never a gap in a prompt. A second folder may replace any file by name.
Templates run in a sandbox (`templates`), because a prompt folder may come from somebody else.
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.models.base import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jinja2 import Template
    from jinja2.runtime import Context

    from fabula.engine.dry_run import Expected, Usual
    from fabula.engine.templates import BoundedSandbox

SUFFIX = ".jinja"
_GAPS = re.compile(r"\n\n\n+")  # beginning with plain letters is 60 times faster than `\n{3,}`
_USUAL: Final = ("{#- Reply:", "{# Reply:")  # with which a comment begins that says what the usual reply is
_PAIR: Final = re.compile(r"([a-z_]{1,40}(?:\[\])?) (\{(?!\d+\})[^{}]{1,400}\}|\d{1,5}(?:\.\d{1,5})?)(?=, |$)")
_DIGITS: Final = 5
_CHAT: Final = "closing"  # the block before which a chat stands
_BLOCKS: Final[dict[str, Literal["system", "user", "assistant"]]] = {
    "system": "system",
    "user": "user",
    _CHAT: "user",
    "opening": "assistant",
}
# What expressions in a template can run into; a recursion is a file that builds on itself, a value error also no UTF-8.
_MISTAKES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class SystemPrompts:
    """The prompts of one system.

    Args:
        folders: the folders of the system's own templates; a file in an earlier folder replaces files of the same name.
        overrides: a folder whose files replace those of the same name, or `None`.
        common: a folder of prompts that systems share, which is searched last, or `None`.
    """

    def __init__(
        self, folders: Path | Sequence[Path], overrides: Path | None = None, common: Path | None = None
    ) -> None:
        self.own = (folders,) if isinstance(folders, Path) else tuple(folders)
        self._known = [*self.own, *([common] if common else [])]
        self._folders = [*([overrides] if overrides else []), *self._known]
        self._overrides, self._common = overrides, common
        self._usual: dict[str, Usual | None] = {}
        self._expressions: dict[str, Callable[..., Any]] = {}
        self._instructions: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _environment(self) -> BoundedSandbox:
        from fabula.engine.templates import BoundedSandbox  # noqa: PLC0415 - keeps `fabula --help` fast

        self._check_overrides()
        return BoundedSandbox(self._folders)

    def _check_overrides(self) -> None:
        """Check that what somebody put in the place of prompts is there, and lies where it seems to."""
        if self._overrides is None:
            return
        from jinja2.exceptions import SecurityError  # noqa: PLC0415 - keeps `fabula --help` fast

        from fabula.engine.templates import check_own  # noqa: PLC0415 - as above

        if not self._overrides.is_dir():
            raise ConfigError(f"--prompts {self._overrides} is not a folder. Specify a folder of {SUFFIX} files.")
        known = {path.stem for folder in self._known for path in folder.glob(f"*{SUFFIX}")}
        for path in sorted(self._overrides.glob(f"*{SUFFIX}")):
            if path.stem not in known:
                raise UnknownNameError("prompt file", path.stem, known)
            try:
                check_own(self._overrides, path)
            except SecurityError as error:
                raise ConfigError(str(error)) from error

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the prompts that can be rendered (names that start with `_` are only for parts of prompts)."""
        stems = {path.stem for folder in self._known for path in folder.glob(f"*{SUFFIX}")}
        return tuple(sorted(stem for stem in stems if not stem.startswith("_")))

    @cached_property
    def digest(self) -> str:
        """A SHA-256 over all files in use, for the record of a run."""
        self._check_overrides()
        total = sha256()
        for folder in reversed(self._folders):
            for path in sorted(folder.glob(f"*{SUFFIX}")):
                total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return total.hexdigest()

    def instructions(self, name: str) -> tuple[str, ...]:
        """The texts in a prompt file and in the files that it is built on, without the values of its fields."""
        if name not in self._instructions:
            self._instructions[name] = tuple(self._literals(name + SUFFIX, set()))
        return self._instructions[name]

    def usual(self, name: str) -> Usual | None:
        """The usual reply according to the prompt's file, for estimates; `None` if the file does not describe it.

        A comment `{#- Reply: 60 words -#}` gives its length, and `{#- Reply: events 5, why 12 -#}` gives the contents
        of a typed reply's fields (`expected`). Any other comment shows its form, in which `{5}` means five words and a
        line with `{name}` is repeated for each entry of that field. A file that replaces another may leave the comment
        out. A shared prompt does not describe replies to a system's own prompt of the same name.
        """
        if name not in self._usual:
            own = any((folder / f"{name}{SUFFIX}").is_file() for folder in self.own)
            files = (folder / f"{name}{SUFFIX}" for folder in self._folders if not own or folder != self._common)
            texts = (file.read_text(encoding="utf-8") for file in files if file.is_file())
            self._usual[name] = next((said for text in texts if (said := _usual(text)) is not None), None)
        return self._usual[name]

    def expected(self, name: str, fields: Mapping[str, Any]) -> Expected:
        """The fields of the usual typed reply according to the prompt's file, for estimates.

        A number gives the entries of a list, the words of a text, or the probability that something is true. Instead of
        a number, an expression of the prompt's fields may be given in braces, as in a template:
        `events {outline | length}`. If its value is a text, the reply quotes that text; if it is a list, its entries
        are counted. `{none}` only says that the field is present.

        Raises:
            ConfigError: an expression is not valid, or uses a field in a wrong way.
        """
        says = self.usual(name)
        pairs = says.items() if isinstance(says, dict) else ()
        return {field: self._value(name, said, fields) if isinstance(said, str) else said for field, said in pairs}

    def _value(self, name: str, braced: str, fields: Mapping[str, Any]) -> float | str | None:
        from jinja2 import TemplateError  # noqa: PLC0415 - keeps `fabula --help` fast

        try:
            if braced not in self._expressions:
                self._expressions[braced] = self._environment.compile_expression(braced[1:-1], undefined_to_none=False)
            self._environment.begin()
            value = self._expressions[braced](dict(fields))
            value = getattr(value, "target", value)
        except (TemplateError, *_MISTAKES) as error:
            raise ConfigError(
                f"The prompt file {name}{SUFFIX} describes its reply with {braced}, which cannot be evaluated: "
                f"{' '.join(str(error).split())}. Write a number there, or an expression of the prompt's fields."
            ) from error
        if isinstance(value, list | tuple):
            return len(value)
        return value if isinstance(value, int | float | str) else None

    def _literals(self, file: str, seen: set[str]) -> Iterator[str]:
        from jinja2 import TemplateError  # noqa: PLC0415 - keeps `fabula --help` fast

        from fabula.engine.templates import literals_of  # noqa: PLC0415 - as above

        if file in seen or self._environment.loader is None:
            return
        seen.add(file)
        try:
            texts, others = literals_of(self._environment.loader.get_source(self._environment, file)[0])
        except TemplateError:  # rendering says what is wrong with it
            return
        yield from texts
        for other in others:
            yield from self._literals(other, seen)

    def render(self, name: str, fields: Mapping[str, Any], chat: Sequence[Message] = ()) -> tuple[Message, ...]:
        """The messages of prompt `name` with `fields` filled in: a system message if the file has one, then a user one.

        A `chat` follows these messages, and a block `closing` follows the chat as the user's last message. Adjacent
        messages of one role are joined, because many models require the roles to alternate. A block `opening` becomes a
        last message of the assistant: the first words of the reply, for models that can continue them
        (`Capabilities.continues`).

        Raises:
            UnknownNameError: there is no such prompt.
            ConfigError: the file is not a valid template, or uses a field that it was not given.
        """
        from jinja2 import TemplateError, TemplateNotFound  # noqa: PLC0415 - keeps `fabula --help` fast

        try:
            self._environment.begin()
            template = self._environment.get_template(name + SUFFIX)
            blocks = _parts(template, dict(fields))
        except TemplateNotFound as error:
            raise UnknownNameError("prompt", str(error.name).removesuffix(SUFFIX), self.names) from error
        except (TemplateError, *_MISTAKES) as error:
            reason = " ".join(str(error).split())
            raise ConfigError(f"The prompt file {name}{SUFFIX} cannot be filled in: {reason}") from error
        if not blocks.get("user"):
            raise ConfigError(f"The prompt file {name}{SUFFIX} has no text in {{% block user %}}; a prompt needs one.")
        messages: list[Message] = []
        for block, role in _BLOCKS.items():
            if block == _CHAT:
                messages += chat
            if blocks.get(block):
                messages.append(Message(role, blocks[block]))
        turns = groupby(messages, key=lambda message: message.role)  # those of one role that follow each other are one
        return tuple(Message(role, "\n\n".join(message.content for message in group)) for role, group in turns)


def _usual(text: str) -> Usual | None:
    """What a comment in a prompt's file says of the usual reply."""
    start = next((mark for mark in _USUAL if mark in text), None)
    if start is None:
        return None
    said = text.partition(start)[2].partition("#}")[0].removesuffix("-").strip()
    number, _, unit = said.partition(" ")
    if unit == "words" and number.isascii() and number.isdecimal() and len(number) <= _DIGITS:
        return int(number)
    pairs = _PAIR.findall(flat := " ".join(said.split()))
    if pairs and ", ".join(f"{name} {value}" for name, value in pairs) == flat:
        return {name: value if value.startswith("{") else float(value) for name, value in pairs}
    return said


def _parts(template: Template, fields: dict[str, Any]) -> dict[str, str]:
    """The rendered text of each message's block, also of those inherited from a parent file."""
    context = template.new_context(fields)
    for role in _BLOCKS:  # silent while the walk lasts, so that a prompt is not rendered twice
        context.blocks.setdefault(role, []).insert(0, _silent)
    for _ in template.root_render_func(context):  # walking the file fills in the parents' blocks
        pass
    for role in _BLOCKS:
        del context.blocks[role][0]
    texts = {
        role: context.environment.concat(blocks[0](context)) for role in _BLOCKS if (blocks := context.blocks[role])
    }
    return {role: _GAPS.sub("\n\n", text.strip()) for role, text in texts.items()}


def _silent(context: Context) -> Iterator[str]:
    """A block without text."""
    del context
    return iter(())
