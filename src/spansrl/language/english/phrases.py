"""English phrases without a parser: the head of a span, its parts, and whether it is a clause.

The rules look at words of closed classes and at the predicates of the sentence, which distinguish verbs
from nouns. Heads are those of Universal Dependencies: the noun rather than its preposition, the verb rather
than its conjunction, and what a copula says of its subject rather than the copula.
`experiments/score_heads.py` measures them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spansrl.language.english.lemmas.inflection import AUXILIARIES, IRREGULAR_VERBS
from spansrl.structures import Span


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PREPOSITIONS = _set(
    """
    about above across after against along alongside amid among amongst around as at before behind below
    beneath beside besides between beyond by despite down during except for from in inside into like
    near of off on onto out outside over past per regarding since than through throughout to toward
    towards under underneath until till unto up upon via with within without versus vs concerning
    including excluding following @
    """
)
SUBORDINATORS = _set(
    """
    that if whether because although though while whilst unless since until till before after as once so
    than lest
    """
)
RELATIVES = _set("who whom whose which that where when why")
WH = _set("who whom whose which what where when why how whatever whoever whichever wherever whenever however")
_POSSESSIVES = _set("my your his her its our their whose")
_ARTICLES = _set("the a an this these those")
_OPENING = _POSSESSIVES | _set("the a an every")  # a noun always follows
DETERMINERS = (
    _POSSESSIVES
    | _ARTICLES
    | _set(
        """
    that some any no every each either neither both all such another which what half many much more most
    few several
    """
    )
)
SUBJECT_PRONOUNS = _set("i he she they we it you who")
SPEAKER = _set("i me myself mine we us ourselves ours")
HEARER = _set("you yourself yourselves yours u ya y'all")
PERSONAL = (
    SPEAKER
    | HEARER
    | _set("he him himself his she her herself hers it itself they them themselves theirs 'em")
)
_INDEFINITE = _set(
    "something anything nothing everything someone anyone everyone somebody anybody nobody everybody"
)
PRONOUNS = (
    PERSONAL
    | RELATIVES
    | WH
    | _INDEFINITE
    | _set("this these those one ones none each another other all both some any many most few several")
)
MODALS = _set("will would can could may might must shall should 'll wo ca 'd")
MODAL_FORMS = {"'ll": "will", "wo": "will", "ca": "can", "'d": "would", "sha": "shall"}
BE = frozenset({"be"} | {form for form, lemma in AUXILIARIES.items() if lemma == "be"})
AUXILIARY_FORMS = frozenset(AUXILIARIES) | frozenset(AUXILIARIES.values()) | MODALS
_ADVERBS = _set(
    """
    not n't never also just only even still already always often ever very too so quite almost nearly
    about approximately then now soon here there again maybe perhaps please yet well rather instead away
    back ago else together alone
    """
)
_NOT_ADVERBS = _set(
    """
    family company ally supply reply july italy bully monopoly assembly anomaly friendly lovely likely
    early daily weekly monthly lonely elderly deadly silly ugly holy emily jelly belly sally kelly billy
    molly homily
    """
)
# Adverbs that modify the prepositional phrase after them: "just after noon".
_FOCUS = _set(
    """
    just only even especially particularly right about up also mainly not then mostly shortly
    immediately
    """
)
_AFTER_NOUN = _set("not n't here there now then again also already ago alone together too else away back")
_LISTS = _set("and or but nor & /")
_CONJUNCTIONS = _LISTS | _set("plus yet then")
_MONTHS = _set(
    """
    january february march april may june july august september october november december jan feb mar
    apr jun jul aug sept sep oct nov dec jan. feb. mar. apr. aug. sept. oct. nov. dec.
    """
)
_COMPLEX = {
    tuple(pair.split())
    for pair in """because of,instead of,according to,due to,such as,rather than,based on,
