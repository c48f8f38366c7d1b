"""The command line: `main.main` is its entry point, and `commands` has a module for each command or small family."""
