"""The ground: errors, files, YAML as text, and packages that are optional."""
