"""The rivals: a module each, written as a user of the package would write it."""
