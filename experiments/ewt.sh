#!/usr/bin/env bash
# Every run behind EXPERIMENTS.md, from the corpus to the tables. Each command resumes what is there already.
#   experiments/ewt.sh SOURCES MINILM [WORK]
# SOURCES holds propbank-release-ewt.tar.xz and ud-english-ewt.tar.xz, MINILM a copy of all-MiniLM-L6-v2.
set -euo pipefail
sources=$1 minilm=$2 work=${3:-runs}
here=$(cd "$(dirname "$0")/.." && pwd)
export OMP_NUM_THREADS=1 SPANSRL_CACHE=$work/cache
mkdir -p "$work"

[ -f "$work/ewt/train.jsonl" ] || spansrl data ewt --propbank "$sources/propbank-release-ewt.tar.xz" \
  --ud "$sources/ud-english-ewt.tar.xz" --out "$work/ewt"

train() { # kind seed
  spansrl train "$here/configs/ewt-minilm-$1.toml" --data "$work/ewt" --out "$work/$1-$2" --threads 1 --resume \
    --set embedder.path="$minilm" --set training.seed="$2"
}
# Two at a time: one thread a process beats two threads when both cores are busy.
train span 1 & train crf 1; wait
train span 2 & train span 3; wait
train crf 2 &
spansrl ensemble mixture "$work"/span-{1,2,3} --data "$work/ewt" --out "$work/moe" --threads 1 --resume
[ -f "$work/poe/config.json" ] || spansrl ensemble product "$work"/span-{1,2,3} --out "$work/poe"
wait

score() { python "$here/experiments/score_models.py" --data "$work/ewt" --cache "$work/cache" "$@"; }
score "$work"/span-{1,2,3} "$work"/crf-{1,2} "$work"/{moe,poe} --out "$work/predictions"
score "$work/span-1" --decoder argmax --splits dev --out "$work/predictions"
score "$work/span-1" --decoder exact --splits dev --out "$work/predictions"
score "$work/span-1" "$work/crf-1" --splits test --unseen
for split in dev test; do
  for seed in 1 2; do
    spansrl evaluate "$work/ewt/$split.jsonl" "$work/predictions/span-$seed.$split.jsonl.gz" \
      --against "$work/predictions/crf-$seed.$split.jsonl.gz"
  done
done
