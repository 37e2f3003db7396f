#!/usr/bin/env bash
# clang-tidy, warnings as errors, on the C++ files that changed (tests/support/changed.py). With --all: every file, and the
# static analyzer (clang-analyzer-*) as well, which takes three times as long as the rest together.
# $CLANG_TIDY is the program, clang-tidy of version 14 if it is not named: newer ones warn of more.
# Usage: tests/checks/tidy.sh BUILD_FOLDER [--all]     the folder needs compile_commands.json, best from clang
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ $# == [12] && $1 != -* && ${2:---all} == --all ]] || { echo 'usage: tests/checks/tidy.sh BUILD_FOLDER [--all]' >&2 && exit 64; }
build=$1

changed() {
  if [[ "${2:-}" == --all ]]; then git ls-files; else tests/support/changed.py code; fi
}

# Headers are checked through a .cpp file: of every changed one, the first that includes it.
sources() {
  local file
  while read -r file; do
    if [[ $file == *.cpp ]]; then
      [[ ! -e $file ]] || echo "$file"
    else
      git grep -l --untracked -F "#include \"$file\"" -- '*.cpp' | head -n 1 || true  # included by headers alone
    fi
  done
}
in_rooms='^(src|kernels|jobs|checkpoints|tests)/.*\.(h|cpp)$'
mapfile -t files < <(changed "$@" | grep -E "$in_rooms" | grep -v '/cuda/' | sources | sort -u |
  while read -r file; do ! grep -qF "$PWD/$file\"" "$build/compile_commands.json" || echo "$file"; done)
if ((${#files[@]} == 0)); then
  echo "clang-tidy: no C++ file changed"
  exit
fi
echo "clang-tidy: ${#files[@]} files"
checks=()
[[ "${2:-}" == --all ]] || checks=(--checks='-clang-analyzer-*')
code=0
output=$(printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" "${CLANG_TIDY:-clang-tidy}" -p "$build" --quiet "${checks[@]}" 2>&1) || code=$?
grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? (generated|treated)|^Suppressed [0-9]+ warnings|^Use -header-filter' <<<"$output" || true
exit "$code"
