"""A random 5 % of the written sentences for a second annotation, and how well two annotations agree.

    python experiments/written_agreement.py draw > sample.tsv
    python experiments/written_agreement.py compare data/written/agreement/second.tsv

A line of the sample is a number, a tab, and the words with the predicate as [V …]; one of the second
annotation is the number, the roleset and the sentence with all brackets. Agreement is that of arguments, by
the official scorer, and of rolesets.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

from spansrl.corpora.examples import UnfitError
from spansrl.corpora.written import read_written
from spansrl.evaluation import score
from spansrl.inventory.frame_store import load_frames

WRITTEN = Path(__file__).resolve().parents[1] / "data" / "written"
FILES = ("senses.tsv", "verbs.tsv", "constructions.tsv", "nouns-adjectives.tsv")
SHARE, SEED = 0.05, 0


def drawn() -> list[tuple[str, str]]:
    """Roleset and sentence of the sample, in its order."""
    lines = [line for name in FILES for line in (WRITTEN / name).read_text(encoding="utf-8").splitlines()]
    chosen = random.Random(SEED).sample(lines, round(SHARE * len(lines)))
    return [(roleset, text) for roleset, _, text in (line.partition("\t") for line in chosen)]


def bare(text: str) -> str:
    """The sentence with only its predicate marked."""
    return re.sub(r"\[(?!V )[A-Z0-9-]+ ([^\[\]]+)\]", r"\1", text)


def compare(path: Path) -> None:
    first, frames = drawn(), load_frames()
    ours, others = [], []
    same = unfit = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        number, roleset, text = line.split("\t")
        own_roleset, own_text = first[int(number)]
        try:
            pair = [
                read_written(*own, frames, f"{path.name}:{number}")
                for own in ((own_roleset, own_text), (roleset, text))
            ]
        except UnfitError:  # one of the two does not pass the checks of `spansrl data written`
            unfit += 1
            continue
        same += roleset == own_roleset
        ours.append(pair[0])
        others.append(pair[1])
    result = score(ours, others)
    print(
        f"sentences       {len(ours)} of {len(first)}; {unfit} left out, as a check fails for one of the two"
    )
    print(f"rolesets        {100 * same / len(ours):.1f} % the same")
    found = result.overall.correct + result.overall.excess
    print(f"arguments       {result.overall.f1:.1f} F1 ({result.overall.gold} and {found})")
    print(f"boundaries      {result.unlabeled.f1:.1f} F1")
    print(f"labels          {result.label_accuracy:.1f} % of those with equal boundaries")
    print(f"all arguments   {result.perfect_percent:.1f} % of the sentences")


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        for number, (_, text) in enumerate(drawn()):
            print(f"{number}\t{bare(text)}")
    else:
        compare(Path(sys.argv[2]))
