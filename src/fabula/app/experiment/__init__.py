"""Experiments: briefs x systems x models x seeds, then evaluators, in one folder that can be gone on with.

    spec      the file: what is written in `exp.toml`, checked field by field
    grid      what follows from it: the contenders, and every run with its folder
    sharing   what runs side by side share: models, and the budget of the whole
    working   writes what is missing, then measures
    spread    has workers write, on this machine or a cluster
    shards    has parts written that are put together later
    dry       what that would ask and cost
    results   what is there: stories, calls, costs, estimates for each contender
    tables    the results as JSON and CSV
    pages     the results as one HTML file

An experiment's folder::

    experiment.toml   report.html   report.json   report.csv
    runs/<brief>/<system>-<preset>-<model>-<seed>/     a project; `run.json` in it says how the run ended
    evaluation/<evaluator>/                            calls, ratings and report of an evaluator

All runs live in one process and one event loop. What they wait for are servers, or an engine with threads of its own,
so more processes would add no speed, and they would need one engine each. One process has one engine for a model, one
budget without gaps, and one place that a signal stops.
"""
