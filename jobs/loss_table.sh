#!/usr/bin/env bash
# Prints a line a run (final training and validation loss, mean tokens/s after the first logged step, place), and by how
# many percent the validation loss of each run after the first differs from the first's.
# Usage: jobs/loss_table.sh RUN...     RUN: a run directory
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
  -*) echo "loss_table.sh: unknown option $1 (see --help)" >&2 && exit 64 ;;
  '') echo 'loss_table.sh: name at least one run directory (see --help)' >&2 && exit 64 ;;
esac
for run in "$@"; do
  [[ -f $run/metrics.jsonl && -r $run/metrics.jsonl ]] && continue
  echo "loss_table.sh: $run: has no metrics.jsonl that can be read; expected a run directory" >&2
  exit 64
done

printf '%-10s %14s %16s %10s   %s\n' run 'training loss' 'validation loss' tokens/s files
first='' first_name=''
differences=()
for run in "$@"; do
  name=$(basename "$run")
  # The last ten training losses, because one batch's is noisy.
  read -r loss validation speed < <(awk -f "$here/metrics.awk" <"$run/metrics.jsonl" | awk '
    $2 != "-" { last[n++ % 10] = $2 }
    $3 != "-" { validation = sprintf("%.4f", $3) }
    NR > 1 && $4 != "-" { speed += $4; timed++ }
    END {
      for (i in last) { sum += last[i]; count++ }
      print count ? sprintf("%.4f", sum / count) : "-", validation == "" ? "-" : validation, timed ? sprintf("%.0f", speed / timed) : "-"
    }')
  printf '%-10s %14s %16s %10s   %s\n' "$name" "$loss" "$validation" "$speed" "$run"
  if [[ -z $first_name ]]; then
    first=$validation first_name=$name
  elif [[ $first != - && $validation != - ]]; then
    differences+=("$(awk -v a="$first" -v b="$validation" -v names="$name and $first_name" \
      'BEGIN { printf "validation losses of %s differ by %.2f %%", names, (b > a ? b - a : a - b) / a * 100 }')")
  fi
done
echo 'training loss: mean of the last ten logged steps; losses in nats a token'
((${#differences[@]} == 0)) || printf '%s\n' "${differences[@]}"
