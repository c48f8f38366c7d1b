"""Statistics in plain numpy: estimates with intervals, rankings, differences, correlation, agreement."""
