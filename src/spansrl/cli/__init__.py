"""The command line: one module a command, loaded only when it is called, so that start-up stays quick."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, TextIO

import click

from spansrl import __version__
from spansrl.errors import SpansrlError, SpansrlWarning

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# command -> one line of help; the module spansrl.cli.<command> holds a click command named `command`.
COMMANDS = {
    "label": "Label text: who did what to whom, where and when.",
    "serve": "Serve a page and an HTTP interface that label text.",
    "info": "Show the card of a model.",
    "frames": "Register PropBank's frames: what senses and their roles mean.",
    "data": "Build a corpus: EWT (free), CoNLL-2005, CoNLL-2012.",
    "convert": "Convert between JSON lines and the CoNLL formats.",
    "evaluate": "Score predictions as the official scorer does.",
    "appraise": "Score a model for text on a gold corpus, as its card does.",
    "analyze": "Analyse predictions as the paper does: tables and pictures.",
    "train": "Train a model from a config.",
    "ensemble": "Combine trained span models.",
    "export": "Write a trained model for ONNX Runtime, without torch.",
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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What the shell offers, without importing the commands."""
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=COMMANDS[name]) for name in COMMANDS if name.startswith(incomplete)
        ]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


EXAMPLES = """
\b
Examples:
  spansrl label "She kept a cat in the garden until Tuesday."
  spansrl label letters.txt --output table
  spansrl label --help
"""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(__version__, prog_name="spansrl")
def cli() -> None:
    """Semantic role labelling by span selection: who did what to whom, where and when."""


def main() -> None:
    """Entry point; the exit code is 1 for an error that the input made, 2 for wrong usage, 130 after Ctrl-C.

    An error of ours stays visible as a traceback. A reader that goes away (`| head`) is worth no message;
    click sees to that. A full disk or a file that vanishes is not of our making, and one line too.
    """
    try:
        # Not standalone: click would turn Ctrl-C and end of file alike into "Aborted!" and exit code 1.
        with warnings.catch_warnings():
            warnings.simplefilter("default", SpansrlWarning)
            warnings.showwarning = _show_warning
            code = cli.main(prog_name="spansrl", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except SpansrlError as error:
        click.echo(f"spansrl: error: {error}", err=True)
        code = 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "cannot read or write: "
        click.echo(f"spansrl: error: {where}{error.strerror or error}", err=True)
        code = 1
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):
            raise
        code = 130
    _let_go_of_stdout()
    sys.exit(code or 0)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings in one line; others as Python shows them."""
    if issubclass(category, SpansrlWarning):
        click.echo(f"spansrl: warning: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


def _let_go_of_stdout() -> None:
    """Throw away what standard output did not take: Python would try again at the end, and complain again."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
