"""Corpus builders: a user's raw sources become JSON lines, with an account of what was kept and lost."""
