"""Loaders of the papers' public data: from a folder, checked, typed; a bad line is named by file and number."""
