"""Reading the replies of models: the only package that searches text written by a model.

All functions are pure, and none calls a model. A reply that cannot be read raises `ReplyProblem`, whose text says
what to correct.
"""

from __future__ import annotations

from fabula.engine.replies.choices import is_refusal, is_unchanged, read_choice, read_score
from fabula.engine.replies.files import read_files
from fabula.engine.replies.jsontext import is_cut, read_json
from fabula.engine.replies.labels import LABELS, label_of, read_label, read_yes_no
from fabula.engine.replies.problem import ReplyProblem, repair_instruction
from fabula.engine.replies.prose import Cleaned, TextKind, clean_prose
from fabula.engine.replies.rules import left_out
from fabula.engine.replies.schema import schema_of, short
from fabula.engine.replies.splits import read_split
from fabula.engine.replies.useless import fault_of, without_instructions
from fabula.engine.replies.verdicts import SIDES, read_chances, read_verdicts

__all__ = [
    "LABELS",
    "SIDES",
    "Cleaned",
    "ReplyProblem",
    "TextKind",
    "clean_prose",
    "fault_of",
    "is_cut",
    "is_refusal",
    "is_unchanged",
    "label_of",
    "left_out",
    "read_chances",
    "read_choice",
    "read_files",
    "read_json",
    "read_label",
    "read_score",
    "read_split",
    "read_verdicts",
    "read_yes_no",
    "repair_instruction",
    "schema_of",
    "short",
    "without_instructions",
]
