#!/usr/bin/env bash
# Makes what tests/jobs/written_test.cpp goes on from: runs of 10 steps on two ranks, in fp32, in float8 with the recipe
# delayed, and in fp32 with a mixture of two sources, with their checkpoint, and in expected.jsonl what the same programs
# logged of the next 10 steps. It is run once for a commit whose files must stay readable, with that commit's programs;
# what it made is then never made again.
# Usage: tests/written/make.sh COMMIT FOLDER_OF_PROGRAMS [RUN...]      runs are fp32, delayed and mixed; all unless said
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[[ $# -ge 2 && $1 != -* ]] || { echo 'usage: tests/written/make.sh COMMIT FOLDER_OF_PROGRAMS [RUN...]' >&2 && exit 64; }
commit=$1 bin=$(realpath "$2")
here=$PWD
shift 2
runs=("$@")
((${#runs[@]})) || runs=(fp32 delayed mixed)
[[ ! -e $commit ]] || { echo "tests/written/make.sh: $commit is there, and is not made again" >&2 && exit 64; }
work=/tmp/octet-written  # the files name it, so that it is the same everywhere
mkdir "$work"
cd "$work"

cat >tiny.yaml <<'YAML'
dim: 16
layers: 2
heads: 2
kv_heads: 1
head_dim: 16
ffn_dim: 32
vocab_size: 256
tied_embedding: true
YAML
cat >run.yaml <<'YAML'
model: ./tiny.yaml
train: { steps: 10, seq_len: 16, global_batch: 8, micro_batch: 4, validation_batches: 2 }
data: { train: data/text, validation_fraction: 0.1 }
optimizer: { lr: 3e-3 }
schedule: { kind: constant, warmup_steps: 0 }
checkpoint: { interval: 1000000 }
YAML
# Sentences by a linear congruence: the same bytes everywhere.
awk 'BEGIN {
  n = split("the of and water in that was house for on are with as his they be at one have this from night by hot", w)
  for (x = 1; length(text) < 8000; ) {
    words = 4 + x % 5
    for (i = 0; i < words; ++i) { x = (x * 1103 + 12345) % 65536; text = text (i ? " " : "") w[1 + x % n] }
    text = text ".\n"
  }
  printf "%s", text
}' >text.txt
"$bin/octet" prepare --input text.txt --output data/text
LC_ALL=C tr '[:lower:]' n-za-m <text.txt >other.txt
"$bin/octet" prepare --input other.txt --output data/other
for run in "${runs[@]}"; do
  precision=(--precision fp32)
  [[ $run != delayed ]] || precision=(--precision float8 --float8.recipe delayed --float8.delayed_history 4)
  [[ $run != mixed ]] || precision+=(--data.train '[{path: data/text, weight: 3}, {path: data/other, weight: 1.7}]')
  OMP_NUM_THREADS=1 mpiexec -n 2 "$bin/octet-train" run.yaml "${precision[@]}" --run.dir "$run"
  cp -r "$run" further
  OMP_NUM_THREADS=1 mpiexec -n 2 "$bin/octet-train" run.yaml "${precision[@]}" --train.steps 20 --run.dir further
  tail -n 10 further/metrics.jsonl >"$run/expected.jsonl"
  rm -rf further "$run"/{tensorboard,owner.json,bindings.txt,checkpoints/*/view.h5}
done
rm text.txt other.txt
mv "$work" "$here/$commit"
