"""Ratings of dialogues: continuity, information appropriateness, non-redundancy, linearity (SNAP, section 5)."""
