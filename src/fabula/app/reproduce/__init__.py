"""Recomputing the papers' published numbers that need no model; one module for each family of numbers."""
