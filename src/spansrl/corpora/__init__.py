"""Corpus builders: raw sources become JSON Lines, with an audit of what was kept and dropped."""
