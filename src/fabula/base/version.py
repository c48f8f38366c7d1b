"""The version of the package, for records and greetings."""

__version__ = "0.1.0"
