"""The command line: one module per command, imported only when it is called, so that start-up stays quick."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from spansrl import __version__
from spansrl.errors import SpansrlError, SpansrlWarning

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# command -> one line of help; the module spansrl.cli.<command> holds a click command named `command`.
COMMANDS = {
    "label": "Label text: who did what to whom, where and when.",
    "corpus": "Label a corpus of many files, on all cores or on a Ray cluster.",
    "serve": "Run a web page and an HTTP API that label text.",
    "info": "Show the card of a model.",
    "frames": "Look up or replace PropBank frames: what senses and roles mean.",
    "data": "Build a corpus: EWT and MASC (free), CoNLL-2005, CoNLL-2012.",
    "convert": "Convert between JSON Lines and the CoNLL formats.",
    "evaluate": "Score predictions as the official scorer does, or a model.",
    "analyze": "Analyze predictions as in the paper: tables and figures.",
    "train": "Train a model from a config.",
    "ensemble": "Combine trained span models.",
    "export": "Export a trained model for ONNX Runtime, without torch.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"spansrl.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        close = get_close_matches(name, COMMANDS, n=1)
        advice = f"Did you mean '{close[0]}'?" if close else "See 'spansrl --help' for the list of commands."
        raise click.UsageError(f"No such command '{name}'. {advice}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=COMMANDS[name]) for name in COMMANDS if name.startswith(incomplete)
        ]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


EXAMPLES = """
\b
Examples:
  spansrl label "They kept the money until Tuesday."
  spansrl label letters.txt --to tsv
  spansrl label --help
"""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(__version__, prog_name="spansrl")
def cli() -> None:
    """Semantic role labeling by span selection: who did what to whom, where and when."""


def main() -> None:
    """Run the program; exit with 1 after an error in the input, 2 after wrong usage, 130 after Ctrl-C.

    Errors that are bugs stay visible as tracebacks. If the reader of the output goes away (`| head`), click
    ends the program without a message.
    """
    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _exit)
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
    finally:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, before)
    _discard_unwritten_output()
    sys.exit(code or 0)


def _exit(number: int, frame: object) -> NoReturn:
    """End the program as an exception would, so that temporary files are removed."""
    sys.exit(128 + number)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print our own warnings in one line, and others as Python does."""
    if issubclass(category, SpansrlWarning):
        click.echo(f"spansrl: warning: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


def _discard_unwritten_output() -> None:
    """Drop what standard output did not accept; Python would try again at exit, and complain again."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
