#!/usr/bin/env bash
# What one build has compiled with a precompiled header, another one does not compile again (cmake/ccache.cmake), by whichever
# name the compiler is called: one in another folder with gcc, with clang one in the same folder.
# Usage: tests/checks/ccache_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v ccache >/dev/null || { echo 'no ccache: jobs/install-packages.sh --tests installs it' >&2 && exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset "${!CCACHE_@}"
export CCACHE_DIR=$folder/cache
mkdir "$folder/names" && ln -s "$(command -v ccache)" "$folder/names/c++" && ln -s "$(command -v ccache)" "$folder/names/clang++"
cat >"$folder/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(shared LANGUAGES CXX)
include($PWD/cmake/ccache.cmake)
add_library(one STATIC one.cpp)
target_precompile_headers(one PRIVATE <cstddef>)
target_compile_options(one PRIVATE "\$<\$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
EOF
echo 'std::size_t f() { return 1; }' >"$folder/one.cpp"

# built COMPILER NAME: a build of its own; prints how often ccache had what was asked for, and how often not.
built() {
  PATH=$folder/names:$PATH CCACHE_LOGFILE=$folder/log cmake -S "$folder" -B "$folder/build/$2" -DCMAKE_CXX_COMPILER="$1" >"$folder/said"
  rm -f "$folder/log"
  PATH=$folder/names:$PATH CCACHE_LOGFILE=$folder/log cmake --build "$folder/build/$2" >"$folder/said" || { cat "$folder/said" >&2 && exit 1; }
  echo "$(grep -c 'Result: direct_cache_hit' "$folder/log" || true) hits, $(grep -c 'Result: cache_miss' "$folder/log" || true) misses"
}

# shared COMPILER OTHER: what the build `first` has compiled serves the build OTHER.
shared() {
  local first second
  rm -rf "$CCACHE_DIR" "$folder/build"
  first=$(built "$1" first)
  rm -rf "$folder/build"
  second=$(built "$1" "$2")
  [[ $first == '0 hits, 2 misses' && $second == '2 hits, 0 misses' ]] || {
    echo "$1: the first build had $first, the build $2 $second; expected 2 misses, then 2 hits" >&2
    exit 1
  }
}
for name in c++ clang++; do
  for compiler in "$(command -v "$name")" "$folder/names/$name"; do
    shared "$compiler" first
    [[ $name != c++ ]] || shared "$compiler" second  # clang's header is of its folder
  done
done
echo 'builds share what starts from a precompiled header'
