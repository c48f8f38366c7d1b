"""IBSEN: a director plans a few lines ahead, actors with memories speak them again, and players may step in."""
