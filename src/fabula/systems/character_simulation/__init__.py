"""Character Simulation: multi-agent role-play in story time, then rewriting in telling order (Yu et al., 2025)."""
