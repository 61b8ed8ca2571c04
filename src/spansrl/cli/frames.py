"""`spansrl frames`: PropBank's frames, registered once, for what senses and roles mean."""

from __future__ import annotations

import click

from spansrl.cli.progress import progress_bar
from spansrl.errors import DataError, counted
from spansrl.language.frames import (
    HOW_TO_REGISTER,
    FrameIndex,
    Registration,
    load_frames,
    registered,
    remove_frames,
)
from spansrl.language.frames.store import index_path

EXAMPLES = """
\b
Examples:
  spansrl frames --download
  spansrl frames propbank-frames.tar.xz
  spansrl frames
  spansrl frames --show keep.01
"""
_TOLD = 10  # errors that are printed one by one


@click.command(epilog=EXAMPLES)
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--download", is_flag=True, help="Register the frames from GitHub, at the commit made for.")
@click.option("--show", metavar="SENSE", help="Print a sense of the registered frames: keep.01.")
@click.option("--remove", is_flag=True, help="Forget the registered frames.")
def command(path: str | None, download: bool, show: str | None, remove: bool) -> None:
    """Register PropBank's frames, which say what senses and their roles mean.

    PATH is a directory, an archive (.tar.xz, .tar.gz, .zip) or a URL with files frames/NAME.xml. What
    labeling needs of them is kept in one file in your data directory: SPANSRL_HOME if that is set, else
    spansrl in $XDG_DATA_HOME or ~/.local/share (Linux), ~/Library/Application Support (macOS) or
    %LOCALAPPDATA% (Windows). Archives are not unpacked to disk. Without PATH and options the command says
    what is registered. The frames are free (CC BY-SA 4.0): propbank-frames, commit c66e0cc.
    """
    chosen = {
        "PATH": path is not None,
        "--download": download,
        "--show": show is not None,
        "--remove": remove,
    }
    if len(given := [name for name, is_given in chosen.items() if is_given]) > 1:
        raise click.UsageError(f"{' and '.join(given)} cannot be combined; run the command once for each")
    if path is not None or download:
        _register(path)
    elif show is not None:
        _show(show)
    elif remove:
        click.echo("Removed." if remove_frames() else "No frames are registered.")
    else:
        _tell(registered())


def _register(path: str | None) -> None:
    from spansrl.language.frames.registering import register_frames

    if path == "":
        raise click.UsageError("PATH is empty; give a directory, an archive or a URL")
    with progress_bar() as progress:
        read = register_frames(path, progress=progress)
    for error in read.errors[:_TOLD]:
        click.echo(f"spansrl: warning: {error}", err=True)
    if more := len(read.errors[_TOLD:]):
        told = f"{counted(more, 'broken file')} more; of each, the rolesets that could be read are kept"
        click.echo(f"spansrl: warning: {told}", err=True)
    _tell(read.registration)


def _tell(registration: Registration | None) -> None:
    if registration is None:
        click.echo(f"No frames are registered; {HOW_TO_REGISTER}")
        return
    commit = f" (commit {registration.commit})" if registration.commit else ""
    click.echo(
        f"{counted(registration.rolesets, 'roleset')} from {counted(registration.files, 'file')}, "
        f"{registration.broken} broken"
    )
    click.echo(f"source  {registration.source}{commit}")
    click.echo(f"kept in {index_path()}")


def _show(sense: str) -> None:
    frames = load_frames()
    if frames is None:
        raise DataError(f"no frames are registered; {HOW_TO_REGISTER}")
    roles = frames.roles(sense)
    if roles is None:
        raise DataError(_unknown(sense, frames))
    click.echo(f"{sense}  {frames.definition(sense)}".rstrip())
    for role, meaning in roles.items():
        click.echo(f"  {role}  {meaning}".rstrip())
    if words := [f"{word} ({type})" for word, type in frames.words(sense)]:
        click.echo(f"  words: {', '.join(words)}")


def _unknown(sense: str, frames: FrameIndex) -> str:
    others = frames.rolesets(sense.partition(".")[0], None)
    advice = f"try {', '.join(others[:_TOLD])}" if others else "senses look like keep.01"
    return f"the registered frames have no sense '{sense}'; {advice}"
