"""Several drafts of which a reader chooses one, which is revised as a whole; ours."""
