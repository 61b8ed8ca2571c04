"""The example sentences of PropBank's frames as a corpus: one labeled predicate each.

    <example>
      <text>Two dogs guard the house .</text>
      <propbank>
        <rel relloc="2">guard</rel>
        <arg type="ARG0" start="0" end="1">Two dogs</arg> …

Other predicates of such a sentence are not labeled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

from spansrl.corpora.corpus import Audit, CorpusSplits, word_runs
from spansrl.errors import DataError
from spansrl.formats.archives import SourceFile
from spansrl.inventory.frame_files import FrameReader, Roleset
from spansrl.inventory.frame_index import PARTS_OF_SPEECH
from spansrl.inventory.install import read_frame_files
from spansrl.language import MAX_TOKENS
from spansrl.language.english.lemmas import AUXILIARY_SENSES, Lemmatizer
from spansrl.progress import Progress, no_progress
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import VERB

SPLIT = "train"
MOST_EXAMPLES = 20  # of a roleset, which models learn it from
_LEMMATIZER = Lemmatizer()

# As treebanks of the web write them.
_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_WRITTEN |= {"``": '"', "''": '"', "/.": "."}
# Traces and indices of a syntactic analysis, not words: *PRO*, [*T*-1], [Police]-1
_NOT_A_WORD = re.compile(r"\[?\*\S*|\[?\S*\]-[0-9]+|\[[^\s\]]+|0")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(slots=True)
class Example:
    roleset: Roleset
    text: str = ""
    predicate: str = ""
    args: list[tuple[str, str, str]] = field(default_factory=list)  # role, first token, last token


class ExampleReader(FrameReader):
    """Reads rolesets with their examples; `examples` holds those that were closed."""

    def __init__(self) -> None:
        super().__init__()
        self.examples: list[Example] = []
        self._example: Example | None = None
        self._text: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        if tag == "example" and self.current is not None:
            self._example = Example(self.current)
        elif self._example is None:
            return
        elif tag == "text":
            self._text = []
            self.parser.CharacterDataHandler = self._text.append
        elif tag == "rel":
            self._example.predicate = attributes.get("relloc", "")
        elif tag == "arg":
            role, first, last = (attributes.get(key, "") for key in ("type", "start", "end"))
            self._example.args.append((role, first, last))

    def end(self, tag: str) -> None:
        if self._example is not None and tag == "text" and self._text is not None:
            self._example.text = "".join(self._text)
            self._text = self.parser.CharacterDataHandler = None
        elif self._example is not None and tag == "example":
            self.examples.append(self._example)
            self._example = None
        super().end(tag)


def build_examples(
    source: str | None = None, unlike: Iterable[Sentence] = (), *, progress: Progress = no_progress
) -> CorpusSplits:
    """Return the examples of a directory, an archive or a URL of frames; None is the pinned commit.

    Those that share eight words in a row, or all of their words if they have fewer, with one of the sentences
    `unlike` are left out, so that a model is not trained on what it is tested on.
    """
    frames, provenance = read_frame_files(source, "--frames", progress=progress)
    if not frames.files:
        raise DataError(f"{frames.root}: no frame files; expected PropBank's frames, with frames/NAME.xml")
    audit = Audit("examples", [SPLIT])
    audit.sources["frames"] = provenance
    known = {run for sent in unlike for run in word_runs(sent.tokens)}
    return CorpusSplits(_sentences(frames.files, known, audit, progress), audit)


def _sentences(
    files: dict[str, SourceFile], known: set[tuple[str, ...]], audit: Audit, progress: Progress
) -> Iterator[tuple[str, Sentence]]:
    seen: set[tuple[tuple[str, ...], int]] = set()
    for done, name in enumerate(sorted(files), start=1):
        reader = ExampleReader()
        if fault := reader.read(files[name].data):
            audit.drop("rest of a file", f"{name}:{fault.line or 1}", "invalid XML")
        for number, example in enumerate(reader.examples):
            where = f"{name}#{number}"
            try:
                sent = to_sentence(example, where)
            except UnfitError as unfit:
                audit.drop("example", where, str(unfit))
                continue
            if not known.isdisjoint(word_runs(sent.tokens)):
                audit.drop("example", where, "like a sentence in an --unlike file")
            elif (key := (sent.tokens, sent.props[0].pred)) in seen:
                audit.drop("example", where, "duplicate")
            else:
                seen.add(key)
                yield SPLIT, sent
        progress("reading examples", done, len(files))


def examples_by_sense(file: SourceFile) -> dict[str, list[tuple[Sequence[str], int]]]:
    """The tokens and the predicate of a few examples of each roleset in a frame file."""
    reader = ExampleReader()
    reader.read(file.data)
    found: dict[str, list[tuple[Sequence[str], int]]] = {}
    for example in reader.examples:
        own = found.setdefault(example.roleset.id, [])
        with suppress(UnfitError):
            sent = to_sentence(example, file.path)
            if len(own) < MOST_EXAMPLES and len(sent) <= MAX_TOKENS:
                own.append((sent.tokens, sent.props[0].pred))
    return found


class UnfitError(Exception):
    """The reason why an example cannot be a sentence of a corpus."""


def to_sentence(example: Example, name: str) -> Sentence:
    """Return the example as a sentence with one proposition; raise UnfitError if that is not possible."""
    tokens = tuple(_WRITTEN.get(token, token) for token in example.text.split())
    if any(_NOT_A_WORD.fullmatch(token) for token in tokens):
        raise UnfitError("has traces among its words")
    indices = sorted({_index(number, len(tokens)) for number in example.predicate.split()})
    if not indices:
        raise UnfitError("no predicate is marked")
    if any(role in ("", VERB) for role, _, _ in example.args):
        raise UnfitError("an argument has no role")
    args = [Argument(role, _span(first, last, len(tokens))) for role, first, last in example.args]
    args.sort(key=lambda arg: arg.span)
    _check_apart([arg.span for arg in args], indices)
    # Of several words the first is the verb, which carries the sense.
    prop = Proposition(
        indices[0],
        tuple(args),
        sense=example.roleset.id,
        v=None if len(indices) == 1 else _pieces(indices),
        type=_type(tokens[indices[0]], example.roleset),
    )
    return Sentence(tokens, (prop,), id=name)


def _index(number: str, size: int) -> int:
    if not _NUMBER.fullmatch(number) or int(number) >= size:
        raise UnfitError("an index is outside the sentence")
    return int(number)


def _span(first: str, last: str, size: int) -> Span:
    start, end = _index(first, size), _index(last, size) + 1
    if start >= end:
        raise UnfitError("an argument ends before it begins")
    return Span(start, end)


def _check_apart(spans: list[Span], indices: list[int]) -> None:
    if any(before.end > after.start for before, after in pairwise(spans)):
        raise UnfitError("arguments overlap")
    if any(start <= index < end for start, end in spans for index in indices):
        raise UnfitError("an argument covers the predicate")


def _pieces(indices: list[int]) -> tuple[Span, ...]:
    pieces: list[Span] = []
    for index in indices:
        if pieces and pieces[-1].end == index:
            pieces[-1] = Span(pieces[-1].start, index + 1)
        else:
            pieces.append(Span(index, index + 1))
    return tuple(pieces)


def _type(word: str, roleset: Roleset) -> str | None:
    """Return the type of the predicate, if the word is an alias of the roleset with one type only."""
    if roleset.id in AUXILIARY_SENSES:
        return "auxiliary"
    found = {
        PARTS_OF_SPEECH[tag]
        for tag, alias in roleset.aliases
        if tag in PARTS_OF_SPEECH
        and alias.partition("_")[0] in (word.lower(), _LEMMATIZER.lemma(word, PARTS_OF_SPEECH[tag]))
    }
    return found.pop() if len(found) == 1 else None
