"""The Torrance tests of creative writing: fourteen questions about a story, asked plainly or next to a reference."""
