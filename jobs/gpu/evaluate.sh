#!/usr/bin/env bash
# Checks what octet-evaluate and octet generate say on the GPU against the CPU, in at most 3 minutes: a small run's loss of a
# text in fp32 (within 1e-4 relative), bf16 and float8 (1e-2), the log-likelihood of each choice of a task of 60 questions
# (likewise), and the text that fp32 writes on behind prompts, which must be the same to the letter. Needs no network. Skips
# with a reason where there is no GPU.
# Usage: jobs/gpu/evaluate.sh [--output DIR] [--device cuda|cpu] [--model NAME]
#   --output DIR      where logs and results go (default runs/gpu-evaluate-DATE); must not exist
#   --device DEVICE   what is held against the CPU: cuda (default), or cpu: the same on a machine without a GPU
#   --model NAME      of configs/models, or a file (default 10m)
# Ends with one line: evaluate: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output='' device=cuda model=10m
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --output | --device | --model)
      (($# > 1)) || { echo "evaluate: $1 needs a value" >&2 && exit 64; }
      printf -v "${1#--}" %s "$2" && shift ;;
    *) echo "evaluate: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
[[ $device =~ ^(cuda|cpu)$ ]] || { echo "evaluate: --device $device: expected cuda or cpu" >&2 && exit 64; }
if [[ $device == cuda ]]; then
  find_programs evaluate
  need_gpu evaluate
elif ! find_folder_of octet-evaluate; then
  echo "evaluate: no octet-evaluate in $root/bin or $root/build: build it, or name its folder in OCTET_BIN" >&2 && exit 64
fi
command -v python3 >/dev/null || verdict evaluate SKIPPED 'it needs python3 (its standard library)'
output=$(realpath -m "${output:-$root/runs/gpu-evaluate-$(date +%Y%m%d-%H%M%S)}")
[[ ! -e $output ]] || { echo "evaluate: --output $output exists; name a new folder" >&2 && exit 64; }
mkdir -p "$output"
failures=()
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

# run LOG COMMAND...: within what is left of the time; says the log's end where it fails.
run() {
  local code=0 left=$((SECONDS < 175 ? 175 - SECONDS : 1))
  bounded "$left" "${@:2}" 2>>"$1" || code=$?
  ((code)) || return 0
  echo "$(basename "$2"): exit code $code, end of $1:" >&2 && tail -n 5 "$1" | sed 's/^/    /' >&2
  return 1
}

train() {
  run "$output/train.log" "$bin/octet-train" --model "$model" --precision fp32 --device cpu --train.steps 30 "${small_run[@]}" \
    --train.micro_batch 2 --data.train "$output/tokens" --checkpoint.interval auto --run.dir "$output/run" >"$output/train.out"
}

# score DEVICE PRECISION NAME: $output/NAME/results.json. In rows of the same tokens, which float8 scales together.
# shellcheck disable=SC2317  # compare calls it by name
score() {
  run "$output/$3.log" "$bin/octet-evaluate" "$output/run" --device "$1" --precision "$2" --text "$output/held-out.txt" \
    --split-documents blank-lines --row-tokens 512 --output "$output/$3" >"$output/$3.out"
}

# ask DEVICE PRECISION NAME: the same of the task.
# shellcheck disable=SC2317  # likewise
ask() {
  run "$output/$3.log" "$bin/octet-evaluate" "$output/run" --device "$1" --precision "$2" --tasks "$output/own.yaml" \
    --row-tokens 512 --output "$output/$3" >"$output/$3.out"
}

# write_on DEVICE NAME: $output/NAME.txt, what comes behind each prompt.
write_on() {
  local prompt
  for prompt in 'The ' 'a longer text, with some words in it: '; do
    run "$output/$2.log" "$bin/octet" generate "$output/run" --device "$1" --precision fp32 --tokens 48 --prompt "$prompt" \
      >>"$output/$2.txt" || return 1
  done
}

# compare WHAT NAME PRECISION: `score` or `ask`, on the CPU and on the device, and a row about them.
compare() {
  local tolerance=1e-2
  [[ $3 != fp32 ]] || tolerance=1e-4
  "$1" cpu "$3" "$2-a" && "$1" "$device" "$3" "$2-b" &&
    python3 "$here/compare_scores.py" "$2" "$tolerance" "$output/$2-a" "$output/$2-b"
}

check_scores() {
  local precision
  printf '%-10s %12s %12s %12s %9s\n' precision CPU "$device" difference tolerance
  for precision in fp32 bf16 float8; do
    compare score "$precision" "$precision" || failures+=("the loss in $precision")
  done
  if ! python3 "$here/make_task.py" "$output/text.txt" "$output" 60; then
    failures+=('the task')
    return
  fi
  for precision in fp32 bf16; do
    compare ask "task-$precision" "$precision" || failures+=("the task in $precision")
  done
}

check_text() {
  if ! { write_on cpu text-a && write_on "$device" text-b; }; then
    failures+=('octet generate')
  elif ! cmp "$output/text-a.txt" "$output/text-b.txt"; then
    failures+=('the generated text')
  else
    echo "generated: $(wc -c <"$output/text-a.txt") bytes, the same on both"
  fi
}

cd "$root"  # models are found from here, too
echo "== a run evaluated on the CPU and on $device (logs and results: $output)"
if prepare_tokens "$output" && head -c 20000 "$output/text.txt" >"$output/held-out.txt" && train; then
  check_scores
  check_text
else
  failures+=('the run')
fi
if ((${#failures[@]})); then
  verdict evaluate FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') (see $output) ($SECONDS s)"
fi
verdict evaluate PASSED "losses, choices and generated text of the CPU and of $device ($SECONDS s)"
