"""What words and sentences are, by language."""

from collections.abc import Callable

from spansrl.language.english import English
from spansrl.language.english.lemmas import Lemmatizer
from spansrl.language.protocol import MAX_TOKENS, Language, TextSentence

# Name in the config.json of a model -> the language with the base forms that its treebank taught.
LANGUAGES: dict[str, Callable[[Lemmatizer], Language]] = {"english": English}

__all__ = ["LANGUAGES", "MAX_TOKENS", "English", "Language", "Lemmatizer", "TextSentence"]
