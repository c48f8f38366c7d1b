"""What systems, evaluators, models, formats and the like of others may import: the names in `plugin.pyi`, no others.

They keep their meaning from one minor version to the next. What goes is first marked so for one minor version. Errors
are in `fabula.errors`, the rules that systems and evaluators are held to in `fabula.testing`.
"""

from __future__ import annotations

from fabula.base.lazily import lazily

__getattr__, __all__ = lazily(__name__)


def __dir__() -> list[str]:
    return __all__
