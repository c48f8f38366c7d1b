"""The best of several stories of one model, by pairwise choice; ours."""
