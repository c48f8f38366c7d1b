"""The papers' published numbers that need no model, computed again from their data; one module for each family."""
