"""What statements cost, next to labeling: `python benchmarks/statements.py TEXT_FILE`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import spansrl


def main() -> None:
    srl = spansrl.load(threads=1)
    texts = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n\n")
    list(srl.pipe(texts[:5]))
    start = time.process_time()
    docs = list(srl.pipe(texts))
    labeling = time.process_time() - start
    start = time.process_time()
    rows = sum(len(doc.statements().rows()) for doc in docs)
    own = time.process_time() - start
    sentences = sum(map(len, docs))
    print(f"{sentences} sentences labeled in {labeling:.2f} s; {rows} statements in {own:.2f} s")
    print(f"statements: {100 * own / labeling:.1f} % of labeling")


if __name__ == "__main__":
    main()
