"""The statement of a proposition, by rules. docs/statements.md has each rule with an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from spansrl.inventory.frame_index import propbank_role
from spansrl.language.english import phrases
from spansrl.language.english.lemmas import predicate_type
from spansrl.language.english.phrases import PhraseParse
from spansrl.statements.values import Part, Statement
from spansrl.structures import Argument, Proposition, Sentence, Span, Words

_CAUSES = ("CAU", "PRP", "PNC")
_GOALS = ("GOL", "DIR", "LOC")
_SUBORDINATE = ("to", "than")
_PREPOSITION_OF = {"where": "in", "here": "", "there": ""}


@lru_cache(maxsize=1024)
def tag(role: str) -> str:
    """The name of a role without prefixes: TMP for ARGM-TMP and AM-TMP, 0 for ARG0 and R-A0."""
    return (
        propbank_role(role)
        .base.removeprefix("ARGM-")
        .removeprefix("AM-")
        .removeprefix("ARG")
        .removeprefix("A")
    )


@lru_cache(maxsize=1024)
def is_core(role: str) -> bool:
    return propbank_role(propbank_role(role).base).is_core


def base_role(role: str) -> str:
    return propbank_role(role).base


class SentenceView:
    """A sentence with its propositions, their types and how its spans read."""

    def __init__(self, words: Words, props: Sequence[Proposition]) -> None:
        self.words, self.props = words, props
        self.lower = [token.lower().replace("’", "'") for token in words.tokens]
        self.size = len(self.lower)
        self._parses: dict[Span, PhraseParse] = {}
        self._drafts: dict[int, Draft] = {}

    @cached_property
    def is_question(self) -> bool:
        closing = ("'", '"', "”", "’", "''", ")")
        return next((word for word in reversed(self.lower) if word not in closing), "") == "?"

    @cached_property
    def types(self) -> Mapping[int, str]:
        sent = Sentence(self.words.tokens, pos=self.words.pos)
        first = self.words.first
        return {prop.pred - first: predicate_type(sent, prop) or "verb" for prop in self.props}

    def parse(self, span: Span) -> PhraseParse:
        if span not in self._parses:
            self._parses[span] = PhraseParse(self.words.tokens, span, self.types)
        return self._parses[span]

    def word(self, t: int) -> str:
        return self.lower[t] if 0 <= t < self.size else ""

    @cached_property
    def drafts(self) -> dict[int, Draft]:
        """The propositions by predicate, before statements borrow from each other."""
        return {prop.pred: self.draft(prop) for prop in self.props}

    def draft(self, prop: Proposition) -> Draft:
        if prop.pred not in self._drafts:
            self._drafts[prop.pred] = Draft(self, prop)
        return self._drafts[prop.pred]


class Draft:
    """A proposition on its way to a statement."""

    def __init__(self, view: SentenceView, prop: Proposition) -> None:
        self.view, self.prop, self.pred = view, prop, prop.pred
        self.type = view.types.get(prop.pred, "verb")
        self.word = view.word(prop.pred)
        sense = (prop.sense or "").rpartition(".")[0]
        self.lemma = (prop.lemma or sense or self.word).split("_")[0]  # without particles
        self.roles = dict(self._parts())
        self.by_tag: dict[str, Part] = {}
        for part in self.roles.values():
            self.by_tag.setdefault(tag(part.role), part)
        self.particles = self._particles()
        core = [part for part in self.roles.values() if is_core(part.role) or tag(part.role) in ("A", "GA")]
        self.core = sorted(core, key=lambda part: tag(part.role).replace("GA", "0").replace("A", "0"))
        self.auxiliaries = self._auxiliaries()
        self.passive = self.type == "verb" and self._is_passive()
        self.subject, self.object = self._subject_and_object()

    def _parts(self) -> Iterator[tuple[str, Part]]:
        """One part per role: continuations are merged, relative pronouns replaced by what they refer to."""
        pieces: dict[str, list[Argument]] = {}
        relatives: dict[str, Argument] = {}
        for arg in self.prop.args:
            if arg.role.startswith("R-"):
                relatives[base_role(arg.role)] = arg
            elif arg.role.startswith("C-") and base_role(arg.role) in pieces:
                before = pieces[base_role(arg.role)][0].end <= self.pred < arg.start
                infinitive = self.view.word(arg.start) == "to" and self.view.parse(arg.span).clause
                if before and (infinitive or self.lemma in phrases.RAISING):
                    pieces[arg.role] = [arg]  # "He seems to sleep": subject and object
                else:
                    pieces[base_role(arg.role)].append(arg)
            else:
                same = sum(role.split("#")[0] == arg.role for role in pieces)
                pieces[arg.role + (f"#{same}" if same else "")] = [arg]
        for role, arg in relatives.items():
            if "whose" in (self.view.word(t) for t in range(*arg.span)):
                pieces[role] = [arg]  # "vans whose brakes fail": not the vans
            pieces.setdefault(role, [arg])
        for role, args in sorted(pieces.items(), key=lambda item: item[1][0].start):
            relative = relatives.get(role)
            mark = None
            if relative is not None and relative is not args[0]:
                parse = self.view.parse(relative.span)
                mark = " ".join(parse.marks) or _PREPOSITION_OF.get(parse.word(parse.head), "")
            yield role, self.part(args, role.split("#")[0], mark)

    def part(self, args: Sequence[Argument], role: str, mark: str | None = None) -> Part:
        first = args[0]
        parse = self.view.parse(first.span)
        whole = parse.noun_phrase()
        pieces = parse.conjuncts(whole)
        spans = (
            Span(whole.start, whole.end if len(args) == 1 else first.end),
            *(arg.span for arg in args[1:]),
        )
        marks = parse.marks if mark is None else mark.split()
        word = parse.word(parse.head)
        person = "speaker" if word in phrases.SPEAKER else "hearer" if word in phrases.HEARER else None
        refers_to = first.refers_to or (person if parse.pronoun else None)
        probs = [arg.prob for arg in args if arg.prob is not None]
        return Part.of(
            self.view.words,
            spans,
            role=base_role(role),
            head=parse.head,
            short=(parse.short(pieces), *spans[1:]),
            conjuncts=pieces if len(args) == 1 else (),
            preposition=" ".join(mark for mark in marks if mark in phrases.PREPOSITIONS or mark == "out"),
            is_pronoun=parse.pronoun and len(args) == 1,
            is_clause=parse.clause,
            refers_to=refers_to,
            prob=min(probs) if probs else None,
        )

    def get(self, *tags: str) -> Part | None:
        """The first part whose role has one of these tags, in this order."""
        return next((self.by_tag[name] for name in tags if name in self.by_tag), None)

    def _particles(self) -> list[str]:
        found = [self.view.word(t) for span in self.prop.verb_spans for t in range(*span) if t != self.pred]
        if found or self.type != "verb":
            return found
        for role, part in list(self.roles.items()):
            is_particle = part.end == part.start + 1 and self.view.word(part.start) in phrases.PARTICLES
            if is_particle and tag(role) in ("DIR", "GOL", "ADV", "PRD", "2", "4") and part.start > self.pred:
                del self.roles[role]
                self.by_tag = {tag(own.role): own for own in reversed(self.roles.values())}
                return [self.view.word(part.start)]
        # A particle without a label, at the end of a clause: "turned the lights off".
        ends = [self.pred + 1, *(part.end for part in self.roles.values() if part.start == self.pred + 1)]
        taken = {t for part in self.roles.values() for t in range(part.start, part.end)}
        for t in ends:
            ends_clause = phrases.ends_clause(self.view.word(t + 1))
            if self.view.word(t) in phrases.PARTICLES and t not in taken and ends_clause:
                return [self.view.word(t)]
        return []

    def _auxiliaries(self) -> list[int]:
        """The helping verbs, "to" and negations before the verb, from right to left."""
        found, t = [], self.pred - 1
        while t >= 0 and self.pred - t < 8:
            word = self.view.word(t)
            helps = word in phrases.AUXILIARY_FORMS and self.view.types.get(t, "auxiliary") != "noun"
            if helps or word in ("get", "gets", "got", "getting", "to") or word in phrases.NEGATIONS:
                found.append(t)
            elif not (phrases.is_adverb(word) or word in ("'", '"', "longer")):
                is_subject = any(
                    part.start <= t < part.end and part.end - part.start < 7 and t == part.end - 1
                    for part in self.core
                )
                before = min((part.start for part in self.core if part.start <= t < part.end), default=0) - 1
                if is_subject and not found and self.view.word(before) in phrases.AUXILIARY_FORMS:
                    t = before  # inverted: "has the dog eaten"
                    continue
                break
            t -= 1
        return found

    def _is_passive(self) -> bool:
        word = self.word
        is_regular = word.endswith("ed")
        if word.endswith("ing") or (not is_regular and word in phrases.AUXILIARY_FORMS):
            return False
        if not (is_regular or phrases.is_participle(word)):
            return False
        verbs = [
            self.view.word(t) for t in self.auxiliaries if self.view.word(t) not in phrases.NEGATIONS | {"to"}
        ]
        if verbs:
            return verbs[0] in phrases.BE | {"get", "gets", "got", "getting", "been"}
        agent = self.get("0")
        if agent is not None:
            return agent.start > self.pred and agent.preposition == "by"
        if self._follows_passive():
            return True
        first = self.pred
        while first and (
            phrases.is_adverb(self.view.word(first - 1)) or self.view.word(first - 1) == "first"
        ):
            first -= 1
        begins = not self.auxiliaries and (first == 0 or phrases.is_punctuation(self.view.word(first - 1)))
        if begins and self.view.word(self.pred + 1) in phrases.PREPOSITIONS:
            return all(part.start > self.pred or part.end == first - 1 for part in self.core[:1])
        cores = self.core
        follows = any(part.end in (self.pred, self.pred - 1) for part in cores[:1])
        return follows and (
            (not is_regular and phrases.is_only_participle(word)) or self._is_reduced(cores[0])
        )

    def _follows_passive(self) -> bool:
        """Whether the participle is coordinated with a passive: "was caught and sold"."""
        start = self.pred
        while start and phrases.is_adverb(self.view.word(start - 1)):
            start -= 1
        if self.view.word(start - 1) not in ("and", "or", "but"):
            return False
        earlier = [
            prop for prop in self.view.props if prop.pred < start and self.view.types[prop.pred] == "verb"
        ]
        return bool(earlier) and self.view.draft(earlier[-1]).passive

    def _is_reduced(self, part: Part) -> bool:
        """Whether an argument of another predicate covers the noun and the participle after it."""
        return any(
            arg.start <= part.start and self.pred < arg.end and not self.view.parse(arg.span).clause
            for prop in self.view.props
            if prop.pred != self.pred
            for arg in prop.args
        )

    def _subject_and_object(self) -> tuple[Part | None, Part | None]:
        core = self.core
        if self.type != "verb":
            return self._of_noun_or_adjective(core)
        agent = core[0] if core and tag(core[0].role) in ("0", "A", "GA") else None
        if agent is not None:
            return agent, self._first_object([part for part in core if part is not agent])
        before = [part for part in core if part.start < self.pred]
        exists = self.is_existential
        subject = before[0] if before and not exists else core[0] if core and exists else None
        if subject is None and self.passive and core and not core[0].preposition:
            subject = core[0]  # "Named after its founder, the museum …"
        return subject, self._first_object([part for part in core if part is not subject])

    def _first_object(self, core: Sequence[Part]) -> Part | None:
        """The next core argument, but a person rather than what the person is asked to do; or a place."""
        core = [
            part for part in core if not (part.end == part.start + 1 and part.text.endswith("ly"))
        ]  # "rose sharply"
        if not core:
            return self._place()
        if self.view.word(core[0].start) == "to" and core[0].is_clause:
            bare = (part for part in core[1:] if not part.preposition and not part.is_clause)
            return next((part for part in bare if part.start > self.pred), core[0])
        return core[0]

    def _of_noun_or_adjective(self, core: Sequence[Part]) -> tuple[Part | None, Part | None]:
        if self.type == "adjective":
            bare = [part for part in core if not part.preposition and not part.is_clause] or list(core)
            subject = bare[0] if bare else None
            rest = [part for part in core if part is not subject]
            return subject, rest[0] if rest else None
        agent = self.get("0")
        rest = [part for part in core if part is not agent]
        return agent, rest[0] if rest else None

    def _place(self) -> Part | None:
        """A goal, source or place as the object of a verb that has no other: "walk to the store"."""
        for name in _GOALS:
            part = self.get(name)
            if part is not None and part.preposition and not part.is_clause:
                return part
        return None

    @cached_property
    def is_existential(self) -> bool:
        if self.lemma != "be":
            return False
        near = [*range(max(0, self.pred - 3), self.pred), self.pred + 1]
        found = [t for t in near if self.view.word(t) == "there"]
        return any(not any(part.start <= t < part.end for part in self.roles.values()) for t in found)

    @property
    def is_negated(self) -> bool:
        words = ((self.view.word(t), self.view.word(t + 1)) for t in self.auxiliaries)
        nearby = {word for word, following in words if word != "no" or following == "longer"}
        start = min([self.pred, *self.auxiliaries])
        if nearby & phrases.NEGATIONS or self.view.word(start - 1) in ("neither", "nor", "without"):
            return True
        if self.word in phrases.AUXILIARY_FORMS and self.view.word(self.pred + 1) in ("not", "n't", "never"):
            return True
        for part in self.roles.values():
            first = self.view.word(part.start)
            if tag(part.role) in ("NEG",) or (
                tag(part.role) in ("TMP", "ADV", "EXT", "MNR") and first in phrases.NEGATIONS
            ):
                return True
        return any(
            part is not None
            and (self.view.word(part.start) in phrases.NEGATIVE_DETERMINERS)
            and not part.is_clause
            for part in (self.subject, self.object)
        )

    @property
    def modal(self) -> str | None:
        found = self.get("MOD")
        if found is not None:
            return phrases.MODAL_FORMS.get(found.text.lower(), found.text.lower())
        words = (self.view.word(t) for t in self.auxiliaries)
        return next((phrases.MODAL_FORMS.get(word, word) for word in words if word in phrases.MODALS), None)

    @property
    def relation(self) -> str:
        words = [self.lemma, *self.particles]
        light = self.get("LVB")
        if self.type == "adjective":
            words = ["be", self.word]
        elif light is not None and light.start in self.view.drafts:  # "took a look"
            between = [self.view.word(t) for t in range(light.end, self.pred)]
            words = [self.view.drafts[light.start].lemma, *(between if len(between) < 3 else ()), self.word]
        elif self.is_existential:
            words = ["exist"]
        elif self.passive and (self.subject is None or tag(self.subject.role) not in ("0", "A", "GA")):
            words[:1] = ["be", self.word]
        found = self.object
        if found is not None and found.preposition and tag(found.role) != "0":
            if self.is_existential and tag(found.role) in _GOALS:
                words = ["be"]
            words += found.preposition.split()
        return " ".join(words)


def statement_in(
    view: SentenceView, prop: Proposition, number: int = 0, document: str | None = None
) -> Statement:
    """The statement of one of the view's propositions."""
    draft = view.drafts[prop.pred]
    subject = draft.subject or _borrowed_subject(view, draft, set())
    found, used = draft.object, {id(draft.subject), id(draft.object)}
    place = draft.get("LOC")
    named: dict[str, Any] = {
        "time": draft.get("TMP"),
        "place": place,
        "manner": draft.get("MNR"),
        "cause": draft.get(*_CAUSES),
    }
    used |= {id(part) for part in named.values()}
    hidden = ("NEG", "MOD", "DIS", "PRR", "LVB")
    others = (part for part in draft.roles.values() if id(part) not in used and tag(part.role) not in hidden)
    words = view.words
    span: tuple[int | None, int | None] = (None, None)
    if words.offsets is not None:
        base = words.char_start or 0
        start, end = prop.verb_spans[0] if prop.verb_spans else (prop.pred, prop.pred + 1)
        span = base + words.offsets[start][0], base + words.offsets[end - 1][1]
    probs = [prop.prob, *(part.prob for part in (subject, found) if part is not None)]
    prob = 1.0
    for one in probs:
        prob *= 1.0 if one is None else float(one)
    voice = None if draft.type != "verb" else "passive" if draft.passive else "active"
    context, denied_by = _context(view, draft, subject)
    return Statement(
        prop,
        subject,
        draft.relation,
        found,
        tuple(others),
        **named,
        negated=draft.is_negated,
        denied_by=denied_by,
        modal=draft.modal,
        voice=voice,
        context=context,
        prob=None if all(one is None for one in probs) else prob,
        relation_span=span,
        id=document,
        sentence=number,
        sentence_text=words.text if words.text is not None else " ".join(words.tokens),
    )


