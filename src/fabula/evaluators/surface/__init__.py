"""What can be counted in a story without a model: length, sentence openings, repetition, overlap, dialogue."""
