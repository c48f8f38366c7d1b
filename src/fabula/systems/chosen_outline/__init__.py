"""Several outlines of which a reader chooses one, chapters written with all before them in view, and revised; ours."""
