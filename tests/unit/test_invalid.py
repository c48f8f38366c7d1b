"""What is wrong with a value, in words for whoever wrote it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from fabula.base.invalid import fault_of, sentence


class Lamp(BaseModel):
    model_config = ConfigDict(extra="forbid")

    height: int = 0
    name: Annotated[str, Field(min_length=1, max_length=5)] = "lamp"
    oil: float = Field(default=0.0, ge=0.0, lt=10)
    lit: bool = False
    colour: Literal["red", "white"] = "red"
    code: str = Field(default="a1", pattern=r"^[a-z][0-9]$")

    @field_validator("code")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "z9":
            raise ValueError("z9 has burnt out.")
        return value


class Coast(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keeper: str
    lamps: dict[str, Lamp] = {}
    spare: list[Lamp] | None = None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "`keeper` is missing."),
        ({"keper": "Mara"}, "There is no field 'keper'. Did you mean 'keeper'?"),
        ({"lamps": {"north": {"beam": 3}}}, "There is no field 'beam' in `lamps.north`. Known: "),
        ({"spare": [{}, {"heigth": 3}]}, "There is no field 'heigth' in `spare[2]`. Did you mean 'height'?"),
        ({"lamps": {"north": {"height": "tall"}}}, "`lamps.north.height` must be a whole number, not 'tall'."),
        ({"lamps": {"north": {"height": 1.5}}}, "`lamps.north.height` must be a whole number, not 1.5."),
        ({"lamps": {"north": {"oil": -1}}}, "`lamps.north.oil` must be 0 or more, not -1."),
        ({"lamps": {"north": {"oil": 10}}}, "`lamps.north.oil` must be less than 10, not 10."),
        ({"lamps": {"north": {"lit": "perhaps"}}}, "`lamps.north.lit` must be true or false, not 'perhaps'."),
        ({"lamps": {"north": {"colour": "blue"}}}, "`lamps.north.colour` must be 'red' or 'white', not 'blue'."),
        ({"lamps": {"north": {"name": ""}}}, "`lamps.north.name` must not be empty."),
        (
            {"lamps": {"north": {"name": "lantern"}}},
            "`lamps.north.name` must have at most 5 characters, not 'lantern'.",
        ),
        ({"lamps": {"north": {"code": "7"}}}, "`lamps.north.code` does not have the required form, not '7'."),
        ({"lamps": {"north": {"code": "z9"}}}, "`lamps.north.code`: z9 has burnt out."),
        ({"lamps": {"north": 3}}, "`lamps.north` must be a table of fields, not 3."),
        ({"lamps": ["north"]}, "`lamps` must be a table of fields."),
        ({"spare": "north"}, "`spare` must be a list, not 'north'."),
    ],
)
def test_a_fault_is_said_in_the_words_of_the_file(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Coast.model_validate({"keeper": "Mara"} | given if given and "keper" not in given else given)
    assert sentence(fault_of(caught.value, Coast)).startswith(says)


def test_a_long_value_is_shortened_and_a_secret_one_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Lamp.model_validate({"height": "x" * 500})
    assert len(fault_of(caught.value, Lamp)) < 150
    assert fault_of(caught.value, Lamp, quote=False) == "`height` must be a whole number"
