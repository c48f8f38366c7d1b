"""A draft that four readers review, and that is written anew; ours."""
