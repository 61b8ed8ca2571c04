"""`python -m spansrl` runs the command line."""

from spansrl.cli import main

main()
