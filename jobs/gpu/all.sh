#!/usr/bin/env bash
# Checks and measures all that needs a GPU, the most valuable first: check.sh, training steps and GEMMs beside
# PyTorch's, memory-bound kernels, resume.sh, evaluate.sh, ranks.sh, sanitize.sh, the other rows of bench.sh (all_plan.py
# says why in that order). 15 minutes answer what matters most, and three calls of 25 do all. What is there for this
# commit and device is not done again, so another call goes on where the time ran out.
# Usage: jobs/gpu/all.sh [--minutes N] [--only REGEX] [--output DIR] [--python PYTHON] [--list]
#   --minutes N       end after N minutes (default 25): what runs then is ended, and is left for the next call
#   --only REGEX      only parts whose name matches
#   --output DIR      results and logs, added to (default runs/gpu-all-COMMIT)
#   --python PYTHON   Python that has torch, for PyTorch's rows (default python3); without torch they are skipped
#   --list            print the parts in their order, how long each takes, in which call of N minutes it is done, and
#                     what is there of it; stop
# Ends with a summary and one line: all: PASSED, FAILED, SKIPPED, or UNFINISHED (exit code 75) where parts are left.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

measures=1
for argument in "$@"; do
  case $argument in
    -h | --help) usage_of "$0" && exit ;;
    --list) measures=0 ;;
  esac
done
command -v python3 >/dev/null || verdict all SKIPPED 'it needs python3 (its standard library, and torch for the rows of PyTorch)'
python3 "$here/all.py" --only-parse "$@"  # 64 for a wrong option, on any machine
if ((measures)); then
  find_programs all
  need_gpu all
  export OCTET_BIN=$bin
elif find_folder_of octet-bench-gpu; then
  export OCTET_BIN=$bin
fi
exec python3 "$here/all.py" "$@"
