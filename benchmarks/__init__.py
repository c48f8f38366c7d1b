"""What fabula costs, measured: each module with a `bench` is a benchmark that gives a table (see README.md).

Times on a shared machine are noise, so a figure is a ratio to a peer, or a difference from one, that is measured in the
same run, in turns, with its rounds counted and its spread shown. Targets that are absolute say so.
"""
