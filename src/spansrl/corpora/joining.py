"""Propositions without words meet words without propositions: one document of each, joined.

Sentences are paired by position where both sides have equally many, else by their tags. In a pair of equal
length the tokens correspond by position too, unless their tags say that both sides were regrouped. Propositions
move along the alignment; one is lost only if a token that it needs has no word, or if two of its spans meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, pairwise

from spansrl.corpora.alignment import Block, Token, align, one_to_one
from spansrl.corpora.audit import DOCUMENT_KEY, Audit
from spansrl.corpora.conllu import Word, WordSentence, joined
from spansrl.errors import DataError
from spansrl.structures import Argument, Proposition, Sentence, Span

SOURCE_KEY = "ud"  # of Sentence.extra: ids of the sentences that the words come from
NEW_PARAGRAPH_KEY = "newpar"  # of Sentence.extra: true where the sentence begins a paragraph


class CannotMoveError(DataError):
    """A proposition has no place in the words."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A skeleton, the words that are its own, and which are which."""

    skeleton: Sentence
    words: WordSentence
    blocks: list[Block]


def join_document(
    document: str, skeletons: Sequence[Sentence], sentences: Sequence[WordSentence], audit: Audit
) -> Iterator[Sentence]:
    """The skeletons of one document with their words; what is lost or changed goes to the audit."""
    for pair in _pairs(skeletons, sentences, audit):
        yield _sentence(document, pair, audit)


def _pairs(skeletons: Sequence[Sentence], sentences: Sequence[WordSentence], audit: Audit) -> Iterator[Pair]:
    for lefts, rights in _groups(skeletons, sentences):
        if len(lefts) == len(rights):
            for skeleton, sent in zip(lefts, rights, strict=True):
                yield _pair(skeleton, sent, audit)
        elif not rights:
            for skeleton in lefts:
                audit.drop("sentence", _name(skeleton), "no words in Universal Dependencies")
        elif not lefts:
            for sent in rights:
                audit.drop("words", " ".join(sent.ids), "no skeleton in PropBank")
        else:
            yield from _regrouped(lefts, joined(rights), audit)


def _groups(
    skeletons: Sequence[Sentence], sentences: Sequence[WordSentence]
) -> Iterator[tuple[Sequence[Sentence], Sequence[WordSentence]]]:
    """Runs of sentences that belong together, in order."""
    if len(skeletons) == len(sentences):
        yield skeletons, sentences
        return
    left = [skeleton.pos for skeleton in skeletons]
    right = [tuple(word.tag for word in sent.words) for sent in sentences]
    for _, i, i_end, j, j_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield skeletons[i:i_end], sentences[j:j_end]


def _pair(skeleton: Sentence, sent: WordSentence, audit: Audit) -> Pair:
    tags = skeleton.pos or ()
    retagged = sum(tag != word.tag for tag, word in zip(tags, sent.words, strict=False))
    # One other tag is a correction; two or more may be a shift.
    if len(skeleton) == len(sent.words) and retagged < 2:
        return Pair(skeleton, sent, one_to_one(len(skeleton)))
    blocks = align(_skeleton_tokens(skeleton), _word_tokens(sent.words))
    if any(block.is_regrouped for block in blocks):
        audit.repair("sentence", _name(skeleton), "tokens were cut differently, aligned by tags")
    return Pair(skeleton, sent, blocks)


def _regrouped(skeletons: Sequence[Sentence], words: WordSentence, audit: Audit) -> Iterator[Pair]:
    """Skeletons that share their words with their neighbours, each with its own part of them."""
    tokens = list(chain.from_iterable(map(_skeleton_tokens, skeletons)))
    blocks = align(tokens, _word_tokens(words.words))
    start = 0
    for skeleton in skeletons:
        end = start + len(skeleton)
        own = [block for block in blocks if start <= block.left.start < block.left.end <= end]
        covered = [block.right for block in own if block.right.start < block.right.end]
        if covered:
            first, last = covered[0].start, covered[-1].end
            audit.repair("sentence", _name(skeleton), "sentences were cut differently, aligned by tags")
            moved = [block.shifted(-start, -first) for block in own]
            yield Pair(skeleton, words.part(first, last), moved)
        else:
            audit.drop("sentence", _name(skeleton), "no words in Universal Dependencies")
        start = end


