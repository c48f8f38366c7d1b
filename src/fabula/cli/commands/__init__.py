"""The commands: a module for each command or small family of commands, imported when a command is used."""
