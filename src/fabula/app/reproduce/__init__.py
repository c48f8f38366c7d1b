"""Recomputing the papers' published numbers that need no model; a long family of numbers has a module."""
