"""`spansrl frames`: look up or replace PropBank frames, which describe senses and roles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.errors import DataError, counted
from spansrl.inventory import FrameIndex, load_frames, registered, remove_frames, shipped
from spansrl.inventory.frame_store import index_path

EXAMPLES = """
\b
Examples:
  spansrl frames                            # which frames are in use
  spansrl frames --show keep.01             # what a sense and its roles mean
  spansrl frames --show keep                # … all senses of a word
  spansrl frames --show keep --examples propbank-frames.tar.xz
  spansrl frames --download                 # install the frames from GitHub
  spansrl frames propbank-frames.tar.xz     # install your own copy
"""
_MOST = 10  # errors that are printed one by one


@click.command(epilog=EXAMPLES)
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--download", is_flag=True, help="Install the frames from GitHub, at a tested commit.")
@click.option(
    "--show", metavar="SENSE", help="Print a sense of the frames in use (keep.01), or all of a word (keep)."
)
@click.option(
    "--examples",
    metavar="PATH",
    help="With --show: print examples too, from frames in a directory or archive.",
)
@click.option(
    "--remove", is_flag=True, help="Remove the installed frames; those in the package are used again."
)
def command(path: str | None, download: bool, show: str | None, examples: str | None, remove: bool) -> None:
    """Look up PropBank frames, or install others than those in the package.

    Frames describe senses and their roles. The package has those of propbank-frames, commit c66e0cc, which
    are free (CC BY-SA 4.0). Without PATH and options, the command shows which frames are in use.

    PATH is a directory, an archive (.tar.xz, .tar.gz, .zip) or a URL with files frames/NAME.xml. Its rolesets
    take the place of those in the package with the same name, and are added to the others: models label them
    at once, best with a few examples in the file. An index of
    them is stored as one file in your data directory: SPANSRL_HOME if it is set, otherwise spansrl in
    $XDG_DATA_HOME or ~/.local/share (Linux), ~/Library/Application Support (macOS), %LOCALAPPDATA% (Windows).
    """
    given, shown = path is not None, show is not None
    options.check_alone({"PATH": given, "--download": download, "--show": shown, "--remove": remove})
    if examples is not None and not shown:
        raise click.UsageError("--examples needs --show")
    if path is not None or download:
        _register(path)
    elif show is not None:
        _show(show, examples)
    elif remove:
        click.echo("Removed." if remove_frames() else "No frames are installed.")
    else:
        _describe()


def _register(path: str | None) -> None:
    from spansrl.corpora.examples import examples_by_sense
    from spansrl.inventory.install import register_frames

    if path == "":
        raise click.UsageError("PATH is empty; give a directory, an archive or a URL")
    with progress_bar() as progress:
        read = register_frames(path, examples_by_sense, progress=progress)
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


def _show(asked: str, examples: str | None) -> None:
    frames = load_frames()
    senses = (asked,) if asked in frames else _senses_of(frames, asked)
    if not senses:
        others = frames.rolesets(asked.partition(".")[0], None)
        advice = f"try {', '.join(others[:_MOST])}" if others else "senses look like keep.01, words like keep"
        raise DataError(f"the frames have no sense or word '{asked}'; {advice}")
    found = _examples_of(senses, examples) if examples is not None else {}
    for number, sense in enumerate(senses):
        click.echo(("\n" if number else "") + "\n".join(_description(frames, sense)))
        for text in found.get(sense, ()):
            click.echo(f"  example: {text}")


def _senses_of(frames: FrameIndex, word: str) -> tuple[str, ...]:
    """The senses of a word in any form."""
    from spansrl.language.english.lemmas import Lemmatizer

    types = ("verb", "noun", "adjective")
    lemmas = (word, *(Lemmatizer().lemma(word, type) for type in types))
    return next((senses for lemma in lemmas if (senses := frames.rolesets(lemma, None))), ())


def _description(frames: FrameIndex, sense: str) -> Iterator[str]:
    definition, roles = frames.texts(sense)
    yield f"{sense}  {definition}".rstrip()
    for role, meaning in roles.items():
        number = role.removeprefix("ARG")
        links = frames.links(sense)
        names = [name for name in (links.thematic.get(number), links.functions.get(number)) if name]
        yield f"  {role}  {meaning}".rstrip() + f"  [{', '.join(names)}]" * bool(names)
    verbnet, framenet, *_ = frames.links(sense)
    if verbnet:
        yield f"  VerbNet: {', '.join(verbnet)}"
    if framenet:
        yield f"  FrameNet: {framenet}"
    if words := [f"{word} ({type})" for word, type in frames.words(sense)]:
        yield f"  words: {', '.join(words)}"


def _examples_of(senses: Sequence[str], path: str) -> dict[str, list[str]]:
    from spansrl.corpora.examples import ExampleReader
    from spansrl.inventory.install import read_frame_files

    files, _ = read_frame_files(path, "spansrl frames --show SENSE --examples PATH")
    found: dict[str, list[str]] = {}
    for file in files.files.values():
        if any(f'"{sense}"'.encode() in file.data for sense in senses):
            reader = ExampleReader()
            reader.read(file.data)
            for example in reader.examples:
                found.setdefault(example.roleset.id, []).append(" ".join(example.text.split()))
    return found
