"""What is wrong with a value that does not fit its field, in words for its writer rather than pydantic's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from fabula.base.errors import hint

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


_LONGEST: Final = 60  # characters of a value that a message quotes
_MUST: Final = {
    "string_type": "must be text",
    "string_unicode": "must be text",
    "string_pattern": "does not have the required form",
    "int": "must be a whole number",
    "float": "must be a number",
    "finite_number": "must be a finite number",
    "bool": "must be true or false",
    "list": "must be a list",
    "tuple": "must be a list",
    "set": "must be a list",
    "frozen_set": "must be a list",
    "dict": "must be a table of fields",
    "model": "must be a table of fields",
    "model_attributes": "must be a table of fields",
    "dataclass": "must be a table of fields",
    "path": "must be a path",
}
"""Prefixes of pydantic's names for type errors: `int_type` and `int_parsing` are the same error to users."""
_BOUNDS: Final = {
    "greater_than_equal": ("ge", "must be {} or more"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be {} or less"),
    "less_than": ("lt", "must be less than {}"),
    "multiple_of": ("multiple_of", "must be a multiple of {}"),
}


def fault_of(error: ValidationError, kind: Any = None, *, quote: bool = True) -> str:  # noqa: ANN401 - a type
    """What is wrong, without a full stop: "`seed` must be a whole number, not 'three'".

    Args:
        error: what pydantic found; of several faults, a misspelt field comes first, since others follow from it.
        kind: the expected type, whose fields are suggested for a misspelt one.
        quote: whether the value may be shown.
    """
    found = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    return fault(found[0], kind, quote=quote)


def fault(first: ErrorDetails, kind: Any = None, *, loc: Sequence[str | int] | None = None, quote: bool = True) -> str:  # noqa: ANN401 - a type
    """What is wrong, for one fault; `loc` is its place if that is not pydantic's."""
    loc, what = first["loc"] if loc is None else loc, first["type"]
    where = f"`{place(loc)}`" if loc else "it"
    if what == "extra_forbidden":
        name, known = str(loc[-1]), _fields(kind, first["loc"][:-1])
        above = f" in `{place(loc[:-1])}`" if len(loc) > 1 else ""
        return f"there is no field {name!r}{above}{'. ' + hint(name, known).removesuffix('.') if known else ''}"
    if what == "missing":
        return f"{where} is missing"
    must = _must(first)
    if must is None:
        said = first["msg"].removeprefix("Value error, ").rstrip(".")
        return f"{where}: {said}" if loc else said
    value = first["input"]
    quoted = quote and isinstance(value, (str, int, float)) and value != ""
    return f"{where} {must}{f', not {_shown(value)}' if quoted else ''}"


def sentence(said: str) -> str:
    """A fault as a sentence."""
    return said[:1].upper() + said[1:] + ("" if said.endswith("?") else ".")


def place(loc: Sequence[str | int]) -> str:
    """The place of a field as you would write it: `systems[1].preset`, counted from 1."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def _must(first: ErrorDetails) -> str | None:
    """What a value must be; `None` if pydantic's own words say it best."""
    what, context = first["type"], first.get("ctx", {})
    if what in _BOUNDS:
        name, said = _BOUNDS[what]
        bound = context[name]
        return said.format(f"{bound:,}" if isinstance(bound, int) else f"{bound:g}")
    if what in ("literal_error", "enum"):
        return f"must be {context['expected']}"
    if what in ("string_too_short", "too_short"):
        return "must not be empty" if context["min_length"] == 1 else f"must have {context['min_length']} or more"
    if what in ("string_too_long", "too_long"):
        unit = " characters" if what == "string_too_long" else ""
        return f"must have at most {context['max_length']:,}{unit}"
    return next((said for name, said in _MUST.items() if f"{what}_".startswith(f"{name}_")), None)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return repr(value) if len(text) <= _LONGEST else repr(text[:_LONGEST] + "…")


def _fields(kind: Any, loc: Sequence[str | int]) -> Collection[str]:  # noqa: ANN401 - a type
    """The names of the fields at a place of a model; empty if the place is not a model."""
    kinds = _models(kind)
    for part in loc:
        inner = [each.model_fields[str(part)].annotation for each in kinds if str(part) in each.model_fields]
        if inner:
            kinds = [model for one in inner for model in _models(one)]
    return [name for each in kinds for name in each.model_fields] if len(kinds) == 1 else []


def _models(kind: Any) -> list[Any]:  # noqa: ANN401 - a type
    """The models in an annotation such as `dict[str, RoleTable] | None`."""
    if hasattr(kind, "model_fields"):
        return [kind]
    return [model for one in get_args(kind) for model in _models(one)]
