# Shared by the scripts in this folder, which run from an unpacked bundle (bin/ beside jobs/) and from a source tree
# with a CUDA build (build/cuda/bin). Sourced, not run.
# shellcheck shell=bash
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

# Started by srun --mpi=pmi2, the scripts run several programs of one rank one after the other, and every one of them
# would use the step's one connection to its launcher, which serves the first alone. Without these variables MPI starts
# each as a rank of its own.
unset "${!PMI_@}" "${!PMIX_@}"

# verdict NAME PASSED|FAILED|SKIPPED TEXT: the last line of every script; ends it. 1 for FAILED, else 0.
verdict() {
  echo "$1: $2: $3"
  [[ $2 != FAILED ]] && exit 0
  exit 1
}

# bounded SECONDS COMMAND...: ends it after so many seconds (exit code 124), and when the script itself is ended: timeout
# has a process group of its own, so that what it runs would stay on the GPU beside whatever comes next.
bounded() {
  local child code=0
  timeout --kill-after=5 "$@" &
  child=$!
  trap 'kill "$child" 2>/dev/null; exit 143' INT TERM HUP
  wait "$child" || code=$?
  trap - INT TERM HUP
  return "$code"
}

# usage_of FILE: its head comment.
usage_of() { sed -n '2,/^[^#]/{/^[^#]/!s/^# \{0,1\}//p}' "$1"; }

# find_folder_of PROGRAM: sets bin to the first folder of programs that has it.
find_folder_of() {
  local folder
  for folder in "${OCTET_BIN:-}" "$root/bin" "$root/build/cuda/bin" "$root/build/cpu/bin"; do
    if [[ -n $folder && -x $folder/$1 ]]; then
      bin=$(cd "$folder" && pwd) && return
    fi
  done
  return 1
}

# find_programs SCRIPT: sets bin to the folder of the programs ($OCTET_BIN overrides); exit 64 where there is none.
find_programs() {
  if find_folder_of octet-test-gpu; then
    [[ -x $bin/octet-bench-gpu ]] || { echo "$1: no octet-bench-gpu in $bin" >&2 && exit 64; }
    return
  fi
  echo "$1: no octet-test-gpu in $root/bin or $root/build/cuda/bin: unpack the bundle, or build it with" \
    "'cmake --preset cuda && cmake --build --preset cuda', or name its folder in OCTET_BIN" >&2
  exit 64
}

# need_gpu SCRIPT: ends the script where there is no GPU (SKIPPED), or one that CUDA cannot use (FAILED). The driver's
# device files say that there is one. $OCTET_GPU_FILES is for the scripts' own test.
need_gpu() {
  local reason
  reason=$("$bin/octet-bench-gpu" --device 2>&1 >/dev/null) && return
  reason=${reason:-octet-bench-gpu --device failed without a word}
  if compgen -G "${OCTET_GPU_FILES:-/dev/nvidia[0-9]*}" >/dev/null; then
    verdict "$1" FAILED "this machine has a GPU that CUDA cannot use: $reason"
  fi
  verdict "$1" SKIPPED "$reason"
}

# small_run: what the short training runs of check.sh and resume.sh have in common, beside --train.micro_batch.
# shellcheck disable=SC2034  # used by those that source this
small_run=(--train.seq_len 128 --train.global_batch 2 --data.validation_fraction 0 --optimizer.lr 1e-3 --schedule.kind constant)

# prepare_tokens FOLDER: FOLDER/tokens, words drawn by a fixed rule, for --data.train. Not 0 when that fails, with the log.
prepare_tokens() {
  if ! { python3 "$here/make_text.py" "$1/text.txt" 200000 &&
    "$bin/octet" prepare --input "$1/text.txt" --output "$1/tokens"; } >"$1/prepare.log" 2>&1; then
    tail -n 5 "$1/prepare.log"
    return 1
  fi
}

# read_profile_options SCRIPT OPTION...: sets output and model, of the scripts that compare profiles of steps.
read_profile_options() {
  local script=$1
  output='' model=1.8b
  shift
  while (($#)); do
    case $1 in
      -h | --help) usage_of "$0" && exit ;;
      --output | --model)
        (($# > 1)) || { echo "$script: $1 needs a value" >&2 && exit 64; }
        printf -v "${1#--}" %s "$2" && shift ;;
      *) echo "$script: unknown option $1 (see --help)" >&2 && exit 64 ;;
    esac
    shift
  done
  output=$(realpath -m "${output:-$root/runs/gpu-$script-$(date +%Y%m%d-%H%M%S)}")
  [[ ! -e $output ]] || { echo "$script: --output $output exists; name a new folder" >&2 && exit 64; }
}

# begin_profiles SCRIPT: the folder, and tokens in it; models are found from where it goes.
begin_profiles() {
  cd "$root" || exit
  mkdir -p "$output"
  prepare_tokens "$output" || verdict "$1" FAILED 'octet prepare'
  export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
}

# profile_run SCRIPT NAME SECONDS PROGRAM...: trains 10 steps, of which the last three are profiled, in $output/NAME. No
# step is a CUDA graph, since one with exchanges cannot be: else graphs would be a part of the difference.
profile_run() {
  local code=0 log=$output/$2.log
  echo "== $2 (log: $log)"
  bounded "$3" "${@:4}" --model "$model" --precision float8 --device cuda --cuda.graphs false \
    --train.seq_len 4096 --train.micro_batch 1 --train.steps 10 --train.profile 8-10 --data.train "$output/tokens" \
    --data.validation_fraction 0 --schedule.kind constant --checkpoint.interval off --run.dir "$output/$2" >"$log" 2>&1 ||
    code=$?
  ((code == 0)) || verdict "$1" FAILED "$2: exit code $code (see $log)"
}
