"""English: what the models of the package label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spansrl.language.english.detection import looks_english
from spansrl.language.english.lemmas import Lemmatizer
from spansrl.language.english.tokenizer import iter_sentences
from spansrl.language.english.tokenizer.scanner import is_word, may_be_name
from spansrl.language.protocol import TextSentence

# Words with senses of other types only that models take for verbs: "nice enough".
_NO_VERBS = frozenset({"enough"})


@dataclass(frozen=True, slots=True)
class English:
    """English, with the irregular base forms that a treebank taught."""

    lemmatizer: Lemmatizer = field(default_factory=Lemmatizer)

    @property
    def name(self) -> str:
        return "english"

    def split(self, text: str) -> Iterator[TextSentence]:
        return iter_sentences(text)

    def lemma(self, word: str, type: str | None) -> str:
        return self.lemmatizer.lemma(word, type)

    def looks_right(self, tokens: Sequence[str]) -> bool:
        return looks_english(tokens)

    def can_be_predicate(self, word: str, type: str) -> bool:
        return is_word(word) and not (type == "verb" and word.lower() in _NO_VERBS)

    def may_be_name(self, tokens: Sequence[str], index: int) -> bool:
        return may_be_name(tokens, index)
