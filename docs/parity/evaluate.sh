#!/usr/bin/env bash
# Evaluates the runs of docs/parity on text that none of them has seen, in 16-bit weights: bits per byte with its 95 %
# interval, and each recipe's difference from bf16 of the same seed, document by document (docs/evaluation.md).
# Usage: docs/parity/evaluate.sh [--seeds "1 2 3"] [--documents N] OUTPUT
#   --documents   dictionary entries that are scored (default 5000)
#   OUTPUT        the folder that run.sh filled; results go to OUTPUT/evaluated
set -euo pipefail

seeds='1 2 3' documents=5000 output=''
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    --seeds) seeds=${2:?--seeds needs whole numbers} && shift ;;
    --documents) documents=${2:?--documents needs a number} && shift ;;
    -*) echo "evaluate.sh: unknown option $1 (see --help)" >&2 && exit 64 ;;
    *) output=$(realpath -m "$1") ;;
  esac
  shift
done
[[ -n $output ]] || { echo 'evaluate.sh: name the folder of the runs (see --help)' >&2 && exit 64; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=${OCTET_EVALUATE:-build/cpu/bin/octet-evaluate}
[[ -x $program ]] || { echo "evaluate.sh: build first: there is no $program" >&2 && exit 64; }
mkdir -p data
[[ -s data/held-out.txt ]] || jobs/english-text.sh data/held-out.txt 2

for seed in $seeds; do
  for recipe in tensorwise rowwise rowwise_with_gw_hp delayed blockwise; do
    name=$recipe-seed$seed run=$output/$recipe-seed$seed
    [[ -d $run ]] || { echo "$name is not there" && continue; }
    "$program" "$run" --compare "$output/bf16-seed$seed" --text data/held-out.txt --split-documents blank-lines \
      --documents "$documents" --output "$output/evaluated/$name" >"$output/evaluated-$name.log" 2>&1 ||
      { echo "$name ended with exit code $?: $output/evaluated-$name.log" && exit 1; }
  done
done

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
