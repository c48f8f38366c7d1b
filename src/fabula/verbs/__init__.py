"""The verbs: everything you can do with a project.

Each file defines a verb: its function, its arguments and its result.

fabula discovers verbs by their files. Every door offers the same functions; see `fabula.verbs.base`.
"""
