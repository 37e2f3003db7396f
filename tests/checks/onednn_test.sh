#!/usr/bin/env bash
# Which oneDNN cmake/onednn.cmake takes and what it says of others, from headers that name a version and a run time.
# Usage: tests/checks/onednn_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/oneapi/dnnl"
printf 'include(%s/cmake/onednn.cmake)\noctet_check_onednn(%s)\n' "$PWD" "$folder" >"$folder/check.cmake"

# says MAJOR MINOR RUNTIME TEXT: what is said of it; nothing when it is taken.
says() {
  printf '#define DNNL_VERSION_%s\n' "MAJOR $1" "MINOR $2" 'PATCH 1' >"$folder/oneapi/dnnl/dnnl_version.h"
  echo "#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_$3" >"$folder/oneapi/dnnl/dnnl_config.h"
  local said code=0
  said=$(cmake -P "$folder/check.cmake" 2>&1 | tr -s ' \n' ' '; exit "${PIPESTATUS[0]}") || code=$?
  if [[ -z $4 ]]; then
    [[ $code == 0 && -z $said ]] || { echo "oneDNN $1.$2 $3 is refused: $said" >&2 && exit 1; }
  else
    [[ $code != 0 && $said == *"$4"* ]] || { echo "oneDNN $1.$2 $3: no \"$4\" in: $said" >&2 && exit 1; }
  fi
}

says 2 6 OMP ''
says 3 7 OMP ''
says 3 11 OMP ''
says 2 5 OMP 'is 2.5.1: Octet needs 2.6 or newer, below 4, built for OpenMP'
says 4 0 OMP 'is 4.0.1: Octet needs 2.6 or newer, below 4'
says 3 7 TBB 'has its threads from TBB: Octet needs'
echo 'oneDNN of versions 2.6 to 3 with OpenMP is taken, nothing else'
