#!/usr/bin/env bash
# Checks that a run which is killed goes on to the same bits, in at most 3 minutes: in bf16 and in float8 a run that saves
# every 10 steps gets SIGKILL at a step drawn by chance, goes on from its newest checkpoint, and must then have logged the
# losses and gradient norms of a run that nothing happened to, each to the bit. On the GPU with cuda.deterministic. Needs
# no network. Skips with a reason where there is no GPU.
# Usage: jobs/gpu/resume.sh [--output DIR] [--device cuda|cpu] [--model NAME] [--precisions LIST]
#   --output DIR        where logs and runs go (default runs/gpu-resume-DATE); must not exist
#   --device DEVICE     cuda (default), or cpu: the same on a machine without a GPU
#   --model NAME        of configs/models, or a file (default 10m)
#   --precisions LIST   of fp32, bf16, float8 (default bf16,float8)
# Ends with one line: resume: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output='' device=cuda model=10m precisions=bf16,float8
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --output | --device | --model | --precisions)
      (($# > 1)) || { echo "resume: $1 needs a value" >&2 && exit 64; }
      printf -v "${1#--}" %s "$2" && shift ;;
    *) echo "resume: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
[[ $device =~ ^(cuda|cpu)$ ]] || { echo "resume: --device $device: expected cuda or cpu" >&2 && exit 64; }
[[ $precisions =~ ^(fp32|bf16|float8)(,(fp32|bf16|float8))*$ ]] ||
  { echo "resume: --precisions $precisions: expected a list of fp32, bf16 and float8" >&2 && exit 64; }
if [[ $device == cuda ]]; then
  find_programs resume
  need_gpu resume
elif ! find_folder_of octet-train; then
  echo "resume: no octet-train in $root/bin or $root/build: build it, or name its folder in OCTET_BIN" >&2 && exit 64
fi
command -v python3 >/dev/null || verdict resume SKIPPED 'it needs python3 (its standard library)'
output=$(realpath -m "${output:-$root/runs/gpu-resume-$(date +%Y%m%d-%H%M%S)}")
[[ ! -e $output ]] || { echo "resume: --output $output exists; name a new folder" >&2 && exit 64; }
mkdir -p "$output"
failures=()
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

seconds_left() { echo $((SECONDS < 175 ? 175 - SECONDS : 1)); }

# train PRECISION RUN STEPS OPTION...: adds to RUN.log; ended with this script. cuda.deterministic: without it cuBLASLt
# and cuDNN may sum in another order from run to run.
train() {
  local options=("${@:4}")
  [[ $device != cuda ]] || options+=(--cuda.deterministic true)
  bounded "$(seconds_left)" "$bin/octet-train" --model "$model" --precision "$1" --device "$device" \
    --train.steps "$3" "${small_run[@]}" --train.micro_batch 1 --data.train "$output/tokens" --run.dir "$2" \
    "${options[@]}" >>"$2.log" 2>&1
}

lines_of() { wc -l 2>/dev/null <"$1/metrics.jsonl" || echo 0; }
has_checkpoint() { compgen -G "$1/checkpoints/step-*" | grep -qv '\.tmp$'; }

# kill_at STEP PRECISION RUN: a run that would last for ever, until it has logged so many steps and saved once. Not 0
# when it ends before.
kill_at() {
  local process victim
  (train "$2" "$3" 1000000 --checkpoint.interval 10) &
  process=$!
  trap 'kill "$process" 2>/dev/null; exit 143' INT TERM HUP
  until (($(lines_of "$3") >= $1)) && has_checkpoint "$3"; do
    kill -0 "$process" 2>/dev/null || return 1
    sleep 0.02
  done
  victim=$(pgrep -P "$(pgrep -P "$process")")  # the child of timeout, which is a child of the subshell
  [[ -n $victim ]] || return 1
  kill -9 "$victim"
  wait "$process" 2>/dev/null || true
  trap - INT TERM HUP
}

said() { sed 's/^/    /' <(tail -n 5 "$1.log"); }

check_precision() {
  local precision=$1 killed=$output/$1-killed whole=$output/$1-whole step=$((15 + RANDOM % 30)) steps
  if ! kill_at "$step" "$precision" "$killed"; then
    echo "$precision: the run ended before it could be killed at step $step:" && said "$killed" && return 1
  fi
  steps=$(($(lines_of "$killed") + 10))
  train "$precision" "$killed" "$steps" --checkpoint.interval 10 --checkpoint.resume must ||
    { echo "$precision: the run does not go on:" && said "$killed" && return 1; }
  train "$precision" "$whole" "$steps" --checkpoint.interval off ||
    { echo "$precision: the run that nothing happens to fails:" && said "$whole" && return 1; }
  python3 "$here/same_losses.py" "$precision" "$steps" "$whole" "$killed"
}

cd "$root"  # models are found from here, too
echo "== runs killed at a step drawn by chance, on $device (logs and metrics: $output)"
if prepare_tokens "$output"; then
  for precision in ${precisions//,/ }; do check_precision "$precision" || failures+=("$precision"); done
else
  failures+=('octet prepare')
fi
if ((${#failures[@]})); then
  verdict resume FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') (see $output) ($SECONDS s)"
fi
verdict resume PASSED "$precisions on $device, to the bit ($SECONDS s)"
