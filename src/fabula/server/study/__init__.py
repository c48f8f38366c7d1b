"""The study server: raters' pages, which show nothing of who wrote what, and the organiser's page.

- application   the addresses, and what each of them does
- conversations  with the two characters of a chat study
"""
