"""Language models: `base` is the interface, and the other modules implement it."""
