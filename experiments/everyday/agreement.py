"""Agreement of the two annotations of the everyday set, by predicate, sense and argument."""

from __future__ import annotations

from pathlib import Path

from spansrl.formats import read_sentences

HERE = Path(__file__).parent


def f1(common: int, first: int, second: int) -> float:
    return 100 * 2 * common / (first + second)


def main() -> None:
    first, second = (list(read_sentences(HERE / f"annotation-{name}.jsonl")) for name in "ab")
    pairs = list(zip(first, second, strict=True))
    preds = [({p.pred: p for p in a.props}, {p.pred: p for p in b.props}) for a, b in pairs]
    args = [
        tuple({(p.pred, arg.role, arg.span) for p in props.values() for arg in p.args} for props in both)
        for both in preds
    ]
    common = [(a[k], b[k]) for a, b in preds for k in a.keys() & b.keys()]
    same_sense = sum(a.sense == b.sense for a, b in common)
    print(f"sentences            {len(pairs)}")
    sizes = [sum(len(both[k]) for both in preds) for k in (0, 1)]
    print(f"predicates           {f1(len(common), *sizes):.2f} F1")
    print(f"senses               {100 * same_sense / len(common):.2f} % of common predicates")
    shared = sum(len(a & b) for a, b in args)
    sizes = [sum(len(both[k]) for both in args) for k in (0, 1)]
    print(f"arguments            {f1(shared, *sizes):.2f} F1")
    senses = [{(k, p.sense) for k, p in a.items()} == {(k, p.sense) for k, p in b.items()} for a, b in preds]
    differ = [a.id for (a, _), (x, y), same in zip(pairs, args, senses, strict=True) if x != y or not same]
    print(f"identical sentences  {len(pairs) - len(differ)}")
    print(f"differing            {' '.join(map(str, differ))}")


if __name__ == "__main__":
    main()
