"""The networks: everything from here on needs torch."""
