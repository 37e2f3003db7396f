#!/usr/bin/env bash
# Takes apart what gathers and reductions cost the kernels beside them, on one GPU: profiles steps of the 1.8B model in
# float8 (2 micro-batches of 4096) without and with parallel.one_rank_exchange, whose transfers are copies in the GPU's
# memory, and says what of the difference is slower kernels, more kernels and waiting. Skips with a reason where there is
# no GPU.
# Usage: jobs/gpu/exchange.sh [--output DIR] [--model NAME]
#   --output DIR   where logs and runs go (default runs/gpu-exchange-DATE); must not exist
#   --model NAME   of configs/models, or a file (default 1.8b)
# Ends with one line: exchange: PASSED, FAILED or SKIPPED, and the figures.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read_profile_options exchange "$@"
find_programs exchange
need_gpu exchange
command -v python3 >/dev/null || verdict exchange SKIPPED 'it needs python3 (its standard library)'
begin_profiles exchange

echo '{"row": "copy", "op": "copy", "n": 1073741824}' >"$output/copy.row"
"$bin/octet-bench-gpu" --rows "$output/copy.row" >"$output/copy.jsonl" 2>"$output/copy.log" ||
  verdict exchange FAILED "octet-bench-gpu, copy (see $output/copy.log)"
for exchange in false true; do
  profile_run exchange "$exchange" 240 "$bin/octet-train" --train.global_batch 2 --parallel.one_rank_exchange "$exchange"
done
report=$(python3 "$here/step_profile.py" exchange "$output/false" "$output/true" "$output/copy.jsonl") ||
  verdict exchange FAILED "no profile in $output"
echo "$report"
verdict exchange PASSED "$(tail -n 1 <<<"$report") ($SECONDS s)"
