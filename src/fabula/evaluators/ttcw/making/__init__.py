"""The material of the tests: plots taken from references, and candidates written from plots (section 3.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fabula.evaluators import Evaluator

_PAPER: Final = {"roles": {"reader": "takes the plot out of a story", "writer": "writes a story from a plot"}}

MAKING: Final = Evaluator("ttcw-making", Path(__file__).parent, _PAPER, "fabula.evaluators.ttcw")
