"""One long reply: a model works in writing, and gives the story at its end; ours."""
