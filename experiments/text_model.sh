#!/bin/sh
# The small model from nothing: data, teachers, training, distillation, export, calibration, figures.
#     experiments/text_model.sh MINILM_DIR MPNET_DIR WORK_DIR DATE
# The first two hold all-MiniLM-L6-v2 and all-mpnet-base-v2 as Hugging Face has them; WORK_DIR takes everything, and
# training goes on where it stopped. Sources of EWT and PropBank's frames are downloaded unless SOURCES names a directory
# with their archives. THREADS (by default 1) are for training, SEEDS (1 2 3) are the BiLSTMs'. The result is WORK_DIR/model.
# It takes hours: two thirds of an hour per BiLSTM and eleven minutes per epoch of MiniLM (26 with the frames' examples) on one
# core, 35 minutes per epoch of MPNet on two (EXPERIMENTS.md).
set -eu
minilm=$1 mpnet=$2 work=$3 date=$4
here=$(dirname "$0")
mkdir -p "$work"

train() {  # train CONFIG NAME [--set …]
    config=$1 name=$2
    shift 2
    spansrl train "$here/../configs/$config.toml" --data "$work/ewt" --out "$work/$name" --threads "${THREADS:-1}" --resume \
        --cache "$work/cache" "$@"
}

if [ ! -e "$work/ewt/train.jsonl" ]; then
    if [ -n "${SOURCES:-}" ]; then
        spansrl data ewt --propbank "$SOURCES/propbank-release-ewt.tar.xz" --ud "$SOURCES/ud-english-ewt.tar.xz" --out "$work/ewt"
    else
        spansrl data ewt --out "$work/ewt"
    fi
fi
if [ ! -e "$work/examples/train.jsonl" ]; then
    set -- --unlike "$work/ewt/dev.jsonl" --unlike "$work/ewt/test.jsonl" --out "$work/examples"
    if [ -n "${SOURCES:-}" ]; then
        set -- --frames "$SOURCES/propbank-frames.tar.xz" "$@"
    fi
    spansrl data examples "$@"
fi
spans=
for seed in ${SEEDS:-1 2 3}; do
    train ewt-minilm-span "span-$seed" --set "embedder.path=$minilm" --set "training.seed=$seed"
    spans=${spans:+$spans,}$work/span-$seed
done
train ewt-text-teacher mpnet --set "embedder.path=$mpnet"
train ewt-text text --set "embedder.path=$minilm"
train ewt-distilled first --set "embedder.path=$minilm" --set "training.start=$work/text" \
    --set "distillation.teachers=$spans" --set training.epochs=3
teachers=$work/mpnet,$work/mpnet,$work/mpnet,$spans
train ewt-distilled second --set "embedder.path=$minilm" --set "training.start=$work/first" \
    --set "distillation.teachers=$teachers"
train ewt-distilled third --set "embedder.path=$minilm" --set "training.start=$work/second" \
    --set "distillation.teachers=$teachers" --set training.epochs=3 --set "training.partial=$work/examples/train.jsonl"
train ewt-distilled run --set "embedder.path=$minilm" --set "training.start=$work/third" \
    --set "distillation.teachers=$teachers" --set training.epochs=2 --set training.rate=1e-4 --set training.embedder_rate=4e-5

rm -rf "$work/model"
spansrl export "$work/run" --out "$work/model" --weights half --check "$work/ewt/dev.jsonl" --calibrate "$work/ewt/dev.jsonl"
spansrl evaluate "$work/ewt/test.jsonl" --model "$work/model" --threads 1 --save "$work/test.json"
cp "$work/test.json" "$work/model/scores.json"
