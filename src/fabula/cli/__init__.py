"""The command line: `main.main` is its entry, `commands` has one file for a command or a small family."""
