"""Calling models: the run and its journal, prompts, roles, dry runs, replay, events, and the reading of replies."""
