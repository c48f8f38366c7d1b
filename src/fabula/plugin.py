"""The names in `plugin.pyi`, which are the only ones that third-party systems, models, formats, ... may import.

Their meaning does not change between minor versions. A name is deprecated for at least one minor version before it is
removed. Errors are in `fabula.errors`; the rules for systems and evaluators are in `fabula.testing`.
"""

from __future__ import annotations

from fabula.base.lazily import lazily

__getattr__, __all__ = lazily(__name__)


def __dir__() -> list[str]:
    return __all__
