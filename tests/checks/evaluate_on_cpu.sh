#!/usr/bin/env bash
# jobs/gpu/evaluate.sh with the real programs and a model small enough for the CPU: it passes.
# Usage: tests/checks/evaluate_on_cpu.sh BIN_FOLDER
set -euo pipefail
[[ $# == 1 && $1 != -* ]] || { echo 'usage: tests/checks/evaluate_on_cpu.sh BIN_FOLDER' >&2 && exit 64; }
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' 'dim: 64' 'layers: 2' 'heads: 4' 'kv_heads: 2' 'head_dim: 16' 'ffn_dim: 128' 'vocab_size: 256' >"$work/tiny.yaml"
OCTET_BIN=$bin OMP_NUM_THREADS=1 "$(dirname "${BASH_SOURCE[0]}")/../../jobs/gpu/evaluate.sh" --device cpu \
  --model "$work/tiny.yaml" --output "$work/runs" | tee "$work/said"
grep -q '^evaluate: PASSED: ' "$work/said"
[[ $(grep -c ' 0.0e+00 .* ok$' "$work/said") == 5 ]]
grep -q '^generated: .* bytes, the same on both$' "$work/said"
