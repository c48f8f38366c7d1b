"""The base layer: errors, files, YAML as text, and optional packages."""
