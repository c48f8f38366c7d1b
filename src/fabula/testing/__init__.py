"""Rules that systems, evaluators and providers keep to, for their authors to try; fabula's own keep to them too.

`python -m fabula.testing ./my_paper` tries them on a folder, `python -m fabula.testing NAME` on what an installed
package brings, `python -m fabula.testing PROVIDER:NAME` on a model. No test package is needed. `check` does the same
for one's own tests.
"""

from __future__ import annotations

from fabula.testing.checking import RuleOutcome, check

__all__ = ["RuleOutcome", "check"]
