"""The end-to-end baseline: one model writes the story in one go (Agents' Room, section 5, E2E)."""
