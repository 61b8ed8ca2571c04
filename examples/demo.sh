#!/usr/bin/env bash
# Label a text in several ways. `make demo` calls it with `spansrl` on the PATH.
# Files are written to build/demo, or to the directory given as an argument.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-build/demo}
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }
run() {
    printf '$'
    for word in "$@"; do
        if [[ $word == *" "* ]]; then printf ' "%s"' "$word"; else printf ' %s' "$word"; fi
    done
    printf '\n'
    "$@"
}

run spansrl label --to pretty "The storm knocked out power in three counties on Monday."

say "A whole text: one row per predicate, with its sense and its arguments."
run spansrl label --to pretty examples/letters.txt

say "For programs and spreadsheets: JSON Lines, CSV, and a page for your browser."
run spansrl label examples/letters.txt -o "$out/letters.jsonl"
run spansrl label examples/letters.txt -o "$out/letters.csv"
run spansrl label examples/letters.txt -o "$out/letters.html"

say "Done. The files are in $out."
cat <<TXT
What to try next:
  .venv/bin/spansrl label "Any sentence of your own."
  $out/letters.html in your browser
  .venv/bin/pip install '.[serve]' && .venv/bin/spansrl serve     # a page that labels as you type
  examples/tour.ipynb, docs/quickstart.md                         # the same in Python; everything else
TXT
