"""Other lemmas that an unseen one may share its senses with: extraction with extract, re-word with reword.

PropBank keeps a noun's senses with its verb's, writes -ize for -ise, and has no hyphens.

    >>> relatives("extraction", "noun"), relatives("re-organise", "verb")
    (('extract', 'extracte', 'extrace'), ('reorganize',))
"""

from __future__ import annotations

import re

from spansrl.language.english.lemmas.inflection import infinitive

_SHORTEST = 2  # of what is left before the ending: om|ission
_BRITISH = re.compile(r"(?<=al|or|er|il|im|om|it|og|gn|ar|[aeiou]n)is(?=e$|ation$)|(?<=aly)s(?=e$)")
_PARTICIPLES: dict[str | None, tuple[str, ...]] = {"noun": ("ing",), "adjective": ("ed", "ing")}

# Ending of a noun -> endings of its verb, likeliest first; the first ending that fits decides.
_SURE_ENDINGS = {
    "ification": ("ify",),
    "ication": ("icate", "y"),
    "ization": ("ize",),
    "llation": ("llate", "l"),
    "mation": ("m", "me", "mate"),
    "tation": ("tate", "t", "te"),
    "ation": ("ate", "e", "", "y"),
    "eption": ("eive", "ept"),
    "iption": ("ibe",),
    "ission": ("it", "iss"),
    "ension": ("end",),
    "ersion": ("ert", "erse"),
    "ression": ("ress",),
    "cession": ("cede",),
    "ulsion": ("el", "ulse"),
    "fusion": ("fuse",),
    "sion": ("de", "d", "se", "t", "s"),
    "olution": ("olve",),
    "isition": ("ire",),
    "sition": ("se",),
    "ention": ("ain", "ent", "ene"),
    "otion": ("ote",),
    "tion": ("t", "te", "e"),
    "ment": ("",),
    "val": ("ve",),
}
_OTHER_ENDINGS = {  # which many nouns have that come from no verb
    **dict.fromkeys(("ance", "ence", "al", "age", "ure", "er", "or", "ion"), ("", "e")),
    "y": ("", "e", "ize"),
}


def relatives(lemma: str, type: str | None) -> tuple[str, ...]:
    """Lemmas to look up where this one was never seen, likeliest first; many of them are not words."""
    plain = respelled(lemma)
    others = (plain, *_verbs_of(plain, type, _SURE_ENDINGS | _OTHER_ENDINGS))
    return tuple(other for other in others if other != lemma)


def likely_stem(lemma: str, type: str | None) -> str:
    """What the senses of an unseen lemma are probably named after."""
    plain = respelled(lemma)
    return next(iter(_verbs_of(plain, type, _SURE_ENDINGS)), plain)


def respelled(lemma: str) -> str:
    """The lemma as PropBank spells it: -ize for -ise, no hyphens."""
    return _BRITISH.sub(lambda found: found[0].replace("s", "z"), lemma.replace("-", "")) or lemma


# British endings and stems of words -> American ones, each to be looked up before it is believed.
_AMERICAN = tuple(
    (re.compile(british), american)
    for british, american in (
        (r"is(?=e$|er$|ed$|ing$|able$|ation$)", "iz"),
        (r"ys(?=e$|er$|ed$|ing$)", "yz"),
        (r"our", "or"),
        (r"ll(?=$|er$|or$|ed$|ing$|ment$)", "l"),
        (r"l(?=$|ment$)", "ll"),
        (r"tre$", "ter"),
        (r"ce$", "se"),
        (r"se$", "ce"),
        (r"ogue$", "og"),
        (r"mme$", "m"),
        (r"gement$", "gment"),
        (r"oeuvre", "euver"),
        (r"ae|oe", "e"),
        (r"grey", "gray"),
        (r"mould", "mold"),
        (r"plough", "plow"),
        (r"pp(?=$)", "p"),
        (r"sceptic", "skeptic"),
        (r"-", ""),
    )
)


def american_spellings(lemma: str) -> tuple[str, ...]:
    """How the lemma may be spelled in American English; most of these are not words.

    >>> american_spellings("criticise"), american_spellings("honour")
    (('criticize', 'criticice'), ('honor',))
    """
    found = (pattern.sub(american, lemma) for pattern, american in _AMERICAN)
    return tuple(dict.fromkeys(other for other in found if other not in ("", lemma)))


def _verbs_of(lemma: str, type: str | None, endings: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Verbs that a noun or a participle as an adjective may come from."""
    if type in _PARTICIPLES and lemma.endswith(_PARTICIPLES[type]) and (verb := infinitive(lemma)) != lemma:
        return (verb,)
    for ending, verb_endings in endings.items() if type == "noun" else ():
        if lemma.endswith(ending) and len(lemma) - len(ending) >= _SHORTEST:
            return tuple(lemma.removesuffix(ending) + verb_ending for verb_ending in verb_endings)
    return ()
