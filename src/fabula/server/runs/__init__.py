"""Long-running work as separate processes, and the numbered events by which clients follow it."""
