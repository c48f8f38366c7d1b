"""Experiments: briefs x systems x models x seeds, then evaluators, in one folder that can be gone on with.

    spec      the file: what is written in `exp.toml`, checked field by field
    grid      what follows from it: the contenders, and every run with its folder
    sharing   what runs side by side share: models, and the budget of the whole
    cell      one run, written in a folder of three files, and the record of how it ended
    index     what is known of every run without a look at its journal
    working   writes what is missing, then measures
    spread    has workers write, on this machine or a cluster
    shards    has parts written that are put together later
    dry       what that would ask and cost
    results   what is there: stories, calls, costs, estimates for each contender
    tables    the results as JSON and CSV
    pages     the results as one HTML file

An experiment's folder::

    experiment.toml   report.html   report.json   report.csv
    runs.jsonl                                         what is known of every run
    runs/<brief>/<system>-<preset>-<model>-<seed>/     a project, packed; `run.json` in it says how the run ended
    evaluation/<evaluator>/                            calls, ratings and report of an evaluator

Runs are written in one process and one event loop, unless workers are asked for. What they wait for are servers, or an
engine with threads of its own; more processes add speed only where the work beside the calls fills a processor, and
each has an engine of its own for an embedded model. The driver alone writes the index, measures and reports.
"""
