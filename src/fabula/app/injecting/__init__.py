"""MAGNET's synthetic screenplays with known errors: `fabula lab inject`."""
