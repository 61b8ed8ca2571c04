#!/bin/sh
# What each ingredient of the small model's recipe brings: short runs from MiniLM that differ in one of them.
#     experiments/ablations.sh MINILM_DIR TEACHER WORK_DIR [NAME …]
# WORK_DIR holds ewt, masc, examples and raw.jsonl as text_models.sh makes them; TEACHER is an exported model, such as its
# WORK_DIR/large. Each run is one epoch with configs/ablation.toml, in WORK_DIR/ablations/NAME; the same command continues
# where it stopped. Without names, all are run; two commands with different names can share the work.
set -eu
minilm=$1 teacher=$2 work=$3
shift 3
config=$(dirname "$0")/../configs/ablation.toml
export OMP_NUM_THREADS=1
mkdir -p "$work/ablations"

raw() {  # raw COUNT: a file with the first sentences of the raw text, which is in random order
    [ -e "$work/raw-$1.jsonl" ] || {
        head -n "$1" "$work/raw.jsonl" > "$work/raw-$1.jsonl.partial-$$"
        mv "$work/raw-$1.jsonl.partial-$$" "$work/raw-$1.jsonl"
    }
    echo "distillation.raw=$work/raw-$1.jsonl"
}

run() {  # run NAME [--set …]: later settings override earlier ones
    name=$1
    shift
    spansrl train "$config" --data "$work/ewt" --out "$work/ablations/$name" --cache "$work/cache" --threads 1 --resume \
        --set "embedder.path=$minilm" --set "training.partial=$work/masc/train.jsonl,$work/examples/train.jsonl" "$@"
}

taught() {  # the same with the teacher
    name=$1
    shift
    run "$name" --set "distillation.teachers=$teacher" "$@"
}

mixed() {  # the same with the teacher and 10,000 raw sentences
    name=$1
    shift
    taught "$name" --set "$(raw 10000)" "$@"
}

for name in ${*:-all no-raw no-teacher segmental no-masc no-examples no-average one-rate dropout top-layers case raw-35000 raw-70000}; do
    case $name in
        all) mixed all ;;
        no-raw) taught no-raw ;;
        no-teacher) run no-teacher ;;  # and so no raw text
        segmental) run segmental --set output.kind=segmental ;;  # to be compared with no-teacher
        no-masc) mixed no-masc --set "training.partial_share=0.001, 0.3" ;;  # the model still knows its senses
        no-examples) mixed no-examples --set "training.partial_share=1, 0.001" ;;
        no-average) mixed no-average --set training.average=0 ;;
        one-rate) mixed one-rate --set training.layer_decay=1 ;;
        dropout) mixed dropout --set embedder.dropout=0.1 --set embedder.inner_dropout=0.1 --set encoder.dropout=0.1 ;;
        top-layers) mixed top-layers --set encoder.attention_layers=0 --set encoder.top_layers=2 ;;
        case) mixed case --set embedder.case=true ;;
        raw-*) taught "$name" --set "$(raw "${name#raw-}")" ;;
        *)
            echo "$0: no run is called $name" >&2
            exit 2
            ;;
    esac
done
