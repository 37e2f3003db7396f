#!/usr/bin/env bash
# Speed of Octet beside PyTorch: the same models, threads and batches, run in turn, as a Markdown table of ratios.
#
#   python3 -m venv venv && venv/bin/pip install torch numpy        (torch.compile also needs g++)
#   tests/benchmark/compare_torch.sh --python venv/bin/python > result.md
#   tests/benchmark/compare_torch.sh --torch none --octet tp,recompute --models 10m      (Octet beside itself, no torch)
#
# Every round runs each program once, so that a machine that changes its speed slows all of them; the table takes the
# median of the rounds, of the median step of each run. Nothing else should run on the machine meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<END
usage: tests/benchmark/compare_torch.sh [options]
  --python PATH     Python that has torch            (python3)
  --bin DIR         Octet's programs                 (build/cpu/bin)
  --models LIST     10m, 160m, or both               (10m,160m)
  --threads N       threads of every run             (2)
  --rounds N        times that each program runs     (3)
  --steps N         measured steps of a run          (8)
  --warmup N        steps before them                (3)
  --batch N         sequences a step, for all        (2)
  --torch LIST      PyTorch's runs: fp32, and bf16 by copies or by autocast; slow where the processor has no
                    bf16 instructions; or none       (fp32,copies,autocast)
  --octet LIST      Octet's runs: precisions (on one rank, and bf16 on two), tp (of two ranks, beside dp_shard 2) and
                    recompute (none, full, selective ffn), both in bf16 and float8; or all of them  (precisions)
  --results FILE    keep one JSON line a run here    (a temporary file)
END
}

python=python3 bin=build/cpu/bin models=10m,160m threads=2 rounds=3 steps=8 batch=2 results=
warmup=3 torch=fp32,copies,autocast octet=precisions
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --python | --bin | --models | --threads | --rounds | --steps | --warmup | --batch | --torch | --octet | --results)
      [[ -n ${2:-} ]] || { echo "compare_torch.sh: $1 needs a value (see --help)" >&2; exit 64; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "compare_torch.sh: unknown option $1 (see --help)" >&2; exit 64 ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=${results:-$work/results.jsonl}
: > "$results"
commit=$(git rev-parse --short HEAD 2> /dev/null || echo unknown)

check_list() {  # NAME LIST KNOWN...
  local known=" ${*:3} " word
  for word in ${2//,/ }; do
    [[ $known == *" $word "* ]] || { echo "--$1 $word: expected some of${known% }" >&2; exit 64; }
  done
}
[[ $torch != none ]] || torch=
[[ $octet != all ]] || octet=precisions,tp,recompute
check_list models "$models" 10m 160m
check_list torch "$torch" fp32 copies autocast
check_list octet "$octet" precisions tp recompute
if [[ $octet == *tp* ]] && ((threads % 2 || batch % 2)); then
  echo "--octet tp: two ranks share threads and sequences, so both numbers must be even" >&2
  exit 64
fi

[[ -z $torch ]] || "$python" -c 'import torch' || { echo "$python has no torch; see --help" >&2; exit 64; }
[[ -x $bin/octet-train && -x $bin/octet ]] || { echo "no octet-train and octet in $bin: build them first" >&2; exit 64; }

# octet MODEL PRECISION RANKS [TP [LABEL OPTION...]]: one run; its JSON line goes to $results.
octet() {
  local model=$1 precision=$2 ranks=$3 tp=${4:-1} label=${5:-} run=$work/run per_rank=$((threads / $3)) file seq_len
  case $model in
    10m) file=configs/models/10m.yaml seq_len=512 ;;
    160m) file=tests/benchmark/160m-blocks.yaml seq_len=1024 ;;
  esac
  local mode="$ranks x $per_rank threads${label:+, $label}"
  echo "octet $model $precision, $mode" >&2
  rm -rf "$run"
  mpiexec -n "$ranks" "$bin/octet-train" tests/benchmark/octet.yaml --model "$file" --precision "$precision" \
    --train.seq_len "$seq_len" --train.steps $((warmup + steps)) --train.micro_batch $((batch * tp / ranks)) \
    --train.global_batch "$batch" --cpu.threads "$per_rank" --data.train "$work/tokens" \
    --parallel.tp "$tp" --run.dir "$run" "${@:6}" > "$work/octet.log" 2>&1 || { tail -20 "$work/octet.log" >&2; exit 70; }
  python3 tests/benchmark/compare_table.py --from-metrics "$run/metrics.jsonl" --warmup "$warmup" --model "$model" \
    --precision "$precision" --mode "$mode" --framework "octet $commit" >> "$results"
}

# torch MODEL PRECISION MODE [bf16 way]
torch() {
  echo "torch $*" >&2
  "$python" tests/benchmark/torch_llama.py --model "$1" --precision "$2" --mode "$3" --bf16 "${4:-copies}" \
    --threads "$threads" --micro-batch "$batch" --warmup "$warmup" --steps "$steps" \
    2> "$work/torch.log" >> "$results" || { tail -20 "$work/torch.log" >&2; exit 70; }
}

octet_precisions() {
  local precision
  for precision in fp32 bf16 float8; do octet "$1" "$precision" 1; done
  if ((threads % 2 == 0 && batch % 2 == 0)); then octet "$1" bf16 2; fi
}

octet_tp() {
  local precision
  for precision in bf16 float8; do
    octet "$1" "$precision" 2 1 'dp_shard 2'
    octet "$1" "$precision" 2 2 'tp 2'
  done
}

octet_recompute() {
  local precision
  for precision in bf16 float8; do
    octet "$1" "$precision" 1 1 'recompute none'
    octet "$1" "$precision" 1 1 'recompute full' --recompute.mode full
    octet "$1" "$precision" 1 1 'recompute ffn' --recompute.mode selective --recompute.preset ffn
  done
}

tests/benchmark/prepare_words.sh "$bin" "$work"
for ((round = 1; round <= rounds; ++round)); do
  for model in ${models//,/ }; do
    for rows in ${octet//,/ }; do "octet_$rows" "$model"; done
    for mode in eager compile; do
      for way in ${torch//,/ }; do
        if [[ $way == fp32 ]]; then torch "$model" fp32 "$mode"; else torch "$model" bf16 "$mode" "$way"; fi
      done
    done
  done
done

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "$(date -I), $processor, $(nproc) cores, $threads threads, $rounds rounds of $steps steps, $batch sequences a step;" \
  "load average $(cut -d' ' -f1-3 /proc/loadavg)"
echo
python3 tests/benchmark/compare_table.py --table "$results"
