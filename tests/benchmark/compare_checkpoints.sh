#!/usr/bin/env bash
# Speed of checkpoints beside dd, memcpy, cat and PyTorch's torch.distributed.checkpoint: the same bytes on the same disk
# by one process, in turn, as a Markdown table of ratios.
#
#   python3 -m venv venv && venv/bin/pip install torch numpy
#   OCTET_PYTHON=venv/bin/python tests/benchmark/compare_checkpoints.sh --folder /where/runs/are > result.md
#
# A first round is not counted.
# Nothing else should run on the machine meanwhile. Needs five times the size as memory, and as room on the disk.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat << END
usage: tests/benchmark/compare_checkpoints.sh [options]
  --folder DIR      on the disk to be measured; a folder of its own is made there and removed   (.)
  --bin DIR         Octet's programs                                       (build/cpu/bin)
  --size N          MiB of tensors                                         (1200)
  --rounds N        times that each is measured                            (5)
  --trainings N     runs of octet-train, for the slow-down of steps        (2)
  --threads N       threads of octet-train                                 (2)
  --results FILE    keep one JSON line a measurement here                  (a temporary file)
OCTET_PYTHON names the Python that has torch (python3); where it has none, PyTorch is left out.
END
}

folder=. bin=build/cpu/bin size=1200 rounds=5 trainings=2 threads=2 results=
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --folder | --bin | --size | --rounds | --trainings | --threads | --results)
      [[ -n ${2:-} ]] || { echo "compare_checkpoints.sh: $1 needs a value (see --help)" >&2; exit 64; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "compare_checkpoints.sh: unknown option $1 (see --help)" >&2; exit 64 ;;
  esac
done
python=${OCTET_PYTHON:-python3}
[[ -x $bin/octet-benchmark-checkpoints && -x $bin/octet-train && -x $bin/octet ]] ||
  { echo "no octet-benchmark-checkpoints, octet-train and octet in $bin: build them first" >&2; exit 64; }

work=$(mktemp -d "$folder/checkpoint-speed.XXXXXX")
trap 'rm -rf "$work"' EXIT
results=${results:-$work/results.jsonl}
: > "$results"

# ask NAME COMMAND IN OUT: has a program that stands by do it; its line goes to the results.
ask() {
  local line
  echo "$2" >&"$3"
  read -r line <&"$4"
  echo "{\"what\": \"$1\", \"round\": $round, ${line#\{}" >> "$results"
}
ours_save() {
  sync -f "$work"
  ours save
}
ours() { ask "octet $1" "${1%% *}" "$octet_in" "$octet_out"; }
theirs() { if [[ -n $torch_in ]]; then ask "torch $1" "${1%% *}" "$torch_in" "$torch_out"; fi; }

# timed NAME COMMAND...: wall time of a program.
timed() {
  local name=$1 start end
  shift
  start=${EPOCHREALTIME/[.,]/}
  "$@"
  end=${EPOCHREALTIME/[.,]/}
  echo "{\"what\": \"$name\", \"round\": $round, \"seconds\": $((end - start))e-6}" >> "$results"
}
shards() { echo "$work"/octet/step-*/writer-*.h5; }
# The bytes come from the page cache and are written to a file of their own. As with checkpoints, the copy before goes when
# the new one is on the disk: so both need memory for the page cache that was free for some time. A virtual machine's host
# may have taken that memory back, and giving it out again is slower than the disk.
copy_with_dd() { dd if="$(shards)" of="$work/copy.new" bs=8M conv=fsync status=none; }
measure_dd() {
  sync -f "$work"
  timed dd copy_with_dd
  mv -f "$work/copy.new" "$work/copy"
}
read_with_cat() { cat "$(shards)" > /dev/null; }
# Takes the pages of these files, which are on the disk already, out of the page cache.
forget() { for file in "$@"; do dd if="$file" iflag=nocache count=0 status=none; done; }

# One run of octet-train that saves every fifth step, so that some steps have the writer beside them and others do not.
train() {
  local run=$work/run
  rm -rf "$run"
  "$bin/octet-train" tests/benchmark/octet.yaml --model tests/benchmark/160m-blocks.yaml --precision bf16 \
    --train.seq_len 256 --train.micro_batch 1 --train.global_batch 1 --train.steps 22 --cpu.threads "$threads" \
    --data.train "$work/tokens" --checkpoint.interval 5 --checkpoint.keep 1 --run.dir "$run" > "$work/train.log" 2>&1 ||
    { tail -20 "$work/train.log" >&2; exit 70; }
  python3 tests/benchmark/checkpoint_table.py --from-metrics "$run/metrics.jsonl" --interval 5 >> "$results"
  rm -rf "$run"
}

mkfifo "$work/octet.in" "$work/octet.out" "$work/torch.in" "$work/torch.out"
"$bin/octet-benchmark-checkpoints" "$work/octet" "$size" < "$work/octet.in" > "$work/octet.out" &
exec {octet_in}> "$work/octet.in" {octet_out}< "$work/octet.out"
torch_in=
if "$python" -c 'import torch' 2> /dev/null; then
  "$python" tests/benchmark/torch_checkpoint.py "$work/torch" 2> "$work/torch.log" \
    < "$work/torch.in" > "$work/torch.out" {octet_in}>&- {octet_out}<&- &
  exec {torch_in}> "$work/torch.in" {torch_out}< "$work/torch.out"
  { "$bin/octet-benchmark-checkpoints" list "$size"; echo; } >&"$torch_in"
  read -r answer <&"$torch_out" || { tail -5 "$work/torch.log" >&2; exit 70; }
  echo "{\"what\": \"torch\", ${answer#\{}" >> "$results"
else
  echo "$python has no torch: left out; see --help" >&2
fi

for ((round = 0; round <= rounds; ++round)); do  # round 0 is not counted
  echo "round $round of $rounds" >&2
  if ((round % 2)); then measure_dd; ours_save; else ours_save; measure_dd; fi
  timed cat read_with_cat
  ours load
  forget "$(shards)"
  timed 'cat cold' read_with_cat
  forget "$(shards)"
  ours 'load cold'
  sync -f "$work"
  theirs save
  theirs load
  if [[ -n $torch_in ]]; then forget "$work"/torch/*; fi
  theirs 'load cold'
  sync -f "$work"
  theirs async
done
exec {octet_in}>&-  # both end with their input
if [[ -n $torch_in ]]; then exec {torch_in}>&-; fi
wait
rm -rf "$work/octet" "$work/torch" "$work/copy"

if ((trainings > 0)); then tests/benchmark/prepare_words.sh "$bin" "$work"; fi
for ((i = 1; i <= trainings; ++i)); do
  echo "training $i of $trainings" >&2
  train
done

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "$(date -I), commit $(git rev-parse --short HEAD 2> /dev/null || echo unknown), $processor, $(nproc) cores;" \
  "$rounds rounds; load average at the end $(cut -d' ' -f1-3 /proc/loadavg)"
echo
python3 tests/benchmark/checkpoint_table.py --table "$results"
