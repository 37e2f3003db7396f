#!/usr/bin/env bash
# Measures Octet on this machine's GPU beside PyTorch: kernels, GEMMs, attention, training steps. Restartable: a row that
# the results file has for this commit and device is not measured again; each row is written as soon as it is done.
# Usage: jobs/gpu/bench.sh [--only REGEX] [--by octet|torch] [--minutes N] [--output FILE] [--python PYTHON]
#        jobs/gpu/bench.sh --list | --dry-run | --table [--into PAGE]... [--only REGEX] [--output FILE]...
#   --only REGEX      only rows for which it is found in "PROGRAM:ROW", e.g. 'octet:gemm/', '^torch:step/8b'
#   --by PROGRAM      only the rows of octet or of torch
#   --minutes N       end after N minutes: what runs then is ended too, and its rows are left for the next call
#   --output FILE     results, one JSON object a line, added to (default runs/gpu-results.jsonl)
#   --python PYTHON   Python that has torch, for its rows (default python3); without torch they are skipped. CUDA's
#                     libraries in its environment are found by Octet's programs, too
#   --list            print the rows in their order and stop; --dry-run: those that would be measured now
#   --table           print the results as Markdown tables, of several files the last of each row; --into PAGE puts them
#                     into the page, between its marks, which may ask for the summary or the details alone
# Ends with one line: bench: PASSED, FAILED or SKIPPED, and why. All rows take about 40 minutes on an H100 (an estimate).
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

measures=1
for argument in "$@"; do
  case $argument in
    -h | --help) usage_of "$0" && exit ;;
    --list | --dry-run | --table) measures=0 ;;
  esac
done
command -v python3 >/dev/null || verdict bench SKIPPED 'it needs python3 (its standard library, and torch for the rows of PyTorch)'
python3 "$here/bench/bench.py" --only-parse "$@"  # 64 for a wrong option, on any machine
if ((measures)); then
  find_programs bench
  need_gpu bench
  export OCTET_BIN=$bin
fi
exec python3 "$here/bench/bench.py" "$@"