def _sentence(document: str, pair: Pair, audit: Audit) -> Sentence:
    words = pair.words.words
    extra: dict[str, object] = {DOCUMENT_KEY: document, SOURCE_KEY: list(pair.words.ids)}
    if pair.words.newpar:
        extra[NEW_PARAGRAPH_KEY] = True
    return Sentence(
        tokens=tuple(word.form for word in words),
        props=tuple(_moved_propositions(pair, audit)),
        id=pair.skeleton.id,
        pos=tuple(word.tag for word in words),
        lemmas=tuple(word.lemma for word in words),
        text=pair.words.text,
        offsets=tuple((word.start, word.end) for word in words),
        extra=extra,
    )


def _moved_propositions(pair: Pair, audit: Audit) -> Iterator[Proposition]:
    block_of = {token: block for block in pair.blocks for token in range(*block.left)}
    for prop in pair.skeleton.props:
        where = f"{_name(pair.skeleton)}:{prop.pred}"
        try:
            yield _moved(prop, block_of, pair)
        except CannotMoveError as error:
            audit.drop("proposition", where, str(error))
            continue
        if any(_is_widened(span, block_of) for span in (*prop.verb_spans, *(arg.span for arg in prop.args))):
            audit.repair("proposition", where, "a span was widened to the whole of a word")


def _moved(prop: Proposition, block_of: dict[int, Block], pair: Pair) -> Proposition:
    pred = _moved_predicate(prop.pred, block_of, pair)
    verb = tuple(_moved_span(span, block_of) for span in prop.verb_spans)
    args = tuple(Argument(arg.role, _moved_span(arg.span, block_of)) for arg in prop.args)
    spans = sorted((*verb, *(arg.span for arg in args)))
    if any(one.end > other.start for one, other in pairwise(spans)):
        raise CannotMoveError("two of its spans share a word")
    v = None if verb == (Span(pred, pred + 1),) else verb
    return Proposition(pred, args, lemma=prop.lemma, sense=prop.sense, v=v)


def _moved_span(span: Span, block_of: dict[int, Block]) -> Span:
    first, last = _right(span.start, block_of), _right(span.end - 1, block_of)
    return Span(first.start, last.end)


def _moved_predicate(pred: int, block_of: dict[int, Block], pair: Pair) -> int:
    """Of several words for one token, that with its tag, or the first."""
    candidates = range(*_right(pred, block_of))
    tag = (pair.skeleton.pos or ())[pred]
    return next((place for place in candidates if pair.words.words[place].tag == tag), candidates[0])


def _right(token: int, block_of: dict[int, Block]) -> Span:
    """The words of the block that a token is in."""
    block = block_of.get(token)
    if block is None or block.right.start == block.right.end:
        raise CannotMoveError("a token that it needs has no word")
    return block.right


def _is_widened(span: Span, block_of: dict[int, Block]) -> bool:
    return block_of[span.start].left.start < span.start or block_of[span.end - 1].left.end > span.end


def _skeleton_tokens(skeleton: Sentence) -> list[Token]:
    lemmas = {prop.pred: prop.lemma for prop in skeleton.props}
    return [Token(tag, lemmas.get(place)) for place, tag in enumerate(skeleton.pos or ())]


def _word_tokens(words: Sequence[Word]) -> list[Token]:
    return [Token(word.tag, word.lemma, word.form, word.glued) for word in words]


def _name(skeleton: Sentence) -> str:
    return skeleton.id or "?"
