#!/usr/bin/env bash
# Runs the kernel tests under NVIDIA's compute-sanitizer. Only kernels of Octet are instrumented, not those of cuBLASLt
# and cuDNN. Skips with a reason where there is no GPU or no compute-sanitizer.
# Usage: jobs/gpu/sanitize.sh [--tools LIST] [--filter FILTER] [--all-kernels] [--minutes N] [--output DIR]
#   --tools LIST       of memcheck, racecheck, initcheck, synccheck (default memcheck,racecheck,synccheck)
#   --filter FILTER    GoogleTest filter of octet-test-gpu (default all tests)
#   --all-kernels      instrument libraries' kernels, too (slow)
#   --minutes N        time limit of each tool (default 5)
#   --output DIR       where logs go (default runs/gpu-sanitize-DATE)
# Ends with one line: sanitize: PASSED, FAILED or SKIPPED, and why.
set -euo pipefail
# shellcheck source=jobs/gpu/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# kns: a part of the mangled name, in which the namespace of our kernels stands.
# initcheck is not in the default: the tests' memory is poisoned, that is initialised, from the start.
tools=memcheck,racecheck,synccheck filter='*' minutes=5 output='' only=(--kernel-name kns=octet)
while (($#)); do
  case $1 in
    -h | --help) usage_of "$0" && exit ;;
    --all-kernels) only=() ;;
    --tools | --filter | --minutes | --output)
      (($# > 1)) || { echo "sanitize: $1 needs a value" >&2 && exit 64; }
      printf -v "${1#--}" %s "$2" && shift ;;
    *) echo "sanitize: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done
for tool in ${tools//,/ }; do
  [[ $tool =~ ^(mem|race|init|sync)check$ ]] || { echo "sanitize: unknown tool $tool (see --help)" >&2 && exit 64; }
done
find_programs sanitize
need_gpu sanitize

find_sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer || true)" "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer \
    "${CUDA_HOME:-/usr/local/cuda}"/compute-sanitizer/compute-sanitizer /usr/local/cuda*/bin/compute-sanitizer; do
    if [[ -x $place ]]; then
      echo "$place" && return
    fi
  done
  return 1
}
sanitizer=$(find_sanitizer) ||
  verdict sanitize SKIPPED 'no compute-sanitizer on the PATH, in CUDA_HOME or /usr/local/cuda (it comes with the CUDA toolkit)'
command -v python3 >/dev/null || verdict sanitize SKIPPED 'it needs python3 (its standard library)'
output=$(realpath -m "${output:-$root/runs/gpu-sanitize-$(date +%Y%m%d-%H%M%S)}")
mkdir -p "$output"

failures=()
cd "$root"
for tool in ${tools//,/ }; do
  log=$output/$tool.log report=$output/$tool.json code=0
  echo "== $tool (log: $log)"
  bounded $((minutes * 60)) "$sanitizer" --tool "$tool" "${only[@]}" --error-exitcode 86 \
    "$bin/octet-test-gpu" --gtest_filter="$filter" --gtest_output=json:"$report" >"$log" 2>&1 || code=$?
  grep -aE '^========= (ERROR|RACECHECK) SUMMARY' "$log" | tail -n 1 || true
  python3 "$here/count_tests.py" "$report" "$code" || failures+=("$tool (see $log)")
done
if ((${#failures[@]})); then
  verdict sanitize FAILED "$(printf '%s; ' "${failures[@]}" | sed 's/; $//') ($SECONDS s)"
fi
verdict sanitize PASSED "$tools ($SECONDS s)"
