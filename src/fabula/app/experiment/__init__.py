"""Experiments: briefs x systems x models x seeds, then evaluators, in one folder that can be continued.

    spec      the file: what is written in `exp.toml`, checked field by field
    grid      what the file defines: the contenders, and every run with its folder
    sharing   what concurrent runs share: models, and the overall budget
    cell      one run, written to a folder of three files, and the record of how it ended
    index     what is known of every run without opening its journal
    working   writes what is missing, then measures
    spread    has workers write, on this machine or a cluster
    shards    splits an experiment into parts that are merged later
    dry       the estimated calls and cost
    results   what an experiment has so far: stories, calls, costs, estimates for each contender
    tables    the results as JSON and CSV
    pages     the results as one HTML file

An experiment's folder::

    experiment.toml   report.html   report.json   report.csv
    runs.jsonl                                         what is known of every run
    runs/<brief>/<system>-<preset>-<model>-<seed>/     a project, packed; `run.json` in it says how the run ended
    evaluation/<evaluator>/                            calls, ratings and report of an evaluator

Runs are written in one process and one event loop, unless workers are requested. They mostly wait for servers, or for
an engine with its own threads. More processes add speed only if the work between calls fills a processor, and each
process has its own engine for an embedded model. Only the driver writes the index, measures and reports.
"""
