#!/usr/bin/env bash
# Times steps of the 1.8B model in float8 on two GPUs, its weights sharded between them, with NCCL on as many thread
# blocks as it likes and on fewer (nccl.dp_shard_max_ctas): fewer leave more of the GPU to GEMMs, and send more slowly.
# Needs two GPUs: skips where there is one, or none.
# Usage: jobs/gpu/ctas.sh [--pipeline] [--output DIR] [--model NAME]
#   --pipeline     the model in two stages instead, one a GPU, with nccl.pp_max_ctas; comes first
#   --output DIR   where logs and runs go (default runs/gpu-ctas-DATE); must not exist
#   --model NAME   of configs/models, or a file (default 1.8b)
# Ends with one line: ctas: PASSED, FAILED or SKIPPED, and which number is the fastest.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

dimension=dp_shard
[[ ${1:-} != --pipeline ]] || { dimension=pp && shift; }
read_profile_options ctas "$@"
find_programs ctas
need_gpu ctas
command -v python3 >/dev/null || verdict ctas SKIPPED 'it needs python3 (its standard library)'
gpus=$("$bin/octet-bench-gpu" --device | python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"])')
((gpus >= 2)) || verdict ctas SKIPPED "needs two GPUs, and this machine shows $gpus"
mpiexec=$bin/mpiexec
[[ -x $mpiexec ]] || mpiexec=$(command -v mpiexec) || verdict ctas SKIPPED 'no mpiexec beside the programs or on the PATH'
begin_profiles ctas

runs=()
for most in 0 16 8 4; do  # 0: NCCL's choice
  profile_run ctas "$most" 120 "$mpiexec" -n 2 "$bin/octet-train" --train.global_batch 4 "--parallel.$dimension" 2 \
    "--nccl.${dimension}_max_ctas" "$most"
  runs+=("$( ((most)) && echo "at most $most" || echo "NCCL's choice")=$output/$most")
done
report=$(python3 "$here/step_profile.py" ctas "${runs[@]}") || verdict ctas FAILED "no profile in $output"
echo "$report"
verdict ctas PASSED "$(tail -n 1 <<<"$report") ($SECONDS s)"
