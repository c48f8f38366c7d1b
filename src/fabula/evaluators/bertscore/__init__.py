"""BERTScore of stories against references, over whole stories, in windows instead of cut at 512 tokens."""