def _around(view: SentenceView, pred: int) -> list[tuple[Draft, Part]]:
    """The propositions with an argument around a predicate, from the inside out."""
    found = [
        (part.end - part.start, draft, part)
        for draft in view.drafts.values()
        if draft.pred != pred
        for part in draft.roles.values()
        if part.start <= pred < part.end and not part.start <= draft.pred < part.end
    ]
    return [(draft, part) for _, draft, part in sorted(found, key=lambda item: item[0])]


def _borrowed_subject(view: SentenceView, draft: Draft, seen: set[int]) -> Part | None:
    """The subject of an infinitive, a gerund or a coordinated verb that has none of its own."""
    if draft.type != "verb" or draft.pred in seen:
        return None
    seen.add(draft.pred)
    for outer, part in _around(view, draft.pred):
        if outer.type != "verb" or view.parse(Span(part.start, part.end)).head != draft.pred:
            continue
        if not (draft.word.endswith("ing") or "to" in (view.word(t) for t in draft.auxiliaries)):
            return None
        person = next((p for p in outer.core if p not in (part, outer.subject) and not p.is_clause), None)
        giver = outer.lemma in phrases.SUBJECT_CONTROL or (person is not None and person.preposition)
        if person is not None and not giver and person.start < draft.pred:
            return replace(person, borrowed=True)
        above = outer.subject or _borrowed_subject(view, outer, seen)
        return None if above is None or above is part else replace(above, borrowed=True)
    return _coordinated_subject(view, draft, seen)


