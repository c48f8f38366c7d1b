"""BERTScore of stories against references, over whole stories: in windows, where the usual code cuts at 512 tokens."""
