"""Whether a text looks like English."""

from __future__ import annotations

import pytest

from spansrl.language.english.detection import looks_english
from spansrl.language.english.tokenizer import tokenize

FOREIGN = {
    "German": "Der Hund beißt den Mann.",
    "French": "Le chat a mangé la souris dans la cuisine.",
    "Spanish": "El perro mordió al hombre en la calle.",
    "Dutch": "De hond beet de man in het park.",
    "Turkish": "Köpek parkta adamı ısırdı ve sonra kaçtı.",
    "Indonesian": "Anjing itu menggigit orang di taman dan lari.",
    "Russian": "Собака укусила человека в парке вчера.",
    "no frequent words at all": " ".join(a + b for a in ("lor", "dol", "sit", "tem") for b in "abcdefghijkl"),
}
ENGLISH = {
    "a plain sentence": "The dog bit the man in the park.",
    "names": "Rodrigo de la Vega met Ángel Núñez of the Real Academia at the house.",
    "a short text in another language": "Guten Tag, Herr Müller!",
    "a menu": "Crème brûlée, 5 €",
    "a headline": "Senate passes bill to ban app",
    "numbers": "1 2 3 4 5 6 7 8 9 10 11 12",
    "nothing": "",
}


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_other_languages_are_recognized(text):
    assert not looks_english(words(text))


@pytest.mark.parametrize("text", ENGLISH.values(), ids=ENGLISH.keys())
def test_english_and_short_texts_pass(text):
    assert looks_english(words(text))
