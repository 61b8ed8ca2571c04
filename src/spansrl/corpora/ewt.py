"""The English Web Treebank PropBank, joined from two free sources.

PropBank's release has the propositions without words (``data/google/ewt/GENRE/NN/NAME.xml.gold_skel``) and the
split (``docs/evaluation/ewt.SPLIT.txt``); Universal Dependencies has the words, per document
(``not-to-release/sources/GENRE/NAME.xml.conllu``). Sentences are joined by position; where the two cut a text
differently, tokens are aligned by their tags (`alignment`) and the propositions moved onto the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path

from spansrl.corpora.alignment import Block, Token, align, one_to_one
from spansrl.corpora.audit import Audit
from spansrl.corpora.conllu import Word, WordSentence, read_conllu
from spansrl.corpora.sources import read_members
from spansrl.errors import DataError
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import phrases_from_column, proposition_parts

SPLITS = ("train", "dev", "test")

_SKELETON = re.compile(r"(?:^|/)google/ewt/([^/]+)/([^/]+)/([^/]+\.xml)\.gold_skel$")
_LIST = re.compile(r"(?:^|/)docs/evaluation/ewt\.(train|dev|test)\.txt$")
_WORDS = re.compile(r"(?:^|/)not-to-release/sources/([^/]+)/([^/]+\.xml)\.conllu$")

def build(propbank: Path, ud: Path) -> tuple[dict[str, Iterator[Sentence]], Audit]:
    audit = Audit("ewt", SPLITS)
    skels: dict[str, bytes] = {}
    lists: dict[str, list[str]] = {}
    for name, content in read_members(propbank, lambda name: bool(_SKELETON.search(name) or _LIST.search(name))):
        if m := _LIST.search(name):
            lists[m[1]] = [line.strip().removesuffix(".conllu") for line in content.decode().splitlines() if line.strip()]
        elif m := _SKELETON.search(name):
            skels[f"{m[1]}/{m[2]}/{m[3]}"] = content
    words: dict[str, bytes] = {}
    for name, content in read_members(ud, lambda name: bool(_WORDS.search(name))):
        m = _WORDS.search(name)
        words[f"{m[1]}/{m[2]}"] = content
    return {split: _split(lists[split], skels, words, audit) for split in SPLITS}, audit

def _split(names, skels, words, audit):
    for name in names:
        if name not in skels:
            audit.drop("document", name, "listed, but without annotation in PropBank")
            continue
        genre, _, base = name.split("/")
        doc = f"{genre}/{base}"
        skel = list(read_skel(skels[name].decode(), doc))
        ud = list(read_conllu(words[doc].decode().splitlines(), doc))
        yield from join_document(doc, skel, ud, audit)

def read_skel(text, doc):
    for n, chunk in enumerate(c for c in re.split(r"\n\s*\n", text) if c.strip()):
        rows = [l.split() for l in chunk.split("\n") if l.strip()]
        props=[]
        for row in rows: row
        preds=[i for i,r in enumerate(rows) if r[7]!='-']
        cols=list(zip(*rows))[8:]
        assert len(cols)==len(preds)
        for p,c in zip(preds,cols):
            v,args=proposition_parts(phrases_from_column(c))
            props.append(Proposition(p,args,rows[p][6],rows[p][7],None if v==(Span(p,p+1),) else v))
        yield Sentence(tuple(r[3] for r in rows),tuple(props),id=f"{doc}#{rows[0][1]}",pos=tuple(r[4] for r in rows))


@dataclass(frozen=True, slots=True)
class _Pair:
    """One skeleton sentence, the words that are its own, and how the two correspond."""

    skeleton: Sentence
    words: WordSentence
    ids: tuple[str, ...]
    blocks: list[Block]


def join_document(
    doc: str, skeletons: Sequence[Sentence], sentences: Sequence[WordSentence], audit: Audit
) -> Iterator[Sentence]:
    """The skeletons of one document with their words."""
    for pair in _pairs(doc, skeletons, sentences, audit):
        yield _joined(doc, pair, audit)


def _pairs(doc, skeletons, sentences, audit) -> Iterator[_Pair]:
    if len(skeletons) == len(sentences):
        for skeleton, sent in zip(skeletons, sentences, strict=True):
            yield _pair(skeleton, sent, audit)
        return
    left = [skeleton.pos for skeleton in skeletons]
    right = [tuple(word.tag for word in sent.words) for sent in sentences]
    for _, i, i_end, j, j_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if i_end - i == j_end - j:
            for skeleton, sent in zip(skeletons[i:i_end], sentences[j:j_end], strict=True):
                yield _pair(skeleton, sent, audit)
        else:
            yield from _regrouped(doc, skeletons[i:i_end], sentences[j:j_end], audit)


def _pair(skeleton, sent, audit):
    if len(skeleton) == len(sent.words):
        blocks = one_to_one(len(skeleton))
    else:
        blocks = align(_skeleton_tokens(skeleton), _word_tokens(sent.words))
        audit.repair("sentence", skeleton.id, "tokens aligned by their tags")
    return _Pair(skeleton, sent, (sent.id,), blocks)


def _regrouped(doc, skeletons, sentences, audit):
    """Sentences that were cut otherwise"""
    joined = _concatenated(sentences)
    if not skeletons:
        for s in sentences: audit.drop("words", s.id, "no skeleton")
        return
    tokens = list(chain.from_iterable(_skeleton_tokens(s) for s in skeletons))
    blocks = align(tokens, _word_tokens(joined.words))
    start = 0
    for skeleton in skeletons:
        end = start + len(skeleton)
        own = [b for b in blocks if start <= b.left.start and b.left.end <= end and b.left.start < b.left.end]
        lo = own[0].right.start; hi = own[-1].right.end
        if lo == hi:
            audit.drop("sentence", skeleton.id, "no words in UD")
        else:
            audit.repair("sentence", skeleton.id, "sentences aligned")
            own = [Block(Span(b.left.start-start,b.left.end-start),Span(b.right.start-lo,b.right.end-lo)) for b in own]
            yield _Pair(skeleton, _slice(joined, lo, hi), tuple(s.id for s in sentences), own)
        start = end

def _concatenated(sentences):
    out = WordSentence(newpar=bool(sentences) and sentences[0].newpar)
    gap = ""
    for s in sentences:
        out.text += gap; n = len(out.text)
        out.words += [Word(w.form,w.lemma,w.tag,w.start+n,w.end+n,w.glued) for w in s.words]
        out.text += s.text; gap = s.space_after
    return out

def _slice(sent, lo, hi):
    a, b = sent.words[lo].start, sent.words[hi-1].end
    return WordSentence(newpar=sent.newpar and lo==0, text=sent.text[a:b], words=[Word(w.form,w.lemma,w.tag,w.start-a,w.end-a,w.glued) for w in sent.words[lo:hi]])

def _skeleton_tokens(skeleton):
    lemmas = {prop.pred: prop.lemma for prop in skeleton.props}
    return [Token(tag, lemmas.get(k)) for k, tag in enumerate(skeleton.pos or ())]


def _word_tokens(words):
    return [Token(word.tag, word.lemma, word.form, word.glued) for word in words]


def _joined(doc, pair, audit):
    words = pair.words.words
    props = []
    for prop in pair.skeleton.props:
        m = _moved(prop, pair)
        if isinstance(m, str): audit.drop("proposition", f"{pair.skeleton.id}:{prop.pred}", m)
        else: props.append(m)
    return Sentence(
        id=pair.skeleton.id,
        tokens=tuple(word.form for word in words),
        pos=tuple(word.tag for word in words),
        lemmas=tuple(word.lemma for word in words),
        text=pair.words.text,
        offsets=tuple((word.start, word.end) for word in words),
        props=tuple(props),
        extra={"doc": doc, "ud": list(pair.ids)} | ({"newpar": True} if pair.words.newpar else {}),
    )

def _moved(prop, pair):
    where = {}
    for b in pair.blocks:
        for k in range(*b.left): where[k] = b.right
    def mv(span):
        return Span(where[span.start].start, where[span.end-1].end)
    words = pair.words.words
    cand = range(*where[prop.pred])
    if not cand: return "predicate has no word"
    tag = pair.skeleton.pos[prop.pred]
    pred = next((k for k in cand if words[k].tag == tag), cand[0])
    v = tuple(mv(s) for s in prop.verb_spans)
    args = tuple(Argument(a.role, mv(a.span)) for a in prop.args)
    taken = sorted([*v, *(a.span for a in args)])
    if any(a.end > b.start for a, b in zip(taken, taken[1:])): return "overlap"
    if any(a.end<=a.start for a in taken): return "empty"
    return Proposition(pred, args, prop.lemma, prop.sense, None if v == (Span(pred, pred+1),) else v)
