"""How models are asked: the run and its journal, prompts, roles, dry runs, replay, events, and reading of replies."""
