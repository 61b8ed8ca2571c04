#!/bin/sh
# Both models for English text from nothing: data, the large model, its predictions on raw text, the small model.
#     experiments/text_models.sh MINILM_DIR MPNET_DIR WORK_DIR DATE
# The first two hold all-MiniLM-L6-v2 and all-mpnet-base-v2 as Hugging Face has them. WORK_DIR takes everything; the same
# command continues where it stopped. Results: WORK_DIR/large and WORK_DIR/small. Set by the environment:
#   SOURCES    directory with the archives of EWT, MASC and the frames, and raw-english.jsonl.xz (needed for raw text)
#   RAW        raw sentences to distill on (240000): 5/16 of them in each of two stages; of the rest, the 7/9 that are richest
#              in noun predicates in a third stage, which is two runs with half of them each
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
        spansrl evaluate "$work/$part.jsonl" --model "$work/$2" --threads 1 --save "$work/$2-$(echo $part | tr / -).json"
    done
    spansrl evaluate "$work/ewt/test.jsonl" --without "$work/ewt/train.jsonl" --model "$work/$2" --threads 1 --save "$work/$2-unseen.json"
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
raw=${RAW:-240000}
raw_text() {  # raw_text NAME [OPTION …]
    name=$1
    shift
    [ -e "$work/$name.jsonl" ] || python "$here/raw_text.py" "$sources/raw-english.jsonl.xz" --out "$work/$name.jsonl" \
        --count "$raw" --unlike "$work/ewt/dev.jsonl" "$work/ewt/test.jsonl" "$work/masc/dev.jsonl" "$work/masc/test.jsonl" "$@"
}
raw_text raw
raw_text raw-nouns --skip $((raw * 10 / 16)) --nouns "$work/ewt/train.jsonl" --keep $((raw * 7 / 24))
partial=$work/masc/train.jsonl,$work/examples/train.jsonl

train text-teacher teacher-1 --set "embedder.path=$mpnet" --set "training.partial=$partial"
train text-teacher-2 teacher-2 --set "training.start=$work/teacher-1" --set "training.partial=$partial"
train text-teacher-2 teacher-3 --set "training.start=$work/teacher-2" --set "training.partial=$partial" \
    --set training.epochs=1 --set training.seed=3 --set "training.partial_share=1, 0.2"
[ -e "$work/teacher" ] || spansrl ensemble average "$work/teacher-3" "$work/teacher-2" --out "$work/teacher"
ship teacher teacher-3 large int8

start=${START:-$work/start}
[ -n "${START:-}" ] || train ewt-text start --set "embedder.path=$minilm"
lines() {  # lines FILE NAME PROGRAM: the lines of a file that an awk program chooses
    [ -e "$work/$2.jsonl" ] || {
        awk -v "total=$(wc -l < "$work/$1.jsonl")" "$3" "$work/$1.jsonl" > "$work/$2.jsonl.partial"
        mv "$work/$2.jsonl.partial" "$work/$2.jsonl"
    }
}
lines raw raw-1 'NR <= int(total * 5 / 16)'
lines raw raw-2 'NR > int(total * 5 / 16) && NR <= int(total * 10 / 16)'
lines raw-nouns raw-3a 'NR % 2 == 1'
lines raw-nouns raw-3b 'NR % 2 == 0'

student() {  # student STAGE [--set …]: learn from the large model, starting from $start
    stage=$1
    shift
    train text-student "student-$stage" --set "training.start=$start" --set "training.partial=$partial" \
        --set "distillation.teachers=$work/large" --set "distillation.raw=$work/raw-$stage.jsonl" "$@"
}
mean() {  # mean NAME MODEL …: the mean of the weights of models
    name=$1
    shift
    [ -e "$work/$name" ] || spansrl ensemble average "$@" --out "$work/$name"
}
student 1
start=$work/student-1
student 2
mean student-12 "$work/student-2" "$work/student-1"
start=$work/student-12
for part in a b; do
    [ $part = a ] && seed=9 || seed=10
    student 3$part --set training.rate=2.5e-4 --set training.embedder_rate=1e-4 --set "training.partial_share=1, 0.1" \
        --set training.seed=$seed
done
mean student "$work/student-3b" "$work/student-3a"
ship student student-3b small half
