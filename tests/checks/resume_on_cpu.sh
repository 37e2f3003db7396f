#!/usr/bin/env bash
# jobs/gpu/resume.sh with the real programs, a model small enough for the CPU and every precision: it passes.
# Usage: tests/checks/resume_on_cpu.sh BIN_FOLDER
set -euo pipefail
[[ $# == 1 && $1 != -* ]] || { echo 'usage: tests/checks/resume_on_cpu.sh BIN_FOLDER' >&2 && exit 64; }
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' 'dim: 64' 'layers: 2' 'heads: 4' 'kv_heads: 2' 'head_dim: 16' 'ffn_dim: 128' 'vocab_size: 256' >"$work/tiny.yaml"
OCTET_BIN=$bin OMP_NUM_THREADS=1 "$(dirname "${BASH_SOURCE[0]}")/../../jobs/gpu/resume.sh" --device cpu \
  --precisions fp32,bf16,float8 --model "$work/tiny.yaml" --output "$work/runs" | tee "$work/said"
grep -q '^resume: PASSED: fp32,bf16,float8 on cpu' "$work/said"
[[ $(grep -c 'losses and gradient norms of .* ok$' "$work/said") == 3 ]]
