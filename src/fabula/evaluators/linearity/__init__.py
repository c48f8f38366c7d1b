"""Linearity: whether a dialogue comes back to its story after the player has left it, and how soon."""
