#!/usr/bin/env bash
# Checks several ranks that share this machine's GPU and speak through NCCL, in at most 8 minutes: every collective's
# contract at 2 and 4 ranks, trainers of every layout (FSDP, replicas, tensor parallelism and both) whose losses must be
# the CPU's, and that the end of one rank ends the others within 10 s. Needs no network. Skips with a reason where there
# is no GPU.
# Usage: jobs/gpu/ranks.sh [--output DIR]
#   --output DIR   where logs go (default runs/gpu-ranks-DATE)
# Ends with one line: ranks: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output=''
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --output) output=${2:?--output needs a folder} && shift ;;
    *) echo "ranks: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
find_programs ranks
need_gpu ranks
command -v python3 >/dev/null || verdict ranks SKIPPED 'it needs python3 (its standard library)'
mpiexec=$bin/mpiexec
[[ -x $mpiexec ]] || mpiexec=$(command -v mpiexec) || verdict ranks SKIPPED 'no mpiexec beside the programs or on the PATH'
output=$(realpath -m "${output:-$root/runs/gpu-ranks-$(date +%Y%m%d-%H%M%S)}")
mkdir -p "$output"
failures=()
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

check_suite() {  # RANKS
  local code=0 log=$output/nccl-$1.log report=$output/nccl-$1.json
  echo "== contract and trainers over NCCL, $1 ranks (log: $log)"
  timeout --kill-after=5 180 "$mpiexec" -n "$1" "$bin/octet-test-nccl" --gtest_filter='Gpu*:*OnTheGpu*' \
    --gtest_output=json:"$report" >"$log" 2>&1 || code=$?
  python3 "$here/count_tests.py" "$report" "$code" || failures+=("$1 ranks (see $log)")
}

# A run that would last for ever, of two ranks; then one of them is killed.
check_end() {
  local run=$output/end log=$output/end.log launcher victim
  echo "== one rank of two is killed (log: $log)"
  python3 "$here/make_text.py" "$output/text.txt" 200000
  "$bin/octet" prepare --input "$output/text.txt" --output "$output/tokens" >"$output/prepare.log" 2>&1
  "$mpiexec" -n 2 "$bin/octet-train" --model 10m --device cuda --nccl.ranks_per_gpu 2 --train.steps 1000000 \
    --train.seq_len 128 --train.global_batch 2 --train.micro_batch 1 --data.train "$output/tokens" \
    --checkpoint.interval off --run.dir "$run" >"$log" 2>&1 &
  launcher=$!
  for ((i = 0; i < 600; ++i)); do
    [[ -s $run/metrics.jsonl ]] && break
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  victim=$(pgrep -f -- "octet-train .*--run.dir $run" | tail -n 1 || true)
  if [[ ! -s $run/metrics.jsonl || -z $victim ]]; then
    failures+=("the run of two ranks did not begin (see $log)")
    kill "$launcher" 2>/dev/null || true
    return
  fi
  local before=$SECONDS
  kill -9 "$victim"
  for ((i = 0; i < 200; ++i)); do
    pgrep -f -- "octet-train .*--run.dir $run" >/dev/null || break
    sleep 0.1
  done
  if ((i == 200)); then
    failures+=('ranks were alive 20 s after one had been killed')
    pkill -9 -f -- "octet-train .*--run.dir $run" || true
  elif ((SECONDS - before > 10)); then
    failures+=("the others ended after $((SECONDS - before)) s")
  fi
  wait "$launcher" || true
  echo "all ranks had ended after $((SECONDS - before)) s"
}

cd "$root"  # models are found from here, too
check_suite 2
check_suite 4
check_end
if ((${#failures[@]})); then
  verdict ranks FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') ($SECONDS s)"
fi
verdict ranks PASSED "2 and 4 ranks on one GPU ($SECONDS s)"
