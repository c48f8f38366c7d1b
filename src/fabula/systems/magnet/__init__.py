"""MAGNET: characters propose, a critic checks, a narrator writes, and goals follow one another."""
