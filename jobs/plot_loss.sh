#!/usr/bin/env bash
# Draws the training and validation losses of runs into one picture, PNG or SVG by the name.
# Usage: jobs/plot_loss.sh [--output loss.png] [--title TEXT] [--level "NAME=VALUE"] RUN...
#   RUN      a run directory, or its metrics.jsonl
#   --level  a dashed line across, e.g. an entropy of the text
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

output=loss.png title='Training and validation loss' level='' runs=()
while (($#)); do
  case $1 in
    --output | --title | --level)
      [[ -n ${2:-} ]] || { echo "plot_loss.sh: $1 needs a value (see --help)" >&2 && exit 64; }
      printf -v "${1#--}" %s "$2" && shift ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 2,5p' "$0" && exit ;;
    -*) echo "plot_loss.sh: unknown option $1 (see --help)" >&2 && exit 64 ;;
    *) runs+=("$1") ;;
  esac
  shift
done
((${#runs[@]})) || { echo "plot_loss.sh: name at least one run directory (--help)" >&2 && exit 64; }
case $output in
  *.png) terminal='pngcairo size 1000,600 font "Sans,11"' ;;
  *.svg) terminal='svg size 1000,600 font "Sans,13" background "white"' ;;
  *) echo "plot_loss.sh: --output $output must end in .png or .svg" >&2 && exit 64 ;;
esac

# quoted TEXT: for gnuplot, which runs what stands in backquotes within double quotes, and begins a command on each line.
quoted() {
  local text=${1//[[:cntrl:]]/ }
  echo "'${text//\'/\'\'}'"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
colors=('#1f5fa8' '#d9541e' '#2e8b57' '#8b3fa8' '#b8860b' '#444444')
plots=()
for i in "${!runs[@]}"; do
  run=${runs[i]%/}
  file=$run name=$(basename "$run")
  [[ -d $run ]] && file=$run/metrics.jsonl
  [[ -f $run ]] && name=$(basename "$(dirname "$(realpath "$run")")")
  [[ -s $file ]] || { echo "plot_loss.sh: $file is missing or empty" >&2 && exit 64; }
  awk -f "$here/metrics.awk" <"$file" >"$work/$i" # a name with = in it would be an assignment
  [[ -s $work/$i ]] || { echo "plot_loss.sh: $file has no steps" >&2 && exit 64; }
  color=${colors[i % ${#colors[@]}]} points=$(quoted "$work/$i")
  # Curves on top of each other: the first is wide and pale, so that the next shows on it.
  style="lw 1.3 lc rgb \"$color\""
  ((i == 0 && ${#runs[@]} > 1)) && style="lw 4 lc rgb \"#90$(cut -c 2- <<<"$color")\""
  plots+=("$points using 1:2 with lines $style title $(quoted "$name, training")")
  if awk '$3 != "-" { found = 1 } END { exit !found }' "$work/$i"; then
    plots+=("$points using 1:3 with points pt $((i % 2 ? 2 : 6)) ps 1.4 lw 2 lc rgb \"$color\" title $(quoted "$name, validation")")
  fi
done

if [[ ${level##*=} =~ ^[0-9.]+$ ]]; then
  plots+=("${level##*=} with lines dt 2 lw 1.5 lc rgb \"#666666\" title $(quoted "${level%=*}, ${level##*=}")")
elif [[ -n $level ]]; then
  echo "plot_loss.sh: --level '$level' is not NAME=VALUE with a number" >&2 && exit 64
fi

gnuplot <<EOF_PLOT
set terminal $terminal
set output $(quoted "$work/picture")
set datafile missing "-"
set title $(quoted "$title") noenhanced
set xlabel "step"
set ylabel "loss (nats a token)"
set key top right noenhanced
set grid lc rgb "#dddddd"
set border 3
set tics nomirror
plot $(printf '%s, \\\n  ' "${plots[@]}" | sed '$d' | sed '$s/, \\$//')
EOF_PLOT
mv "$work/picture" "$output"
