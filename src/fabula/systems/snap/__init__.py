"""SNAP: cells, plans, and a dialogue that follows them, between two agents or with a person."""
