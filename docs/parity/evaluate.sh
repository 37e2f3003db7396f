#!/usr/bin/env bash
# Evaluates the runs of docs/parity on text that none of them has seen, in 16-bit weights: bits per byte with its 95 %
# interval, and each recipe's difference from bf16 of the same seed, document by document (docs/evaluation.md).
# Usage: docs/parity/evaluate.sh [--table recipes|gpu] [--seeds "1 2 3"] [--documents N] [--at-once N] OUTPUT
#   --table       which of run.sh's runs (default recipes); gpu: on a GPU
#   --documents   dictionary entries that are scored (default 5000)
#   --at-once     runs that are evaluated side by side (default 1)
#   OUTPUT        the folder that run.sh filled; results go to OUTPUT/evaluated
# OCTET_BIN names the folder of the programs (default build/cpu/bin; for gpu build/cuda/bin).
set -euo pipefail

fail() { echo "evaluate.sh: $1" >&2 && exit 64; }

table=recipes seeds='1 2 3' documents=5000 at_once=1 output=''
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    --table | --seeds | --documents | --at-once)
      [[ -n ${2:-} ]] || fail "$1 needs a value (see --help)"
      option=${1#--} && printf -v "${option//-/_}" %s "$2" && shift ;;
    -*) fail "unknown option $1 (see --help)" ;;
    *) [[ -z $output ]] || fail "'$1' is one word too many (see --help)"
      output=$(realpath -m "$1") ;;
  esac
  shift
done
[[ -n $output ]] || fail 'name the folder of the runs (see --help)'
[[ $seeds =~ ^[0-9]+(\ +[0-9]+)*$ ]] || fail "--seeds '$seeds', expected whole numbers"
[[ $documents =~ ^[1-9][0-9]*$ ]] || fail "--documents '$documents', expected a number from 1 on"
[[ $at_once =~ ^[1-9][0-9]*$ ]] || fail "--at-once '$at_once', expected a number from 1 on"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
recipes='tensorwise rowwise rowwise_with_gw_hp delayed blockwise'
case $table in
  recipes) programs=${OCTET_BIN:-build/cpu/bin} device=cpu prefix='' ;;
  gpu) programs=${OCTET_BIN:-build/cuda/bin} device=cuda prefix=gpu- recipes="bf16_again $recipes tensorwise_fast_all" ;;
  *) fail "--table '$table', expected recipes or gpu" ;;
esac
export program=$programs/octet-evaluate output documents device prefix
[[ -x $program ]] || fail "build first (README.md), or name the folder of the programs in OCTET_BIN: no $program"
mkdir -p data "$output/evaluated"
[[ -s data/held-out.txt ]] || jobs/english-text.sh data/held-out.txt 2

one() {  # RECIPE SEED: beside bf16 of its seed; again from where an interrupted call left off
  local name=$prefix$1-seed$2
  [[ -d $output/$name ]] || { echo "$name is not there" && return; }
  "$program" "$output/$name" --compare "$output/${prefix}bf16-seed$2" --text data/held-out.txt --split-documents blank-lines \
    --documents "$documents" --device "$device" --output "$output/evaluated/$name" --overwrite >"$output/evaluated-$name.log" 2>&1 ||
    { echo "$name ended with exit code $?: $output/evaluated-$name.log" && return 1; }
}
export -f one
for seed in $seeds; do
  for recipe in $recipes; do printf '%s %s\0' "$recipe" "$seed"; done
done | xargs -0 -P "$at_once" -I{} bash -c 'one {}'

python3 - "$output/evaluated" <<'PYTHON'
import json, pathlib, sys

def shown(numbers, key, sign=""):
    low, high = numbers[f"{key}_interval"]
    return f"{numbers[key]:{sign}.4f} [{low:{sign}.4f}, {high:{sign}.4f}]"

print("| run | bits per byte | bf16 of its seed | difference |\n|---|---|---|---|")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/results.json")):
    r = json.loads(path.read_text(encoding="utf-8"))
    key = "bits_per_byte"
    print(f"| `{path.parent.name}` | {shown(r['results']['text'], key)} | {shown(r['compare']['results']['text'], key)} | {shown(r['difference'], key, '+')} |")
PYTHON
