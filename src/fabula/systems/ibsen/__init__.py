"""IBSEN: a director plans a few lines ahead, actors with memories speak them anew, and players may step in."""
