#!/bin/sh
# Both models for English text from nothing: data, the large model, its predictions on raw text, the small model.
#     experiments/text_models.sh MINILM_DIR MPNET_DIR WORK_DIR DATE
# The first two hold all-MiniLM-L6-v2 and all-mpnet-base-v2 as Hugging Face has them. WORK_DIR takes everything; the same
# command continues where it stopped. Results: WORK_DIR/large and WORK_DIR/small. Set by the environment:
#   SOURCES    directory with the archives of EWT, MASC and the frames, and raw-english.jsonl.xz (needed for raw text)
#   RAW        raw sentences to distill on, half of them in each of two stages (150000)
#   START      model directory that the small model starts from, such as that of text_model.sh; without it,
#              configs/ewt-text.toml is trained first
#   PROCESSES  processes for training, one thread each (1)
set -eu
minilm=$1 mpnet=$2 work=$3 date=$4
here=$(dirname "$0")
sources=${SOURCES:-sources}
export OMP_NUM_THREADS=1
mkdir -p "$work"

train() {  # train CONFIG NAME [--set …]
    config=$1 name=$2
    shift 2
    if [ "${PROCESSES:-1}" -gt 1 ]; then
        set -- torchrun --nproc-per-node "$PROCESSES" -m spansrl train "$here/../configs/$config.toml" "$@"
    else
        set -- spansrl train "$here/../configs/$config.toml" "$@"
    fi
    "$@" --data "$work/ewt" --out "$work/$name" --threads 1 --resume --cache "$work/cache"
}

ship() {  # ship MODEL RUN NAME WEIGHTS: export a model, whose last run has the log, and write its card
    model=$1
    shift
    rm -rf "${work:?}/$2"
    spansrl export "$work/$model" --out "$work/$2" --weights "$3" --check "$work/ewt/dev.jsonl" --calibrate "$work/ewt/dev.jsonl"
    for part in ewt/dev ewt/test masc/dev masc/test; do
        spansrl appraise "$work/$part.jsonl" --model "$work/$2" --threads 1 --save "$work/$2-$(echo $part | tr / -).json"
    done
    spansrl appraise "$work/ewt/test.jsonl" --unlike "$work/ewt/train.jsonl" --model "$work/$2" --threads 1 --save "$work/$2-unseen.json"
    python "$here/../benchmarks/models.py" "$work/$2" --data "$work/ewt/dev.jsonl" --save "$work/$2-speed.json"
    cp "$work/$2-ewt-test.json" "$work/$2/scores.json"
    cp "$here/LICENSE-$2.txt" "$work/$2/LICENSE"
    python "$here/write_card.py" "$work/$2" --run "$work/$1" --figures "$work/$2" --date "$date"
}

[ -e "$work/ewt/train.jsonl" ] || spansrl data ewt --propbank "$sources/propbank-release-ewt.tar.xz" \
    --ud "$sources/ud-english-ewt.tar.xz" --out "$work/ewt"
[ -e "$work/masc/train.jsonl" ] || spansrl data masc --propbank "$sources/propbank-release-masc.tar.xz" \
    --tagged "$sources/masc-tagged.tar.xz" --unlike "$work/ewt/dev.jsonl" --unlike "$work/ewt/test.jsonl" --out "$work/masc"
[ -e "$work/examples/train.jsonl" ] || spansrl data examples --frames "$sources/propbank-frames.tar.xz" --out "$work/examples" \
    --unlike "$work/ewt/dev.jsonl" --unlike "$work/ewt/test.jsonl"
[ -e "$work/raw.jsonl" ] || python "$here/raw_text.py" "$sources/raw-english.jsonl.xz" --out "$work/raw.jsonl" \
    --count "${RAW:-150000}" --unlike "$work/ewt/dev.jsonl" "$work/ewt/test.jsonl" "$work/masc/dev.jsonl" "$work/masc/test.jsonl"
partial=$work/masc/train.jsonl,$work/examples/train.jsonl

train text-teacher teacher-1 --set "embedder.path=$mpnet" --set "training.partial=$partial"
train text-teacher-2 teacher-2 --set "training.start=$work/teacher-1" --set "training.partial=$partial"
train text-teacher-2 teacher-3 --set "training.start=$work/teacher-2" --set "training.partial=$partial" \
    --set training.epochs=1 --set training.seed=3 --set "training.partial_share=1, 0.2"
[ -e "$work/teacher" ] || spansrl ensemble average "$work/teacher-3" "$work/teacher-2" --out "$work/teacher"
ship teacher teacher-3 large int8

start=${START:-$work/start}
[ -n "${START:-}" ] || train ewt-text start --set "embedder.path=$minilm"
half=$(($(wc -l < "$work/raw.jsonl") / 2))
[ -e "$work/raw-2.jsonl" ] || {
    head -n "$half" "$work/raw.jsonl" > "$work/raw-1.jsonl"
    tail -n "+$((half + 1))" "$work/raw.jsonl" > "$work/raw-2.jsonl.partial"
    mv "$work/raw-2.jsonl.partial" "$work/raw-2.jsonl"
}
for stage in 1 2; do
    train text-student "student-$stage" --set "training.start=$start" --set "training.partial=$partial" \
        --set "distillation.teachers=$work/large" --set "distillation.raw=$work/raw-$stage.jsonl"
    start=$work/student-$stage
done
[ -e "$work/student" ] || spansrl ensemble average "$work/student-2" "$work/student-1" --out "$work/student"
ship student student-2 small half
