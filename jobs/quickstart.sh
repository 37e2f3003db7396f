#!/usr/bin/env bash
# From a bare machine with Debian 12 or 13 to two trained models: installs what is missing, builds, prepares real English
# text, trains a 5-million-parameter Llama on it in bf16 and then in float8, and shows both. 10 to 20 minutes on two cores.
# Usage: jobs/quickstart.sh [--text FILE|FOLDER] [--steps N] [--ranks N] [--output DIR]
#   --text FILE|FOLDER   your own text (default: an English dictionary from a Debian package)
#   --steps N            training steps of each run (default: what configs/runs/english-5m.yaml says)
#   --ranks N            MPI ranks (default 2)
#   --output DIR         where the two runs and the picture go (default runs/quickstart-DATE); must not exist
set -euo pipefail

fail() { echo "quickstart.sh: $1" >&2 && exit 64; }
count() { [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1 must be a positive whole number, not '$2'"; }

text='' steps='' ranks=2 output=''
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    --text | --steps | --ranks | --output) [[ -n ${2:-} ]] || fail "$1 needs a value (see --help)" ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  case $1 in
    --text) text=$(realpath -e "$2" 2>/dev/null) || fail "--text $2: no such file or folder" ;;
    --steps) count --steps "$2" && steps=$2 ;;
    --ranks) count --ranks "$2" && ranks=$2 ;;
    --output) output=$(realpath -m "$2") ;;
  esac
  shift 2
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${output:-$PWD/runs/quickstart-$(date +%Y%m%d-%H%M%S)}
[[ ! -e $output ]] || fail "--output $output exists; name a new folder"

config=configs/runs/english-5m.yaml
in_config() { sed -n "s/^ *$1: *\([0-9]*\).*/\1/p" "$config"; }
batch=$(in_config global_batch) at_once=$(in_config micro_batch)
((batch % (ranks * at_once) == 0)) ||
  fail "--ranks $ranks: a step of $config has $batch sequences, of which each rank computes $at_once at once; expected ranks that share them evenly"

stage() { printf '\n== %s  [%d:%02d]\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

stage 'Installing what is missing'
text_packages=()  # of jobs/english-text.sh: a user without root hears of it before the build, not behind it
[[ -n $text || -s data/english.txt ]] || text_packages=(dict-gcide)
jobs/install-packages.sh "${text_packages[@]}"

stage 'Building'
mkdir -p build data
# A bare machine has no GoogleTest, and is fastest in batches of sources; a build that is there keeps its options.
first=()
[[ -e build/cpu/CMakeCache.txt ]] || first=(-DOCTET_TESTS=OFF -DOCTET_UNITY=12)
cmake --preset cpu "${first[@]}" >build/configure.log 2>&1 || { cat build/configure.log && exit 1; }
ninja -C build/cpu octet octet-train

stage 'Preparing the text'
if [[ -n $text ]]; then
  tokens=data/$(basename "$text" | tr -cs 'a-zA-Z0-9\n' '-')-$(cksum <<<"$text" | cut -d ' ' -f 1)
else
  text=data/english.txt tokens=data/english
  [[ -s $text ]] || jobs/english-text.sh "$text"
fi
if [[ -s $tokens.idx && -z $(find "$text" -newer "$tokens.idx" -print -quit) ]]; then
  echo "$tokens.bin and .idx are there and newer than the text"
else
  build/cpu/bin/octet prepare --input "$text" --output "$tokens" --overwrite
fi

mkdir -p "$output"
train=(mpiexec -n "$ranks" build/cpu/bin/octet-train "$config" --data.train "$tokens")
if [[ -n $steps ]]; then  # warm-up and decay in the config's proportions
  train+=(--train.steps "$steps" --schedule.warmup_steps $((steps * 2 / 25)) --schedule.decay_steps $((steps * 2 / 5)))
fi
for precision in bf16 float8; do
  stage "Training in $precision on $ranks ranks"
  "${train[@]}" --precision "$precision" --run.dir "$output/$precision" 2>&1 | tee "$output/$precision.log"
done

stage 'Results'
runs=("$output/bf16" "$output/float8")
jobs/loss_table.sh "${runs[@]}"
setting() { sed -n "s/^ *$1: *\([0-9.e-]*\).*/\1/p" "$output/bf16/config.yaml" | head -n 1; }
entropies=$(build/cpu/bin/octet inspect "$tokens" --seq_len "$(setting seq_len)" \
  --validation_fraction "$(setting validation_fraction)" | sed -n 's/^ *validation *\(order 0.*\)/\1/p')
echo "byte entropies of the validation split: $entropies"
order1=$(sed -n 's/.*order 1 \([0-9.]*\).*/\1/p' <<<"$entropies")
jobs/plot_loss.sh --output "$output/loss.png" --title "English text, 5 million parameters, $ranks ranks" \
  --level "order-1 byte entropy=$order1" "${runs[@]}"
echo "picture of both loss curves: $output/loss.png"

# What the two runs are to show. With the default text and steps it is a failure when they do not.
last_validation() { awk -f jobs/metrics.awk "$output/$1/metrics.jsonl" | awk '$3 != "-" { v = $3 } END { print v }'; }
verdict=$(awk -v bf16="$(last_validation bf16)" -v float8="$(last_validation float8)" -v order1="$order1" 'BEGIN {
  learned = bf16 < order1 && float8 < order1
  difference = (float8 > bf16 ? float8 - bf16 : bf16 - float8) / bf16 * 100
  printf "both validation losses are below the order-1 entropy: %s\n", learned ? "yes" : "NO"
  printf "float8 is within 1 %% of bf16: %s (%.2f %%)\n", difference <= 1 ? "yes" : "NO", difference
}')
echo "$verdict"
printf 'done in %d:%02d\n' $((SECONDS / 60)) $((SECONDS % 60))
[[ -n $steps || $tokens != data/english || $verdict != *NO* ]]
