#!/usr/bin/env bash
# Builds a small corpus, converts it and scores predictions, saying which commands it runs. `make demo` calls it with
# `spansrl` on the PATH. The files go to build/demo, or to the directory given as an argument.
set -euo pipefail
cd "$(dirname "$0")/.."

sample=examples/sample
out=${1:-build/demo}

say() { printf '\n%s\n' "$*"; }
run() {
    printf '$ %s\n' "$*"
    "$@"
}

say "1. Build a corpus: propositions without words are joined with words without propositions."
run spansrl data ewt --propbank "$sample/propbank-release" --ud "$sample/UD_English-EWT" --out "$out"

say "2. A sentence is one line of JSON: tokens, and a predicate with its arguments as half-open token spans."
run head -n 1 "$out/dev.jsonl"

say "3. Convert it to the columns of CoNLL-2005. They have no place for words, so spansrl says what is left out."
run spansrl convert "$out/dev.jsonl" "$out/dev.props"
run cat "$out/dev.props"

say "4. And back again: the propositions have survived."
run spansrl convert "$out/dev.props" "$out/back.jsonl"
run spansrl convert "$out/back.jsonl" "$out/back.props"
run cmp "$out/dev.props" "$out/back.props"

say "5. Score predictions for the test sentences; the table is that of the official scorer, to the character."
run spansrl evaluate "$out/test.jsonl" "$sample/test.predicted.jsonl"

say "Done: the files are in $out. Next: README.md, or spansrl --help (in .venv/bin)."
