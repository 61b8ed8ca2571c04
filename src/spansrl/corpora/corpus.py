"""What corpus builders share: source files, sentences with their splits, and the files that they write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spansrl.checks import Json
from spansrl.corpora.audit import Audit
from spansrl.errors import DataError
from spansrl.formats.files import Line, open_outputs
from spansrl.formats.jsonl import jsonl_lines
from spansrl.formats.sources import fetched, fingerprint, lines_of, read_members
from spansrl.progress import Progress
from spansrl.structures import Sentence

AUDIT_FILE = "audit.json"
SHARED_WORDS = 8  # two sentences that share so many words in a row are alike


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files that are used from one source; `root` is its name in messages."""

    root: str
    files: dict[str, bytes]  # by a name that does not depend on how they were packed
    paths: dict[str, str]  # the same names -> paths below the root

    @classmethod
    def read(cls, root: str, option: str, patterns: Iterable[str], progress: Progress) -> SourceFiles:
        """Read the files of a directory, an archive or a URL whose paths end in a match of a pattern.

        The groups of the match, joined by slashes, are the name of the file.
        """
        pattern = re.compile(f"(?:^|/)(?:{'|'.join(patterns)})$")
        source = cls(root, {}, {})
        with fetched(root, option, progress) as archive:
            members = read_members(archive, root, lambda path: bool(pattern.search(path)), progress=progress)
            for path, content in members:
                if match := pattern.search(path):
                    name = "/".join(filter(None, match.groups()))
                    source.files[name], source.paths[name] = content, path
        return source

    def path(self, name: str) -> str:
        return f"{self.root}/{self.paths[name]}"

    def lines(self, name: str) -> Iterator[Line]:
        return lines_of(self.files[name], self.path(name))

    def provenance(self, **facts: str | None) -> Json:
        """The source as audit.json describes it, independent of where it is stored."""
        return {**facts, "files": len(self.files), "sha256": fingerprint(self.files)}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentences with the names of their splits, to be iterated once; then the audit is complete."""

    sentences: Iterator[tuple[str, Sentence]]
    audit: Audit


def write_corpus(corpus: Corpus, folder: Path) -> None:
    """Write ``SPLIT.jsonl`` for every split and ``audit.json`` atomically."""
    splits = list(corpus.audit.splits)
    names = [*(f"{split}.jsonl" for split in splits), AUDIT_FILE]
    with _made(folder), open_outputs(folder, names) as (*split_outputs, account):
        outputs = dict(zip(splits, split_outputs, strict=True))
        for split, sent in corpus.sentences:
            corpus.audit.count(split, sent)
            for line in jsonl_lines([sent]):
                outputs[split].write(f"{line}\n".encode())
        text = json.dumps(corpus.audit.to_dict(), ensure_ascii=False, indent=1)
        account.write(f"{text}\n".encode())


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create the folder, and remove it again if the block fails and it did not exist before."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be created: {error.strerror or error}") from error
    try:
        yield
    except BaseException:
        for path in missing:
            path.rmdir()
        raise


def word_runs(tokens: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the words of every eight tokens in a row, or of all tokens if they are fewer."""
    words = [token.lower() for token in tokens]
    last = max(0, len(words) - SHARED_WORDS)
    return {tuple(words[k : k + SHARED_WORDS]) for k in range(last + 1)}
