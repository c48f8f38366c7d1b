"""What can be done with a project: one file for each verb, with its function, its arguments and its result.

They are found by looking. Every door opens on the same functions: see `fabula.verbs.base`.
"""
