#!/usr/bin/env bash
# docs/parity/run.sh and evaluate.sh with other programs in the place of octet-train and octet-evaluate: the commands that
# docs/parity/README.md shows start their runs, --steps shortens those that it is for, and each run that is there is
# evaluated; and the page's tables are those of its data. Usage: tests/checks/parity_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{docs,build/cpu/bin,data}
cp -r docs/parity "$folder/docs"
cd "$folder"
echo text | tee data/english.txt >data/english.idx
cat >build/cpu/bin/octet-train <<'PROGRAM'
#!/usr/bin/env bash
echo "$@" >>started
PROGRAM
chmod +x build/cpu/bin/octet-train

wrong() { echo "parity_test.sh: $*" >&2 && exit 1; }
started() {  # RUNS PART COMMAND...: the command starts so many runs, all with this part in their arguments
  local runs=$1 part=$2
  shift 2  # the rest is the command
  rm -f started
  "$@" >said || wrong "$*: exit code $?: $(cat said)"
  [[ $(wc -l <started) == "$runs" ]] || wrong "$*: $(wc -l <started) runs, expected $runs"
  [[ $(grep -c -e "$part" started) == "$runs" ]] || wrong "$*: not all have '$part': $(cat started)"
}
refused() {
  local code=0
  "$@" 2>said || code=$?
  [[ $code == 64 ]] || wrong "$*: exit code $code, expected 64"
}

python3 docs/parity/collect.py --check || wrong 'README.md has other tables than metrics/ and evaluated.csv'
sed -i 's/^60-steps,EPYC,blockwise,3.6034/60-steps,EPYC,blockwise,3.6035/' docs/parity/evaluated.csv
! python3 docs/parity/collect.py --check >said || wrong 'collect.py --check does not see another figure'
grep -q 'no row .*blockwise.* 3\.6035 ' said || wrong "collect.py --check names another row: $(cat said)"

mapfile -t shown < <(sed -n 's/ *#.*//; /^docs\/parity\/run.sh/p' docs/parity/README.md)
runs=(18 15 3 6)  # of three seeds: six recipes, five ways to sum, one of rounding; of one seed: the recipes
((${#shown[@]} == ${#runs[@]})) || wrong "README.md shows ${#shown[@]} commands, expected ${#runs[@]}"
for i in "${!shown[@]}"; do started "${runs[i]}" --run.seed bash -c "${shown[i]}"; done

started 6 '--train.steps 60 --schedule.warmup_steps 10 --schedule.decay_steps 20' \
  docs/parity/run.sh --steps 60 --seeds 1 out
started 5 '--train.steps 100 ' docs/parity/run.sh --table accumulators --seeds 1 out
started 12 '' docs/parity/run.sh --seeds '1 2' out
! grep -q -e '--train.steps' started || wrong 'whole runs are shortened'
mkdir gpu && cp build/cpu/bin/octet-train gpu && cp build/cpu/bin/octet-train gpu/octet-evaluate
OCTET_BIN=gpu started 16 '--device cuda' docs/parity/run.sh --table gpu --seeds '1 2' out
refused docs/parity/run.sh --table gpu out  # no program for GPUs is there
refused docs/parity/run.sh --table tpu out
refused docs/parity/run.sh --steps 5 out
refused docs/parity/run.sh --steps many out
refused docs/parity/run.sh --table accumulators --steps 60 out
refused docs/parity/run.sh --train.steps 60 out
mkdir -p out/gpu-{bf16,bf16_again,tensorwise,blockwise}-seed{1,2} && echo text >data/held-out.txt
OCTET_BIN=gpu started 6 '--compare .*/out/gpu-bf16-seed[12] .*--device cuda' \
  docs/parity/evaluate.sh --table gpu --seeds '1 2' --at-once 2 out
grep -q 'gpu-delayed-seed1 is not there' said || wrong 'a run that is not there is not named'
refused docs/parity/evaluate.sh out  # no octet-evaluate for the CPU is there
echo 'the runs of docs/parity are started as README.md has it'
