#!/bin/sh
# The shipped model from nothing: data, training, distillation, export, calibration, figures, card.
#     experiments/text_model.sh ENCODER_DIR WORK_DIR DATE
# ENCODER_DIR holds all-MiniLM-L6-v2 as Hugging Face has it; WORK_DIR takes everything, and training goes on where it
# stopped. Sources of EWT are downloaded unless SOURCES names a directory with them. The result is WORK_DIR/model.
# It takes about four hours on one core: two thirds of an hour a teacher, an hour and a half for the first model,
# half an hour for the second.
set -eu
encoder=$1 work=$2 date=$3
here=$(dirname "$0")
mkdir -p "$work"

if [ ! -e "$work/ewt/train.jsonl" ]; then
    if [ -n "${SOURCES:-}" ]; then
        spansrl data ewt --propbank "$SOURCES/propbank-release-ewt.tar.xz" --ud "$SOURCES/ud-english-ewt.tar.xz" --out "$work/ewt"
    else
        spansrl data ewt --out "$work/ewt"
    fi
fi
for seed in 1 2 3; do
    spansrl train "$here/../configs/ewt-minilm-span.toml" --data "$work/ewt" --out "$work/span-$seed" --threads 1 --resume \
        --cache "$work/cache" --set "embedder.path=$encoder" --set "training.seed=$seed"
done
spansrl train "$here/../configs/ewt-text.toml" --data "$work/ewt" --out "$work/text" --threads 1 --resume \
    --set "embedder.path=$encoder"
spansrl train "$here/../configs/ewt-distilled.toml" --data "$work/ewt" --out "$work/run" --threads 1 --resume \
    --cache "$work/cache" --set "embedder.path=$encoder" --set "training.start=$work/text" \
    --set "distillation.teachers=$work/span-1,$work/span-2,$work/span-3"

rm -rf "$work/model"
spansrl export "$work/run" --out "$work/model" --half --check "$work/ewt/dev.jsonl" --calibrate "$work/ewt/dev.jsonl"
for part in dev test; do
    spansrl appraise "$work/ewt/$part.jsonl" --model "$work/model" --threads 1 --save "$work/$part.json"
done
spansrl appraise "$work/ewt/test.jsonl" --unlike "$work/ewt/train.jsonl" --model "$work/model" --threads 1 --save "$work/unseen.json"
cp "$work/test.json" "$work/model/scores.json"
cp "$here/LICENSE-model.txt" "$work/model/LICENSE"
python "$here/write_card.py" "$work/model" --run "$work/run" --dev "$work/dev.json" --unseen "$work/unseen.json" --date "$date"
