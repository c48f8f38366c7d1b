"""Vanilla: one prompt with the whole story and nine rules, the baseline that SNAP is compared with (Table 9)."""
