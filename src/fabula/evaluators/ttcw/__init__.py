"""The Torrance tests of creative writing: fourteen questions to a story, alone or beside a reference."""
