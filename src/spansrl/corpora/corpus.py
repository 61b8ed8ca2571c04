"""What corpus builders share: sentences with their splits, and the files that they write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spansrl.corpora.audit import Audit
from spansrl.errors import DataError
from spansrl.formats.files import open_outputs
from spansrl.formats.jsonl import jsonl_lines
from spansrl.structures import Sentence

AUDIT_FILE = "audit.json"
SHARED_WORDS = 8  # two sentences that share this many words in a row count as similar


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
