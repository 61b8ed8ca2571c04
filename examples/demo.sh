#!/usr/bin/env bash
# Labels a text and shows it, then scores labels on a small corpus, saying which commands it runs. `make demo` calls it
# with `spansrl` on the PATH. The files go to build/demo, or to the directory given as an argument.
set -euo pipefail
cd "$(dirname "$0")/.."

sample=examples/sample
out=${1:-build/demo}
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }
run() {
    printf '$'
    printf ' %q' "$@"
    printf '\n'
    "$@"
}

say "1. Who did what to whom? Below the words stands a line for each predicate: its sense, and its arguments."
run spansrl label --to pretty examples/letters.txt

say "2. The same for programs: one line of JSON a sentence, with character offsets and probabilities."
run spansrl label examples/letters.txt -o "$out/letters.jsonl"
run head -n 1 "$out/letters.jsonl"

say "3. A row an argument, for data frames and spreadsheets; and a page for a browser."
run spansrl label --predicates verb --to tsv examples/letters.txt
run spansrl label examples/letters.txt -o "$out/letters.html"

say "4. Build a small corpus: propositions without words are joined with words without propositions."
run spansrl data ewt --propbank "$sample/propbank-release" --ud "$sample/UD_English-EWT" --out "$out"

say "5. Label its test sentences, predicates given, and score: the table is that of the official scorer."
run spansrl label --predicates given "$out/test.jsonl" -o "$out/predicted.jsonl"
run spansrl evaluate "$out/test.jsonl" "$out/predicted.jsonl"

say "Done: the files are in $out (open letters.html). Next: docs/quickstart.md, or spansrl --help (in .venv/bin)."
