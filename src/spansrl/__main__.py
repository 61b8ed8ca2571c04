"""`python -m spansrl` is the command line."""

from spansrl.cli import main

main()
