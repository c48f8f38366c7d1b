"""Agents' Room: narrative generation through multi-step collaboration (Huot et al., ICLR 2025)."""
