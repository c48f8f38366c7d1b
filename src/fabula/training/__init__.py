"""Agents that learn: training data from stories and from preferences, and the fine-tuning of local models with it."""