def _coordinated_subject(view: SentenceView, draft: Draft, seen: set[int]) -> Part | None:
    start = min([draft.pred, *draft.auxiliaries])
    while start and phrases.is_adverb(view.word(start - 1)):
        start -= 1
    if view.word(start - 1) not in ("and", "or", "but", "then"):
        return None
    earlier = [other for other in view.drafts.values() if other.pred < start and other.type == "verb"]
    for other in reversed(earlier):
        same_form = other.word.endswith("ing") == draft.word.endswith("ing")
        if same_form:
            above = other.subject or _borrowed_subject(view, other, seen)
            return None if above is None else replace(above, borrowed=True)
    return None


def _context(view: SentenceView, draft: Draft, subject: Part | None) -> tuple[str | None, str | None]:
    """In what the statement is embedded, and the verb that denies it by its meaning."""
    context = denied_by = None
    is_relative = any(arg.role.startswith("R-") for arg in draft.prop.args)
    around = [] if is_relative else _around(view, draft.pred)
    for outer, part in around:
        parse = view.parse(Span(part.start, part.end))
        if (
            context is None
            and view.word(part.start) in ("if", "unless")
            and tag(part.role) in ("ADV", "CXN", "PRP")
        ):
            context = "if"
        if not (parse.clause or parse.head == draft.pred):
            continue
        is_content = is_core(part.role) or tag(part.role) in ("PRP", "DSP")
        if (
            outer.lemma in phrases.DENYING
            and is_core(part.role)
            and parse.head == draft.pred
            and ("that" not in parse.marks)
        ):
            denied_by = denied_by or outer.lemma
        if context is None and is_content and part is not outer.subject:
            infinitive = view.word(part.start) == "to" or "to" in (view.word(t) for t in draft.auxiliaries)
            if outer.lemma in phrases.WANTING and (infinitive or outer.lemma not in phrases.SAYING):
                context = "want"
            elif outer.lemma in phrases.SAYING and outer.lemma not in phrases.DENYING:
                context = "said"
    if context is None and _follows(view, draft, subject, ("if", "unless")):
        context = "if"
    if context is None and _is_imperative(view, draft, subject):
        context = "imperative"
    if context is None and view.is_question and not around and not is_relative:
        context = "question"
    return context, denied_by