based upon,as to,thanks to,prior to,next to,close to,along with,less than,out of""".replace("\n", "").split(
        ","
    )
}
# Words that deny what they belong to.
NEGATIONS = _set("not n't nt never neither nor hardly scarcely barely no nowhere")
NEGATIVE_DETERMINERS = _set("no nobody nothing none neither no-one nowhere")
# Adverbs that can be a particle of the verb before them: "come down".
PARTICLES = _set("up down out off away back over in on forward around along through apart together aside")
# Verbs whose content is what somebody says, thinks or asks.
SAYING = _set(
    """
    say tell claim report argue think believe suggest ask wonder explain announce state write deny
    insist declare hear find expect suppose assume feel guess know learn show warn whisper shout reply
    answer add admit allege assert maintain mention note predict propose prove reveal speculate swear
    testify hold imagine dream remember forget forecast estimate confirm complain acknowledge conclude
    doubt fear understand realize read teach warrant call consider seem appear accuse blame charge
    turn_out pretend indicate describe
    """
)
# Verbs, nouns and adjectives whose content is wanted, planned or allowed.
WANTING = _set(
    """
    want wish hope plan intend promise offer agree try attempt need ask order tell force urge demand
    request require recommend advise allow permit let invite encourage persuade expect prepare decide
    vote propose threaten seek aim decision effort right ability willing ready eager able likely
    supposed desire pledge vow beg command instruct enable warn hesitate long dream
    """
)
# Verbs that say what their subject seems to be.
RAISING = _set("seem appear look sound feel prove turn remain")
# Verbs whose subject is that of their infinitive or gerund, although they may have an object.
SUBJECT_CONTROL = _set("promise threaten vow use avoid enjoy stop start begin keep finish blame charge thank")
# Verbs whose content is thereby said not to happen.
DENYING = _set("fail refuse decline avoid forget neglect deny prevent keep stop forbid ban refrain")
_IRREGULAR_FORMS = [
    [form for form, verb in IRREGULAR_VERBS.items() if verb == lemma and not form.endswith(("ing", "es"))]
    for lemma in set(IRREGULAR_VERBS.values())
]
# Participles that are no past tense, and those that are one.
_ONLY_PARTICIPLES = {form for forms in _IRREGULAR_FORMS for form in forms[1:]} | {"been", "done"}
_PAST_PARTICIPLES = {forms[0] for forms in _IRREGULAR_FORMS if len(forms) == 1} | _set(
    """
    put cut hit set let read shut cost hurt cast spread split burst shed quit rid bet upset become come
    run overcome made had broadcast forecast
    """
)
_NEVER_AFTER_NOUNS = PREPOSITIONS | RELATIVES | WH | SUBJECT_PRONOUNS | _POSSESSIVES | _ARTICLES
_PUNCTUATION = re.compile(r"\W+|-[lr][rsc]b-", re.IGNORECASE)
_SYMBOLS = _set("$ % £ € & @ #")
_PARTICIPLES = ("ing", "ed", "en")


def is_punctuation(word: str) -> bool:
    return not word[:1].isalnum() and word not in _SYMBOLS and _PUNCTUATION.fullmatch(word) is not None


def ends_clause(following: str) -> bool:
    """Whether the word before this one is the last of its clause."""
    return not following or is_punctuation(following) or following in _CONJUNCTIONS | SUBORDINATORS


def is_adverb(word: str) -> bool:
    return word in _ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in _NOT_ADVERBS)


def is_participle(word: str) -> bool:
    """Whether the word can be a past participle."""
    return word.endswith("ed") or word in _PAST_PARTICIPLES or is_only_participle(word)


def is_only_participle(word: str) -> bool:
    """Whether the word is a past participle and no past tense: given, seen."""
    return word in _ONLY_PARTICIPLES


class PhraseParse:
    """A span of a sentence, read from left to right; `types` has the types of the sentence's predicates.

    `head` is the token that the span is about, and `clause` whether that is the verb of a clause. `marks` are
    the words in front of the phrase proper (prepositions and conjunctions), which begins at `content`.

        >>> words = "by the old man who sold the letters".split()
        >>> parse = PhraseParse(words, Span(0, 8), {5: "verb"})
        >>> parse.head, parse.marks, parse.noun_phrase(), parse.short()
        (3, ['by'], Span(start=1, end=4), Span(start=2, end=4))
    """

    def __init__(self, words: Sequence[str], span: Span, types: Mapping[int, str]) -> None:
        start, end = span
        while start < end - 1 and is_punctuation(words[start]):
            start += 1
        while end - 1 > start and (is_punctuation(words[end - 1]) or words[end - 1] in ("'s", "’s")):
            end -= 1
        self.written, self.types = words, types
        self.start, self.end = start, end
        self.words = {t: words[t].lower().replace("’", "'") for t in range(start, end)}
        self.clause = False
        self.marks: list[str] = []
        self.content = start
        self.head = start if end - start == 1 else self._head(start)

    @property
    def pronoun(self) -> bool:
        return self.content == self.head == self.end - 1 and self.word(self.head) in PRONOUNS

    def noun_phrase(self) -> Span:
        """The phrase without marks and without a relative clause at its end."""
        if self.clause or self.word(self.head) in PRONOUNS:
            return Span(self.content, self.end)
        for t in range(self.head + 1, self.end):
            if self.word(t) in RELATIVES and any(self.verb(k) for k in range(t + 1, self.end)):
                before = self.word(t - 1)
                cut = t - 1 if is_punctuation(before) or before in PREPOSITIONS else t
                while cut - 1 > self.head and is_punctuation(self.word(cut - 1)):
                    cut -= 1
                if cut > self.head:
                    return Span(self.content, cut)
        return Span(self.content, self.end)

    def short(self, pieces: Sequence[Span] | None = None) -> Span:
        """The noun with what stands before it and its "of" phrase, without determiners."""
        if self.end - self.content == 1:
            return Span(self.content, self.end)
        pieces = pieces or self.conjuncts()
        start, end = pieces[0].start, pieces[-1].end
        while start < self.head and (self.word(start) in DETERMINERS or is_adverb(self.word(start))):
            start += 1
        return Span(start, end)

    def conjuncts(self, whole: Span | None = None) -> list[Span]:
        """The coordinated noun phrases, each with its "of" phrase; one span if nothing is coordinated."""
        whole = whole or self.noun_phrase()
        if self.clause or whole.end - whole.start == 1:
            return [whole]
        found: list[Span] = []
        begin = t = self.content
        while t < whole.end:
            _, t = self._nominal(t)
            while self.word(t) == "of" and t + 1 < whole.end:
                _, t = self._nominal(t + 1)
            found.append(Span(begin, min(t, whole.end)))
            mark, rest = self.word(t), range(t + 1, whole.end)
            listed = mark == "," and any(self.word(k) in _LISTS for k in rest)
            if t >= whole.end or not (listed or (mark in _LISTS and mark != "but")):
                break
            t += 1 + (mark == "," and self.word(t + 1) in _LISTS)
            begin = t
            if t >= whole.end or self.verb(t) or self.word(t) in PREPOSITIONS | SUBORDINATORS | WH:
                break
        return found or [whole]

    def word(self, t: int) -> str:
        return self.words.get(t, "")

    def verb(self, t: int) -> bool:
        if t >= self.end:
            return False
        is_modal = self.word(t) in MODALS and self.written[t] != "May"
        return is_modal or self.types.get(t) in ("verb", "auxiliary")

    def _plain(self, t: int) -> int:
        """The next token that is neither punctuation nor an adverb."""
        while t < self.end - 1 and (
            is_punctuation(self.word(t)) or (is_adverb(self.word(t)) and not self.verb(t))
        ):
            t += 1
        return t

    def _head(self, t: int) -> int:
        t = self._lead(t)
        word, following = self.word(t), self.word(t + 1)
        self.content = t
        if t >= self.end - 1:
            return self.end - 1
        if word == "to" and (self.verb(self._plain(t + 1)) or self.word(self._plain(t + 1)) == "be"):
            return self._predicate(self._plain(t + 1))
        if word in WH:
            return self._wh(t)
        if word in SUBORDINATORS and following != "of":
            self.content = t + 1
            found = self._clause(t + 1, marked=True)
            if found is not None:
                self.marks.append(word)
                return found
        if (word in PREPOSITIONS and not self.verb(t)) or (word, following) in _COMPLEX:
            self.marks.append(word)
            return self._head(t + 1)
        if self.verb(t) and not (self.types.get(t) == "verb" and self._prenominal(t)):
            return self._predicate(t)
        self.content = t
        found = self._clause(t, marked=False)
        return self._nominal(t)[0] if found is None else found

    def _lead(self, t: int) -> int:
        """Skip what comes before the phrase proper: conjunctions and adverbs that modify all of it."""
        while t < self.end - 1:
            word, following = self.word(t), self.word(t + 1)
            of_phrase = following in PREPOSITIONS and word not in _FOCUS
            stays = is_adverb(following) or following in _LISTS or is_punctuation(following) or of_phrase
            skipped = (
                is_punctuation(word)
                or (word in _CONJUNCTIONS and word not in SUBORDINATORS)
                or (word == "all" and following in PREPOSITIONS - {"of"})
                or (is_adverb(word) and not self.verb(t) and not stays)
            )
            if not skipped:
                break
            t += 1
        return t

    def _wh(self, t: int) -> int:
        """A question or a free relative: its predicate, or "what"."""
        following = self._plain(t + 1)
        verbs = [k for k in range(t + 1, self.end) if self.verb(k)]
        if self.word(t) in ("what", "whatever", "whoever") and verbs:
            self.clause = True
            return t
        if self.word(t) in ("who", "which") and verbs:
            return self._predicate(verbs[0])
        if self.word(following) == "to" and following + 1 < self.end:
            return self._predicate(self._plain(following + 1))
        found = self._clause(t + 1, marked=True)
        return self._nominal(t)[0] if found is None else found

    def _clause(self, t: int, *, marked: bool) -> int | None:
        """The predicate of a finite clause that begins at t: a subject, then a verb."""
        t = self._plain(t)
        if marked and self.verb(t):
            return self._predicate(t)
        while t < self.end:  # the subject: a noun phrase with phrases after it
            t = self._plain(self._nominal(t)[1])
            word = self.word(t)
            if self.verb(t):
                is_finite = self._finite(t) or (marked and not word.endswith("ing"))
                return self._predicate(t) if is_finite else None
            after_subject = ("of", "in", "on", "at", "for", "with", "from", "between", "and", "or", ",", "&")
            if word not in after_subject and not (marked and word in PREPOSITIONS):
                return None
            t += 1
        return None

    def _finite(self, t: int) -> bool:
        word = self.word(t)
        if word in ("been", "being", "having", "doing"):
            return False
        if word in AUXILIARY_FORMS or self.word(t - 1) in SUBJECT_PRONOUNS:
            return True
        if word.endswith("ing"):
            return False
        if word.endswith("s") and not word.endswith("ss"):
            return True
        return self.word(t + 1) not in ("by", "in", "on", "to", "at", "from", "as", "with", "for", "")

    def _predicate(self, t: int) -> int:
        """The main verb of the group that begins at t, or what a copula says of its subject."""
        self.clause = True
        first = last = t
        while t < self.end:
            word = self.word(t)
            if is_punctuation(word) and word not in ("'", '"', "`", "``"):
                break
            if self.verb(t):
                if last != t and self.word(last) not in AUXILIARY_FORMS:
                    break
                last = t
                if word not in AUXILIARY_FORMS:
                    break
            elif word == "to" and self.word(last) in BE:
                break
            elif not (is_adverb(word) or word in ("to", "going", "able")):
                inverted = word in SUBJECT_PRONOUNS and self.word(last) in AUXILIARY_FORMS and last == t - 1
                if t != first and not inverted:
                    break
            t += 1
        if self.word(last) not in BE:
            return last
        rest = self._plain(last + 1)
        if (
            rest >= self.end
            or is_punctuation(self.word(rest))
            or self.word(rest) in SUBORDINATORS | WH | {"to"}
        ):
            return last
        if self.word(rest) in PREPOSITIONS:
            rest = self._plain(rest + 1)
        return rest if self.verb(rest) and not self._prenominal(rest) else self._nominal(rest)[0]

    def _prenominal(self, t: int) -> bool:
        """Whether a participle comes before the noun that it modifies ("retiring jurists")."""
        following = self.word(t + 1)
        if not self.word(t).endswith(_PARTICIPLES) or not following or self.verb(t + 1):
            return False
        return not (
            following
            in PREPOSITIONS | DETERMINERS | PRONOUNS | _LISTS | SUBORDINATORS | AUXILIARY_FORMS | {"$"}
            or is_punctuation(following)
            or is_adverb(following)
            or following[0].isdigit()
            or self.written[t + 1][0].isupper()
        )

    def _nominal(self, t: int) -> tuple[int, int]:
        """The head of the noun phrase that begins at t, and the token after its last noun."""
        begin, found = t, None
        while t < self.end:
            word, following = self.word(t), self.word(t + 1)
            if found is None:
                if is_punctuation(word) or word in _LISTS:
                    t += 1
                    continue
                if (word in ("more", "less", "fewer", "up", "at", "as") and t + 2 < self.end) and (
                    following in ("than", "to", "least", "most", "many", "much")
                ):
                    t += 2
                    continue
                if self.verb(t) and t > begin and not word.endswith(_PARTICIPLES):
                    break
            elif (
                t == found + 1 and self.word(found) in _OPENING and not (word in _OPENING or word in PERSONAL)
            ):
                if is_punctuation(word) and t + 1 < self.end:
                    t, found = t + 1, found + 1  # a quotation mark: his "autobiography"
                    continue
            elif (word in ("'s", "'") and following and not is_punctuation(following)) or (
                word == "-" and following[:1].isalnum()
            ):
                t += 1
                continue
            elif self._ends_noun(t, found):
                break
            elif self._follows_head(t, found):
                t += 1
                continue
            found = t
            t += 1
        return min(begin, self.end - 1) if found is None else found, max(t, begin + 1)

    def _ends_noun(self, t: int, found: int) -> bool:
        """Whether the noun phrase with its last noun so far at `found` ends before t."""
        word, following, last = self.word(t), self.word(t + 1), self.word(found)
        if is_punctuation(word) or word in _LISTS or last in _INDEFINITE:
            return True
        quantified = word in DETERMINERS and last in ("all", "both", "such", "half", "what")
        if word in _NEVER_AFTER_NOUNS and not quantified:
            return True
        if (self.verb(t) and not self._prenominal(t)) or (word, following) == ("such", "as"):
            return True
        if is_adverb(word) and (following in PREPOSITIONS or not following or word in _AFTER_NOUN):
            return True
        return word in ("all", "both", "each", "himself", "herself", "itself", "themselves", "myself")

    def _follows_head(self, t: int, found: int) -> bool:
        """Whether the token belongs to the noun before it: page 5, $ 5, 10 p.m."""
        word, following, last = self.word(t), self.word(t + 1), self.word(found)
        if last == "$" or (word in ("a.m.", "p.m.", "am", "pm") and last[0].isdigit()):
            return True
        if not word[0].isdigit() or last in DETERMINERS or last in _SYMBOLS or is_adverb(last):
            return False
        is_year = len(word) == 4 and word.isdigit()
        if last in _MONTHS and not is_year:
            return False
        return not following or is_punctuation(following) or following in PREPOSITIONS
