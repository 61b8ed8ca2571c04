"""Precision and recall of statements on sentences of our own, for models and for simpler tables.

    python experiments/score_statements.py --part dev
    python experiments/score_statements.py --part test --model small --model large --out scores.json

Sentences with odd numbers are the development part. A statement is right if subject, relation, object and
negation are those of the gold statement. A subject or an object is right if its head is the same or if at
least half of the words are, without determiners and prepositions; a relation is right if verb and particle
are, whatever the preposition. Only statements of verbs are compared: nouns and adjectives have no gold.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import spansrl
from spansrl.language.english import phrases
from spansrl.language.english.phrases import PhraseParse
from spansrl.structures import Sentence, Span

HERE = Path(__file__).parent / "statements"
PARTICLES = {"up", "down", "out", "off"}  # more often particles than prepositions
FLAGS = ("said", "if", "want", "ask", "order")
CONTEXTS = {"said": "said", "if": "if", "want": "want", "ask": "question", "order": "imperative", "": None}


class Row(NamedTuple):
    """One statement; alternatives where gold has several."""

    subject: tuple[str, ...]
    relation: tuple[str, ...]
    object: tuple[str, ...]
    negated: tuple[bool, ...]
    context: tuple[str | None, ...] = (None,)
    heads: tuple[str, str] = ("", "")  # of subject and object, where the system knows them


def read(path: Path) -> dict[str, tuple[str, list[Row]]]:
    """Sentences with their statements by name."""
    found: dict[str, tuple[str, list[Row]]] = {}
    rows: list[Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# "):
            name, _, text = line[2:].partition(" ")
            found[name] = (text, rows := [])
        elif line.strip():
            fields = (
                line.split(" | ")
                if line.rstrip().endswith("|") is False
                else (line.rstrip()[:-1].split(" | "))
            )
            fields = [field.strip() for field in fields] + [""] * (4 - len(fields))
            if len(fields) != 4:
                raise SystemExit(f"{path}:{number}: expected subject | relation | object | flags")
            subject, relation, obj = (tuple(one.strip() for one in field.split("//")) for field in fields[:3])
            flags = [one.split() for one in fields[3].split("//")]
            contexts = tuple(next((CONTEXTS[f] for f in FLAGS if f in one), None) for one in flags)
            rows.append(Row(subject, relation, obj, tuple("neg" in one for one in flags), contexts))
    return found


def content(text: str) -> set[str]:
    dropped = phrases.DETERMINERS | phrases.PREPOSITIONS | {"to", "and", "or", ",", "that"}
    words = {word.strip(".,!?\"'").lower() for word in text.replace("'s", " 's").split()}
    return (words - dropped) or words


def same_part(gold: Iterable[str], own: str, head: str) -> bool:
    return any(_same(one, own, head) for one in gold)


def _same(gold: str, own: str, head: str) -> bool:
    if "-" in (gold, own) or not own:
        return gold == (own or "-")
    words = gold.split()
    if head and words[PhraseParse(words, Span(0, len(words)), {}).head].strip(".,").lower() == head.lower():
        return True
    left, right = content(gold), content(own)
    return 2 * len(left & right) >= len(left) + len(right) - len(left & right) and bool(left & right)


def same_relation(gold: Iterable[str], own: str) -> bool:
    return any(_core(one) == _core(own) for one in gold)


def _core(relation: str) -> list[str]:
    words = relation.lower().split()
    while len(words) > 1 and words[-1] in (phrases.PREPOSITIONS | {"to"}) - PARTICLES:
        words.pop()
    return words


def matches(gold: Row, own: Row, *, negation: bool = True) -> bool:
    return (
        same_relation(gold.relation, own.relation[0])
        and same_part(gold.subject, own.subject[0], own.heads[0])
        and same_part(gold.object, own.object[0], own.heads[1])
        and (not negation or own.negated[0] in gold.negated)
    )


def statements(sent: Sentence) -> Iterator[Row]:
    for one in sent.statements():
        if one.prop.type == "verb":
            subject, found = one.subject, one.object
            heads = (subject.head if subject else "", found.head if found else "")
            yield Row(
                (str(subject or "-"),),
                (one.relation,),
                (str(found or "-"),),
                (one.negated,),
                (one.context,),
                heads,
            )


def naive(sent: Sentence) -> Iterator[Row]:
    """ARG0, lemma and ARG1: the table that users make by hand."""
    for prop in sent.props:
        roles = {arg.role: arg for arg in prop.args}
        subject, found = roles.get("ARG0"), roles.get("ARG1")
        if prop.type == "verb" and (subject or found):
            texts = tuple("-" if arg is None else arg.text for arg in (subject, found))
            heads = tuple("" if arg is None else arg.head for arg in (subject, found))
            yield Row((texts[0],), (prop.lemma or "",), (texts[1],), (False,), (None,), (heads[0], heads[1]))


def nearest(sent: Sentence) -> Iterator[Row]:
    """The noun phrases before and after a verb, as patterns over parts of speech find them."""
    types = {prop.pred: prop.type or "verb" for prop in sent.props}
    lower = [token.lower() for token in sent.tokens]
    for prop in sent.props:
        if prop.type == "verb":
            left = prop.pred
            while left and (lower[left - 1] in phrases.AUXILIARY_FORMS | {"to", "not", "n't", "never"}):
                left -= 1
            begin = left
            while begin and not (phrases.is_punctuation(lower[begin - 1]) or (begin - 1) in types):
                begin -= 1
            right = prop.pred + 1
            after = right
            while after < len(sent) and not (
                phrases.is_punctuation(lower[after]) or types.get(after) == "verb"
            ):
                after += 1
            subject, found = (
                PhraseParse(sent.tokens, Span(*span), types) if span[0] < span[1] else None
                for span in ((begin, left), (right, after))
            )
            cells = [
                ("-", "")
                if one is None
                else (" ".join(sent.tokens[slice(*one.short())]), sent.tokens[one.head])
                for one in (subject, found)
            ]
            negated = bool({"not", "n't", "never"} & set(lower[left : prop.pred]))
            yield Row(
                (cells[0][0],),
                (prop.lemma or "",),
                (cells[1][0],),
                (negated,),
                (None,),
                (cells[0][1], cells[1][1]),
            )


def score(
    gold: dict[str, tuple[str, list[Row]]],
    own: dict[str, list[Row]],
    show: bool = False,
    negation: bool = True,
) -> dict[str, float]:
    right = found = wanted = contexts = 0
    for name, (text, rows) in gold.items():
        left, missed = list(own[name]), []
        wanted, found = wanted + len(rows), found + len(left)
        for row in rows:
            match = next((one for one in left if matches(row, one, negation=negation)), None)
            if match is None:
                missed.append(row)
            else:
                left.remove(match)
                right += 1
                contexts += match.context[0] in row.context
        if show and (missed or left):
            print(f"# {name} {text}")
            for mark, rest in (("-", missed), ("+", left)):
                for row in rest:
                    cells = (row.subject, row.relation, row.object, ["neg" if n else "" for n in row.negated])
                    print(f"   {mark}", " | ".join(" // ".join(cell) for cell in cells))
    precision, recall = right / max(1, found), right / max(1, wanted)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    out = {"gold": wanted, "found": found, "right": right, "precision": precision, "recall": recall, "f1": f1}
    return out | {"context": contexts / max(1, right)}


SYSTEMS: dict[str, Callable[[Sentence], Iterator[Row]]] = {
    "statements": statements,
    "ARG0 – V – ARG1": naive,
    "nearest noun phrases": nearest,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gold", type=Path, default=HERE / "gold.txt")
    parser.add_argument("--part", choices=("dev", "test", "all"), default="dev")
    parser.add_argument("--model", action="append", help="[default: small]")
    parser.add_argument("--against", type=Path, help="a second annotation, to state the agreement")
    parser.add_argument("--show", action="store_true", help="print what is missed (-) and what is wrong (+)")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    odd = {"dev": (1,), "test": (0,), "all": (0, 1)}[given.part]
    gold = {name: own for name, own in read(given.gold).items() if int(name[-2:]) % 2 in odd}
    table: dict[str, dict[str, float]] = {}
    if given.against:
        other = {name: rows for name, (_, rows) in read(given.against).items() if name in gold}
        table["second annotation"] = score(gold, other, given.show)
    for model in [] if given.against else given.model or ["small"]:
        srl = spansrl.load(model, threads=1)
        labeled = {name: srl(text).sentences for name, (text, _) in gold.items()}
        for system, rows in SYSTEMS.items():
            own = {name: [row for sent in sents for row in rows(sent)] for name, sents in labeled.items()}
            table[f"{Path(model).name}: {system}"] = score(gold, own, given.show and system == "statements")
    print(f"{'':40} {'gold':>5} {'found':>5} {'right':>5} {'prec.':>6} {'rec.':>6} {'F1':>6} {'context':>7}")
    for name, one in table.items():
        counts = " ".join(f"{one[key]:5.0f}" for key in ("gold", "found", "right"))
        rates = " ".join(f"{100 * one[key]:6.2f}" for key in ("precision", "recall", "f1", "context"))
        print(f"{name:40} {counts} {rates}")
    if given.out:
        rounded = {name: {key: round(value, 4) for key, value in one.items()} for name, one in table.items()}
        given.out.write_text(json.dumps({"part": given.part, "scores": rounded}, indent=1) + "\n")


if __name__ == "__main__":
    main()
