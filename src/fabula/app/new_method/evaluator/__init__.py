"""An evaluator of your own: `python -m fabula.testing` on this folder says whether it keeps the rules."""
