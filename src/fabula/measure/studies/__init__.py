"""Studies with people: what is asked, who gets which task, and what they answer, as plain files in a folder.

    forms/*.toml   what is asked, for each kind of study; a new study begins with a copy
    study          the folder: its form, its items, who gets which task
    assigning      which rater gets which task, and what that takes in hours
    answering      what raters do, kept as they do it; the ratings

A study's folder::

    study.toml   items.jsonl   assignments.jsonl   ratings.jsonl   log.jsonl   .study/{key,sealed.json}
"""
