"""The listwise rubric of MAGNET's evaluation: all stories of a prompt in one call, 0 to 100 in each category."""
