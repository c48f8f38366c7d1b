"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of stories against references: the values of rouge-score, faster."""
