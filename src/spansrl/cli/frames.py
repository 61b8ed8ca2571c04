"""`spansrl frames`: look up or replace PropBank frames, which describe senses and roles."""

from __future__ import annotations

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.errors import DataError, counted
from spansrl.inventory import load_frames, registered, remove_frames, shipped
from spansrl.inventory.frame_store import index_path

EXAMPLES = """
\b
Examples:
  spansrl frames                            # which frames are in use
  spansrl frames --show keep.01             # what a sense and its roles mean
  spansrl frames --download                 # install the frames from GitHub
  spansrl frames propbank-frames.tar.xz     # install your own copy
"""
_MOST = 10  # errors that are printed one by one


@click.command(epilog=EXAMPLES)
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--download", is_flag=True, help="Install the frames from GitHub, at a tested commit.")
@click.option("--show", metavar="SENSE", help="Print a sense of the frames in use, such as keep.01.")
@click.option(
    "--remove", is_flag=True, help="Remove the installed frames; those in the package are used again."
)
def command(path: str | None, download: bool, show: str | None, remove: bool) -> None:
    """Look up PropBank frames, or install others than those in the package.

    Frames describe senses and their roles. The package has those of propbank-frames, commit c66e0cc, which
    are free (CC BY-SA 4.0). Without PATH and options, the command shows which frames are in use.

    PATH is a directory, an archive (.tar.xz, .tar.gz, .zip) or a URL with files frames/NAME.xml. An index of
    them is stored as one file in your data directory: SPANSRL_HOME if it is set, otherwise spansrl in
    $XDG_DATA_HOME or ~/.local/share (Linux), ~/Library/Application Support (macOS), %LOCALAPPDATA% (Windows).
    """
    given, shown = path is not None, show is not None
    options.check_alone({"PATH": given, "--download": download, "--show": shown, "--remove": remove})
    if path is not None or download:
        _register(path)
    elif show is not None:
        _show(show)
    elif remove:
        click.echo("Removed." if remove_frames() else "No frames are installed.")
    else:
        _describe()


def _register(path: str | None) -> None:
    from spansrl.inventory.install import register_frames

    if path == "":
        raise click.UsageError("PATH is empty; give a directory, an archive or a URL")
    with progress_bar() as progress:
        read = register_frames(path, progress=progress)
    for error in read.errors[:_MOST]:
        click.echo(f"spansrl: warning: {error}", err=True)
    if more := len(read.errors[_MOST:]):
        click.echo(
            f"spansrl: warning: {counted(more, 'more broken file')}; their readable rolesets are kept",
            err=True,
        )
    _describe()


def _describe() -> None:
    installed = registered()
    registration = installed or shipped()
    commit = f" (commit {registration.commit})" if registration.commit else ""
    click.echo(
        f"{counted(registration.rolesets, 'roleset')} from {counted(registration.files, 'file')}, "
        f"{registration.broken} broken"
    )
    click.echo(f"source  {registration.source}{commit}")
    click.echo(f"stored in {index_path() if installed else 'the package'}")


def _show(sense: str) -> None:
    frames = load_frames()
    roles = frames.roles(sense)
    if roles is None:
        others = frames.rolesets(sense.partition(".")[0], None)
        advice = f"try {', '.join(others[:_MOST])}" if others else "senses look like keep.01"
        raise DataError(f"the frames have no sense '{sense}'; {advice}")
    click.echo(f"{sense}  {frames.definition(sense)}".rstrip())
    for role, meaning in roles.items():
        click.echo(f"  {role}  {meaning}".rstrip())
    if words := [f"{word} ({type})" for word, type in frames.words(sense)]:
        click.echo(f"  words: {', '.join(words)}")
