"""Statistics in plain numpy: estimates with intervals, bootstrap, rankings, correlation, agreement."""
