#!/usr/bin/env bash
# Checks Octet on this machine's GPU, in at most 5 minutes: every kernel against the CPU's, then the 10m model trained
# for 20 steps on the CPU and on the GPU, whose losses must agree (fp32 within 1e-4 relative, bf16 and float8 within
# 1e-2). Needs no network. Says which of CUDA's libraries it finds. Skips with a reason where there is no GPU.
# Usage: jobs/gpu/check.sh [--output DIR] [--kernels | --training]
#   --output DIR   where logs and metrics go (default runs/gpu-check-DATE); must not exist
#   --kernels      only the kernels; --training: only the trainer
# Ends with one line: check: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output='' parts='kernels training'
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --output)
      [[ -n ${2:-} ]] || { echo "check: $1 needs a value" >&2 && exit 64; }
      output=$2 && shift ;;
    --kernels | --training) parts=${1#--} ;;
    *) echo "check: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
find_programs check
"$bin/octet-bench-gpu" --libraries || true  # the driver and CUDA's libraries: which are found, and where
need_gpu check
command -v python3 >/dev/null || verdict check SKIPPED 'it needs python3 (its standard library)'
output=$(realpath -m "${output:-$root/runs/gpu-check-$(date +%Y%m%d-%H%M%S)}")
[[ ! -e $output ]] || { echo "check: --output $output exists; name a new folder" >&2 && exit 64; }
mkdir -p "$output"
failures=()
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}  # cores may be shared: a spinning thread takes one from the others

# within SECONDS COMMAND...: no longer than that, and than what is left of the 5 minutes.
within() {
  local left=$((290 - SECONDS))
  bounded "$((left > $1 ? $1 : left > 1 ? left : 1))" "${@:2}"
}

# Several processes have a share of the tests each: most of their time goes to what the CPU computes in comparison. Where
# the GPU takes one process at a time (compute mode), or does not say, there is one.
check_kernels() {
  local i code cores shards threads pids=() reports=()
  cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # which minds these variables
  shards=$((cores < 8 ? 1 : cores < 16 ? 2 : 4))
  [[ $(nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null | sort -u) == Default ]] || shards=1
  threads=$((cores / shards))
  ((${OMP_NUM_THREADS:-$threads} > threads)) || threads=${OMP_NUM_THREADS:-$threads}
  echo "== every kernel against the CPU, in $shards process(es) (logs: $output/kernels-*.log)"
  trap 'kill ${pids[@]+"${pids[@]}"} 2>/dev/null; exit 143' INT TERM HUP
  for ((i = 0; i < shards; ++i)); do
    (
      export GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i OMP_NUM_THREADS=$threads
      within 200 "$bin/octet-test-gpu" --gtest_output=json:"$output/kernels-$i.json" >"$output/kernels-$i.log" 2>&1
    ) &
    pids+=($!)
  done
  for ((i = 0; i < shards; ++i)); do
    code=0
    wait "${pids[i]}" || code=$?
    reports+=("$output/kernels-$i.json" "$code")
  done
  trap - INT TERM HUP
  cat "$output"/kernels-*.log | grep '^sums of fp8 products' || true  # how many are as the CPU emulates them
  python3 "$here/count_tests.py" "${reports[@]}" || failures+=("kernels (see $output/kernels-*.log)")
}

# train DEVICE PRECISION: 20 steps of 2 sequences of 128 tokens: small, for the CPU computes them as well.
steps=20
train() {
  local code=0
  within 100 "$bin/octet-train" --model 10m --precision "$2" --device "$1" --train.steps "$steps" \
    "${small_run[@]}" --train.micro_batch 2 --data.train "$output/tokens" --checkpoint.interval off --run.dir "$output/$2-$1" \
    >"$output/$2-$1.log" 2>&1 || code=$?
  ((code)) || return 0
  echo "$2 on $1: $( ((code == 124 || code == 137)) && echo 'not done in its time' || echo "exit code $code")," \
    "end of $output/$2-$1.log:" && tail -n 5 "$output/$2-$1.log" | sed 's/^/    /'
  return 1
}

check_training() {
  local precision tolerance
  echo "== 10m model, $steps steps, CPU and GPU (logs and metrics: $output)"
  prepare_tokens "$output" || { failures+=('octet prepare') && return; }
  printf '%-8s %10s %10s %10s %10s %12s %5s %9s\n' precision 'CPU first' 'GPU first' 'CPU last' 'GPU last' \
    difference step tolerance
  for precision in fp32 bf16 float8; do
    tolerance=1e-2
    [[ $precision != fp32 ]] || tolerance=1e-4
    if ! { train cpu "$precision" && train cuda "$precision" &&
      python3 "$here/compare_losses.py" "$precision" "$tolerance" "$steps" "$output/$precision-cpu/metrics.jsonl" \
        "$output/$precision-cuda/metrics.jsonl"; }; then
      failures+=("training in $precision")
    fi
  done
}

cd "$root"  # models are found from here, too
[[ $parts == training ]] || check_kernels
[[ $parts == kernels ]] || check_training
if ((${#failures[@]})); then
  verdict check FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') ($SECONDS s)"
fi
verdict check PASSED "$parts ($SECONDS s)"
