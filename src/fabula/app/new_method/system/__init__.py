"""Your own writing system. To check that it follows the rules, run `python -m fabula.testing` on this folder."""
