"""MAGNET: characters propose, a critic checks, a narrator tells, and goals follow one another."""
