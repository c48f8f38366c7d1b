"""The data that evaluators accept and return: items, ratings, reports."""
