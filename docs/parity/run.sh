#!/usr/bin/env bash
# Trains the runs of docs/parity: the same model on the same data in bf16 and with each float8 recipe, or with each way
# of summing fp8 products, from several seeds. Ended or interrupted, the same command goes on from the checkpoints.
# Usage: docs/parity/run.sh [--table recipes|rounding|accumulators|gpu] [--seeds "1 2 3"] [--steps N] [--at-once N] OUTPUT
#   --table     which runs (default recipes: about half an hour each on one core). gpu: the recipes on a GPU, bf16 twice
#   --steps     shorter runs of all but accumulators: warm-up of a sixth of the steps, decay over the last third
#   --at-once   runs side by side, each with its share of the cores (default 2)
#   OUTPUT      a folder for the run directories; `docs/parity/collect.py OUTPUT` makes the tables from it
# OCTET_BIN names the folder of the programs (default build/cpu/bin; for gpu build/cuda/bin).
set -euo pipefail

fail() { echo "run.sh: $1" >&2 && exit 64; }

table=recipes seeds='1 2 3' steps='' at_once=2 output=''
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    --table | --seeds | --steps | --at-once)
      [[ -n ${2:-} ]] || fail "$1 needs a value (see --help)"
      option=${1#--} && printf -v "${option//-/_}" %s "$2" && shift ;;
    -*) fail "unknown option $1 (see --help)" ;;
    *) [[ -z $output ]] || fail "'$1' is one word too many (see --help)"
      output=$(realpath -m "$1") ;;
  esac
  shift
done
[[ -n $output ]] || fail 'name a folder for the runs (see --help)'
[[ $seeds =~ ^[0-9]+(\ +[0-9]+)*$ ]] || fail "--seeds '$seeds', expected whole numbers"
[[ $at_once =~ ^[1-9][0-9]*$ ]] || fail "--at-once '$at_once', expected a number from 1 on"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

shorter=()
if [[ -n $steps ]]; then
  [[ $steps =~ ^[1-9][0-9]*$ && $steps -ge 6 && $table != accumulators ]] ||
    fail "--steps '$steps' of table $table, expected a number from 6 on, of recipes, rounding or gpu"
  shorter=(--train.steps "$steps" --schedule.warmup_steps $((steps / 6)) --schedule.decay_steps $((steps / 3)))
fi

# NAME and what sets the run apart.
programs=${OCTET_BIN:-build/cpu/bin}
recipes=(tensorwise rowwise rowwise_with_gw_hp delayed blockwise)
case $table in
  recipes)
    variants=(bf16 "--precision bf16")
    for recipe in "${recipes[@]}"; do variants+=("$recipe" "--precision float8 --float8.recipe $recipe"); done
    ;;
  gpu)  # bf16 twice, to see whether two runs of a seed differ: attention's backward may add in another order
    programs=${OCTET_BIN:-build/cuda/bin}
    variants=(gpu-bf16 "--precision bf16 --device cuda" gpu-bf16_again "--precision bf16 --device cuda")
    for recipe in "${recipes[@]}"; do
      variants+=("gpu-$recipe" "--precision float8 --float8.recipe $recipe --device cuda")
    done
    variants+=(gpu-tensorwise_fast_all "--precision float8 --float8.fast_accumulate all --device cuda")
    ;;
  rounding) variants=(bf16_reordered "--precision bf16 --train.micro_batch 4") ;;  # bf16, sums in another order
  accumulators)  # the emulation is slow: the beginning of a run, with a schedule of its own
    short='--train.steps 100 --train.validate_every 50 --schedule.warmup_steps 10 --schedule.decay_steps 40 --checkpoint.interval 10'
    variants=(short-bf16 "--precision bf16 $short")
    for sums in fp32 hopper hopper_fast hopper_slow; do
      variants+=("sums-$sums" "--precision float8 --float8.accumulate $sums $short")
    done
    ;;
  *) fail "--table '$table', expected recipes, rounding, accumulators or gpu" ;;
esac

[[ -x $programs/octet-train ]] ||
  fail "build first (README.md), or name the folder of the programs in OCTET_BIN: no $programs/octet-train"
mkdir -p data "$output"
[[ -s data/english.txt ]] || jobs/english-text.sh data/english.txt
[[ -s data/english.idx ]] || "$programs/octet" prepare --input data/english.txt --output data/english

threads=$(($(nproc) / at_once))
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=$((threads > 0 ? threads : 1))
one() {  # DIRECTORY ARGUMENTS: a run that has finished is left alone
  local directory=$1
  shift  # the rest are arguments
  if grep -qs '"finished"' "$directory/status.json"; then
    echo "$(basename "$directory") has finished before"
    return
  fi
  # shellcheck disable=SC2068  # one word holds several arguments
  "$programs/octet-train" docs/parity/run.yaml --run.dir "$directory" $@ >>"$directory.log" 2>&1 ||
    { echo "$(basename "$directory") ended with exit code $?: $directory.log" && return 1; }
  echo "$(basename "$directory") has finished"
}
export -f one
export programs
for seed in $seeds; do
  for ((i = 0; i < ${#variants[@]}; i += 2)); do
    printf '%s\0' "$output/${variants[i]}-seed$seed ${variants[i + 1]} --run.seed $seed ${shorter[*]}"
  done
done | xargs -0 -P "$at_once" -I{} bash -c 'one {}'
