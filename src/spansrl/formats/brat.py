"""brat standoff, write only: annotations in NAME.ann over the text in NAME.txt, which INCEpTION reads too.

A predicate is a span `Predicate` with the attribute `Sense`, an argument a span `Argument`, and a role a
relation from the predicate to the argument. https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from spansrl.errors import DataError, FormatError, shortened
from spansrl.formats.conll_writing import Losses
from spansrl.structures import Sentence, Span

_BREAKS = re.compile(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")
_TYPE = re.compile(r"[\w-]+")


def brat_lines(sentences: Iterable[Sentence], losses: Losses, path: str = "<output>") -> Iterator[str]:
    """Yield, in turn, the annotations of a sentence and its text, which is one line of NAME.txt."""
    counts: Counter[str] = Counter()
    start = 0
    for number, sent in enumerate(sentences, start=1):
        losses.count_fields(sent, sent.props, {"tokens", "text", "offsets", "sense"})
        writer = _SentenceNotes(sent, counts, start)
        try:
            writer.add_propositions()
        except DataError as error:
            raise FormatError(f"sentence {number} cannot be written as brat: {error}", path=path) from error
        yield "\n".join(writer.lines)
        yield writer.text
        start += len(writer.text) + 1


class _SentenceNotes:
    """The annotations of one sentence, which begins at `start`; `counts` numbers those of the file."""

    def __init__(self, sent: Sentence, counts: Counter[str], start: int) -> None:
        self.lines: list[str] = []
        self._sent, self._counts, self._start = sent, counts, start
        if sent.text is not None and sent.offsets is not None:
            self.text, self._offsets = _BREAKS.sub(" ", sent.text), sent.offsets
        else:
            tokens = [_BREAKS.sub(" ", token) for token in sent.tokens]
            ends = list(accumulate((len(token) + 1 for token in tokens), initial=0))
            self.text = " ".join(tokens)
            self._offsets = tuple((first, last - 1) for first, last in pairwise(ends))

    def add_propositions(self) -> None:
        arguments: dict[Span, str] = {}
        for prop in self._sent.props:
            verb = sorted(prop.verb_spans) or [Span(prop.pred, prop.pred + 1)]
            predicate = self._add_span("Predicate", verb)
            if prop.sense is not None:
                self._add("A", f"Sense {predicate} {_BREAKS.sub(' ', prop.sense)}")
            for arg in prop.args:
                if not _TYPE.fullmatch(arg.role):
                    raise DataError(f"the role '{shortened(arg.role)}' is not a word")
                if arg.span not in arguments:
                    arguments[arg.span] = self._add_span("Argument", [arg.span])
                self._add("R", f"{arg.role} Arg1:{predicate} Arg2:{arguments[arg.span]}")

    def _add_span(self, name: str, pieces: Sequence[Span]) -> str:
        if any(not 0 <= piece.start < piece.end <= len(self._offsets) for piece in pieces):
            raise DataError("a span is outside the sentence")
        chars = [(self._offsets[piece.start][0], self._offsets[piece.end - 1][1]) for piece in pieces]
        where = ";".join(f"{self._start + first} {self._start + last}" for first, last in chars)
        return self._add("T", f"{name} {where}\t{' '.join(self.text[first:last] for first, last in chars)}")

    def _add(self, kind: str, content: str) -> str:
        self._counts[kind] += 1
        self.lines.append(f"{kind}{self._counts[kind]}\t{content}")
        return f"{kind}{self._counts[kind]}"
