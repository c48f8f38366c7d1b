"""Dramatron: hierarchical co-writing of scripts (Mirowski et al., CHI 2023), and its adaptation to stories."""
