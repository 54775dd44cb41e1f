"""Generators of documentation pages; they are not part of the package that users install."""
