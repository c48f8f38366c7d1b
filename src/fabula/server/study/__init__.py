"""The study server: raters' pages, which do not reveal who wrote what, and the organiser's page.

- application: the addresses and what each of them does
- conversations: conversations with the two characters of a chat study
"""
