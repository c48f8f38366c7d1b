"""ATLAS: contradictions between the passages of a story, each with both quotations."""
