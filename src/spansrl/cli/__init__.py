"""The command line: one module a command, loaded only when it is called, so that start-up stays quick."""

from __future__ import annotations

import importlib
import sys

import click

from spansrl import __version__
from spansrl.errors import SpansrlError

# command -> one line of help; the module spansrl.cli.<command> holds a click command named `command`.
COMMANDS = {
    "data": "Build a corpus: EWT (free), CoNLL-2005, CoNLL-2012.",
    "convert": "Convert between JSON lines and the CoNLL formats.",
    "evaluate": "Score predictions as the official scorer does.",
    "train": "Train a model from a config.",
    "label": "Label the predicates of a file with a trained model.",
    "ensemble": "Combine trained span models.",
    "bench": "Measure speed and memory, as ratios in one run.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command object, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"spansrl.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="spansrl")
def cli() -> None:
    """Semantic role labelling by span selection: who did what to whom, where and when."""


def main() -> None:
    """Entry point: errors made by input become one line and exit code 1; usage errors exit with 2."""
    try:
        cli(prog_name="spansrl", standalone_mode=True)
    except SpansrlError as error:
        print(f"spansrl: error: {error}", file=sys.stderr)
        sys.exit(1)
