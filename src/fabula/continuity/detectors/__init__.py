"""The detectors, one module for each family of slots; each is a function from a `Reading` to candidates."""
