"""The side-by-side judge of Agents' Room and Character Simulation."""
