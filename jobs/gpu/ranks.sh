#!/usr/bin/env bash
# Checks several ranks that share this machine's GPU and speak through NCCL, in at most 8 minutes: every collective's
# contract at 2 and 4 ranks, trainers of every layout (FSDP, replicas, tensor parallelism, pipelines, and two of them)
# whose losses must be the CPU's, that a rank that is killed or stopped ends the other within 10 s, that NCCL loads the
# tuner plugin and obeys its file, and every byte of what octet-commbench's collectives bring (its times are those of
# sockets). Needs no network. Skips with a reason where there is no GPU.
# Usage: jobs/gpu/ranks.sh [--output DIR] [--minutes N]
#   --output DIR   where logs go (default runs/gpu-ranks-DATE)
#   --minutes N    the end of all parts (default 8); what has not run by then fails
# Ends with one line: ranks: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output='' minutes=8
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --output | --minutes)
      [[ -n ${2:-} ]] || { echo "ranks: $1 needs a value" >&2 && exit 64; }
      printf -v "${1#--}" %s "$2" && shift ;;
    *) echo "ranks: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
[[ $minutes =~ ^[0-9]*\.?[0-9]+$ ]] || { echo "ranks: --minutes $minutes: expected a number" >&2 && exit 64; }
find_programs ranks
need_gpu ranks
command -v python3 >/dev/null || verdict ranks SKIPPED 'it needs python3 (its standard library)'
mpiexec=$bin/mpiexec
[[ -x $mpiexec ]] || mpiexec=$(command -v mpiexec) || verdict ranks SKIPPED 'no mpiexec beside the programs or on the PATH'
output=$(realpath -m "${output:-$root/runs/gpu-ranks-$(date +%Y%m%d-%H%M%S)}")
mkdir -p "$output"
failures=()
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

# Seconds since the start at which the parts end: those that are ended by force take up to 5 more.
end=$(awk -v minutes="$minutes" 'BEGIN { print int(60 * minutes - 5) }')
left() { echo $((end > SECONDS ? end - SECONDS : 0)); }

# limited MOST PROGRAM...: ends it after so many seconds, or when the time of all parts is over. 124: it was ended.
limited() {
  local most=$1 rest
  rest=$(left)
  ((rest > 0)) || return 124
  bounded "$((rest < most ? rest : most))" "${@:2}"
}

# suite TITLE NAME MOST RANKS FILTER: some tests of octet-test-nccl.
suite() {
  local code=0 log=$output/$2.log report=$output/$2.json
  echo "== $1 (log: $log)"
  limited "$3" "$mpiexec" -n "$4" "$bin/octet-test-nccl" --gtest_filter="$5" --gtest_output=json:"$report" \
    >"$log" 2>&1 || code=$?
  python3 "$here/count_tests.py" "$report" "$code" || failures+=("$1 (see $log)")
}

measure() {  # RANKS
  local code=0 log=$output/commbench-$1.log
  echo "== octet-commbench over NCCL, $1 ranks (log: $log)"
  limited 40 "$mpiexec" -n "$1" "$bin/octet-commbench" --device cuda --ranks-per-gpu "$1" --sweep --pairs ranks \
    --max 1M --factor 16 --row-seconds 0.25 --timeout 30 --json "$output/commbench-$1.json" >"$log" 2>&1 || code=$?
  tail -n 2 "$log"
  ((code == 0)) || failures+=("octet-commbench, $1 ranks: exit code $code (see $log)")
}

# Ranks of that run, not their launcher.
ranks_of() { pgrep -f -- "^[^ ]*octet-train .*--run.dir $1( |\$)" || true; }

# end_one SIGNAL: a run that would last for ever, of two ranks, one of which gets the signal. The launcher leaves the
# other alone: it must find out by itself, within comm.timeout_seconds of 5 and what its end takes.
end_one() {
  local run=$output/end-$1 log=$output/end-$1.log launcher victim before begun
  echo "== one rank of two gets SIG$1 (log: $log)"
  if (($(left) < 20)); then failures+=("SIG$1: no time left for it") && return; fi
  begun=$SECONDS
  "$mpiexec" -disable-auto-cleanup -n 2 "$bin/octet-train" --model 10m --device cuda --nccl.ranks_per_gpu 2 \
    --train.steps 1000000 --train.seq_len 128 --train.global_batch 2 --train.micro_batch 1 \
    --data.train "$output/tokens" --comm.timeout_seconds 5 --checkpoint.interval off --run.dir "$run" >"$log" 2>&1 &
  launcher=$!
  trap 'kill -9 "$launcher" 2>/dev/null || true; ranks_of "$run" | xargs -r kill -9; exit 143' INT TERM HUP
  while ((SECONDS - begun < 40 && $(left) > 15)); do
    [[ ! -s $run/metrics.jsonl ]] || break
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  victim=$(ranks_of "$run" | tail -n 1)
  if [[ ! -s $run/metrics.jsonl || -z $victim ]]; then
    failures+=("the run of two ranks did not begin (see $log)")
    kill "$launcher" 2>/dev/null || true
    trap - INT TERM HUP
    return
  fi
  before=$SECONDS
  kill -s "$1" "$victim"
  while ((SECONDS - before < 15)); do
    [[ -n $(ranks_of "$run" | grep -vx "$victim" || true) ]] || break
    sleep 0.1
  done
  if ((SECONDS - before > 10)); then failures+=("SIG$1: the other rank lived for $((SECONDS - before)) s (see $log)"); fi
  echo "the other rank had ended after $((SECONDS - before)) s"
  kill -9 "$victim" "$launcher" 2>/dev/null || true
  ranks_of "$run" | xargs -r kill -9
  wait "$launcher" 2>/dev/null || true
  trap - INT TERM HUP
}

check_end() {
  python3 "$here/make_text.py" "$output/text.txt" 200000
  "$bin/octet" prepare --input "$output/text.txt" --output "$output/tokens" >"$output/prepare.log" 2>&1 ||
    { failures+=('octet prepare') && return; }
  end_one KILL
  end_one STOP
}

cd "$root"  # models are found from here, too
# Four ranks that take turns on one GPU need more than twice as long as two.
suite 'contract and trainers over NCCL, 2 ranks' nccl-2 100 2 'Gpu*:*OnTheGpu*'
suite 'contract and trainers over NCCL, 4 ranks' nccl-4 240 4 'Gpu*:*OnTheGpu*'
check_end
# NCCL loads the plugin, and what its file says changes what NCCL would do; a process of its own (tests/nccl/tuner_test.cpp).
NCCL_TUNER_PLUGIN=$(dirname "$bin")/lib/libnccl-tuner-octet.so suite 'the tuner plugin inside NCCL' tuner 40 2 'TunerInNccl.*'
measure 2
measure 4
if ((${#failures[@]})); then
  verdict ranks FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') ($SECONDS s)"
fi
verdict ranks PASSED "2 and 4 ranks on one GPU ($SECONDS s)"
