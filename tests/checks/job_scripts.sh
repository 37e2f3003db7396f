#!/usr/bin/env bash
# The job scripts of tests/cluster/golden with the parts of slurm/train-body behind them, as octet submit writes them, are sound for bash
# and shellcheck. Usage: tests/checks/job_scripts.sh
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts=()
for golden in tests/cluster/golden/*.txt; do
  script=$folder/$(basename "$golden" .txt).sh
  cat "$golden" >"$script"
  for part in slurm/train-body/*.sh; do # as job_body of jobs/octet/submit has them
    sed '1{/^# shellcheck shell=/d}' "$part" && echo
  done >>"$script"
  bash -n "$script"
  scripts+=("$script")
done
((${#scripts[@]})) || { echo "no job scripts in tests/cluster/golden" >&2 && exit 1; }
shellcheck "${scripts[@]}"
echo "${#scripts[@]} job scripts are sound"
