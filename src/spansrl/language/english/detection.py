"""Whether a text looks like English: a cheap test by frequent words and by script."""

from __future__ import annotations

from collections.abc import Iterable

_FEWEST_WORDS = 5  # shorter texts are not judged
_FOREIGN_SHARE = 0.2  # of the words; below, foreign words may be names: "Real Academia de la Lengua"

_MANY_WORDS = 40  # different ones, among which some are frequent in any English text
_ENGLISH_SHARE = 0.05
_LAST_LATIN = "\u024f"

_ENGLISH = frozenset(
    """
    the and to of that it for with this have from by you they we she he his her their my your our which or
    would will can could should there what when who how why not but are is was were be been has had do does
    did n't 's 'm 're 've 'll at about if than then these those them him us its because all any some more
    other into out up over just i as on in a an so no me like get got go one two very good new people said
    """.split()
)
# Frequent words of German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian languages, Polish,
# Finnish, Turkish, Indonesian and Latin.
_FOREIGN = (
    frozenset(
        """
    der die das und ist nicht ich sie wir ein eine einen einem einer den dem des mit auf für von zu zum zur
    im es auch sich wie aber nach bei aus wenn noch wird haben sind dass oder durch über er hat ihr
    le la les de du et est un une que qui dans pas ne sur il elle nous vous ils avec ce cette au aux je mais
    sont sa ses ont c'est
    el los las del y en se por con para su al lo como más pero sus está fue muy esta este
    lo gli di che è non della dei sono si da nel anche ma ho più alla questo
    os dos das é um uma em não na mais foi ele são ao pelo
    het een van niet dat ik je zijn op te voor aan maar ook als bij nog wordt naar deze
    och att det som är ett på inte för av jag har om var til og ikke jeg til
    w z nie się jest że jak ale czy dla są od po je na
    ja on ei se että oli kun mutta
    ve bir bu için ile çok
    yang dan itu dengan untuk tidak ini dari
    quod ad cum sed sunt non
    """.split()
    )
    - _ENGLISH
)


def looks_english(tokens: Iterable[str]) -> bool:
    """Whether a text of these tokens may be English; short texts always may."""
    words = [token.lower() for token in tokens if any(map(str.isalpha, token))]
    words = [word for word in words if len(word) > 1 or word > _LAST_LATIN]
    if len(words) < _FEWEST_WORDS:
        return True
    letters = [character for word in words for character in word if character.isalpha()]
    if sum(character > _LAST_LATIN for character in letters) > len(letters) / 2:
        return False
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN or _is_accented(word) for word in words)
    if foreign > 2 * english and foreign >= max(2.0, _FOREIGN_SHARE * len(words)):
        return False
    return len(set(words)) < _MANY_WORDS or english >= _ENGLISH_SHARE * len(words)


def _is_accented(word: str) -> bool:
    return not word.isascii() and any(character.isalpha() and character > "\x7f" for character in word)
