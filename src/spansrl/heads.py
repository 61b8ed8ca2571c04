"""The head word of a phrase, guessed from its words alone.

There is no parser here, only lists of English function words and the places of predicates. A phrase loses
the words that introduce it and ends before what follows its noun; what is left has its head at the end. A
clause has its first full predicate as its head, or what follows a form of "be". docs/python.md says how
often that is the head that Universal Dependencies have.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def _words(text: str) -> frozenset[str]:
    """A list of words, with both kinds of apostrophe."""
    return frozenset(f"{text} {text.replace(chr(39), '’')}".split())


_BE = _words("be am is are was were been being 's 're 'm")
_HAVE_AND_DO = _words("have has had having 've do does did")
_MODALS = _words("will would 'll 'd wo ca can could may might must shall should")
_AUXILIARIES = _BE | _HAVE_AND_DO | _MODALS
_ADVERBS = _words("not n't also always already especially even ever just never now only really still then")
_PREPOSITIONS = _words(
    "about above across after against along amid among around as at because before behind below beneath "
    "beside besides between beyond by concerning despite down during except for from in inside into like "
    "near of off on onto out outside over past per regarding since than through throughout till to "
    "toward towards under until unlike up upon via with within without"
)
_OPENERS = _words(
    "although because how if once so that though unless what whatever when whenever where wherever whether "
    "which while who whoever whom whose why"
)
_SUBJECTS = _words("i he she we they it you there")
_AFTER_NOUNS = _PREPOSITIONS | _OPENERS | _words("and or but i he she we they you")
_POSSESSIVES = _words("'s '")
_INSIDE_NOUNS = _words("- / \" “ ” `` ''")  # punctuation that a noun phrase goes on after


def guess_head(words: Sequence[str], start: int, end: int, predicates: Collection[int] = ()) -> int:
    """The token of start .. end-1 that is likely the head; `predicates` are those of the sentence.

    >>> words = "the committee on trade".split()
    >>> words[guess_head(words, 0, 4)]
    'committee'
    """
    while end - start > 1 and not _is_word(words[start]):
        start += 1
    while end - start > 1 and not _is_word(words[end - 1]):
        end -= 1
    return _Phrase([word.lower() for word in words[:end]], predicates).head(start)


class _Phrase:
    """Lower-cased words up to the end of a phrase; the methods take the place where a part of it begins."""

    def __init__(self, words: list[str], predicates: Collection[int]) -> None:
        self.words, self.predicates = words, predicates
        self.end = len(words)

    def head(self, at: int) -> int:
        """Of a phrase of any kind."""
        start, last = at, self.end - 1
        while at < last and self.words[at] in _PREPOSITIONS | _ADVERBS:
            at += 1
        if at < last and self.words[at] in _OPENERS:
            return self.clause(at + 1)
        verbal = at == start or self.words[at - 1] == "to" or self.words[at].endswith("ing")
        if (at in self.predicates and verbal) or (at < last and self.words[at] in _SUBJECTS):
            return self.clause(at)
        return self.noun_phrase(at)

    def clause(self, at: int) -> int:
        """The first predicate that no auxiliary points beyond; without any, as a noun phrase."""
        for k in range(at, self.end):
            if self.words[k] in _AUXILIARIES:
                return self.after_auxiliary(k)
            if k in self.predicates:
                return k
        return self.noun_phrase(at)

    def after_auxiliary(self, at: int) -> int:
        """What an auxiliary belongs to; "have", "do" and the "be" of "there is" may stand for themselves."""
        after = at + 1
        while after < self.end - 1 and self.words[after] in _ADVERBS:
            after += 1
        if after >= self.end or self.words[at - 1 : at] == ["there"]:
            return at
        if self.words[after] in _AUXILIARIES:
            return self.after_auxiliary(after)
        if after in self.predicates or self.words[at] in _MODALS:
            return after
        return at if self.words[at] in _HAVE_AND_DO else self.head(after)

    def noun_phrase(self, at: int) -> int:
        """The last word before anything that follows nouns; a verb after all makes it a clause."""
        for k in range(at + 1, self.end):
            word = self.words[k]
            goes_on = word in _INSIDE_NOUNS or (word in _POSSESSIVES and k + 1 not in self.predicates)
            if goes_on and k + 1 < self.end:
                continue
            if word in _AUXILIARIES:
                return self.after_auxiliary(k)
            if (
                word in _AFTER_NOUNS
                or not _is_word(word)
                or self.is_participle(k)
                or self.words[k - 1] == "$"
            ):
                return k - 1
        return self.end - 1

    def is_participle(self, at: int) -> bool:
        """Whether a predicate looks like one that says more about the noun before it."""
        follows = at + 1 == self.end or self.words[at + 1] in _PREPOSITIONS
        return at in self.predicates and self.words[at].endswith("ed") and follows


def _is_word(text: str) -> bool:
    return text in ("$", "%") or any(char.isalnum() for char in text)
