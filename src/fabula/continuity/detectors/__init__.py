"""The detectors, by what they are about; each is a function from a `Book` to candidates."""
