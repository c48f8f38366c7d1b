"""A story's folder on disk: its files, its settings, and who plays which role."""
