"""BERTScore (Zhang et al., ICLR 2020) of one text against another, for all who compare texts with it."""