def _follows(view: SentenceView, draft: Draft, subject: Part | None, words: Iterable[str]) -> bool:
    """Whether one of the words begins the verb's clause."""
    starts = [draft.pred, *draft.auxiliaries]
    if subject is not None and not subject.borrowed and subject.start < draft.pred:
        starts.append(subject.start)
    return view.word(min(starts) - 1) in words


def _is_imperative(view: SentenceView, draft: Draft, subject: Part | None) -> bool:
    if draft.type != "verb" or draft.word not in (draft.lemma, "let") or draft.get("0", "MOD") is not None:
        return False
    if subject is not None and not subject.borrowed:
        return False
    t = draft.pred - 1
    while t >= 0:
        word = view.word(t)
        part = next((p for p in draft.roles.values() if p.start <= t < p.end), None)
        if part is not None and tag(part.role) in ("TMP", "ADV", "PRP", "DIS", "MNR", "NEG", "LOC"):
            t = part.start - 1
        elif (
            phrases.is_adverb(word)
            or word in ("do", "please", "n't", "just")
            or (word == "," and any(p.end == t for p in draft.roles.values()))
        ):
            t -= 1
        elif phrases.is_punctuation(word):
            return word in (".", ":", ";", "!", "-", "–", '"', "“", "''", "``") or _is_imperative_before(
                view, t
            )
        elif word in ("and", "or", "but", "then"):
            return _is_imperative_before(view, t)
        else:
            return False
    return True


def _is_imperative_before(view: SentenceView, t: int) -> bool:
    """Whether the verb before the token is an imperative, or there is none."""
    earlier = [draft for draft in view.drafts.values() if draft.pred < t and draft.type == "verb"]
    return not earlier or any(_is_imperative(view, draft, draft.subject) for draft in earlier)
