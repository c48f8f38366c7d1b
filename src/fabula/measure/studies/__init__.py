"""Studies with people: the questions, the assignment of tasks to raters, and the answers, as plain files in a folder.

    forms/*.toml   the form for each kind of study; a new study begins with a copy
    study          the study folder: its form, items and assignments
    assigning      the assignment of tasks to raters, and the hours that they need
    answering      the record of the raters' actions, and the ratings

A study's folder::

    study.toml   items.jsonl   assignments.jsonl   ratings.jsonl   log.jsonl   .study/{key,sealed.json}
"""
