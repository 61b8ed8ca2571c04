"""A pipeline that needs no model: words in -ed are verbs, ARG0 is what precedes them, ARG1 what follows.

"up" at the end belongs to the verb.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from spansrl.errors import DataError
from spansrl.inference.predicates import Wanted
from spansrl.inference.sentences import LanguageCheck, text_sentences
from spansrl.inventory import PROPBANK, FrameIndex
from spansrl.language import English
from spansrl.structures import PREDICATE_TYPES, Argument, Proposition, Sentence, Span


def set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass(eq=False)
class FakePipeline:
    """Has what the server uses of a pipeline.

    `calls` has the sentences of each call, `predicates` what was asked for. While `may_go` is cleared, steps
    wait. A sentence with "poison" is more than the pipeline can take; one with "wrong" is refused. Each token
    takes `seconds`; a sentence is labeled in one step per token.
    """

    calls: list[list[str]] = field(default_factory=list)
    predicates: list[object] = field(default_factory=list)
    may_go: threading.Event = field(default_factory=set_event)
    steps_done: int = 0
    seconds: float = 0.0
    inventory: FrameIndex = PROPBANK
    threads: int = 1
    decoder: str = "greedy"
    alternatives: bool = False

    least: float = 0.0  # probability of an argument that is shown by default

    def default_min_prob(self, type: str | None) -> float:
        return self.least

    def sentences(self, text, *, warn):
        return LanguageCheck(English(), warn)(text_sentences(text, English(), warn=warn))

    def steps(
        self,
        sentences: Sequence[Sentence],
        *,
        predicates: Wanted | None = None,
        min_prob: float | None = None,
    ) -> Generator[int, None, list[Sentence]]:
        texts = [sent.text or " ".join(sent.tokens) for sent in sentences]
        self.calls.append(texts)
        selection = Wanted.of(predicates)
        self.predicates.append(tuple(name for name in PREDICATE_TYPES if name in selection.types))
        assert self.may_go.wait(30)
        for text in texts:
            if "poison" in text:
                raise ZeroDivisionError("poisoned")
            if "wrong" in text:
                raise DataError(f"cannot label {text!r}")
        size = sum(map(len, sentences))
        for left in range(size, 0, -1):
            if self.seconds:
                time.sleep(self.seconds)
            self.steps_done += 1
            yield left
        return [labeled(sent, selection) for sent in sentences]


def labeled(sent: Sentence, selection: Wanted) -> Sentence:
    """The sentence with a proposition for each word in -ed, or for those that are given."""
    if selection.given:
        indices = [prop.pred for prop in sent.props]
    else:
        indices = [
            k for k, word in enumerate(sent.tokens) if word.endswith("ed") and "verb" in selection.types
        ]
    return replace(sent, props=tuple(proposition(sent, index) for index in indices))


def proposition(sent: Sentence, index: int) -> Proposition:
    """A verb with all that precedes and follows it."""
    end = len(sent) - 1 if sent.tokens[-1] == "up" else len(sent)
    verb = None if end == len(sent) else (Span(index, index + 1), Span(end, end + 1))
    spans = {"ARG0": Span(0, index), "ARG1": Span(index + 1, end)}
    args = tuple(Argument(role, span, 0.5) for role, span in spans.items() if span.start < span.end)
    lemma = sent.tokens[index].removesuffix("ed")
    return Proposition(index, args, lemma, f"{lemma}.01", verb, type="verb", prob=0.75)
