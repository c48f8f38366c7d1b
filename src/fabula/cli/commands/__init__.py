"""One file for a command or a small family; each is imported when its command is used."""
