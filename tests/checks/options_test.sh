#!/usr/bin/env bash
# What cmake/options.cmake makes of the words that a build is given, and what it refuses.
# Usage: tests/checks/options_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

unset CMAKE_BUILD_TYPE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2016  # names of CMake's
printf 'include(%s/cmake/options.cmake)\nmessage("${CMAKE_BUILD_TYPE} ${OCTET_CUDA} ${OCTET_ARROW}")\n' "$PWD" >"$folder/said.cmake"

# says CODE TEXT OPTION...: what comes of the options, with that exit code.
says() {
  local expected=$1 text=$2 said code=0
  shift 2
  said=$(cmake "$@" 2>&1 | tr -s ' \n' ' '; exit "${PIPESTATUS[0]}") || code=$?
  [[ $((code != 0)) == "$expected" && $said == *"$text"* ]] || { echo "cmake $*: ended with $code, no \"$text\" in: $said" >&2 && exit 1; }
}
script=(-P "$folder/said.cmake")

says 0 'no CMAKE_BUILD_TYPE, so it is Release Release OFF AUTO' "${script[@]}"
says 0 'Debug OFF AUTO' -DCMAKE_BUILD_TYPE=Debug "${script[@]}"
CMAKE_BUILD_TYPE=Debug says 0 ' OFF AUTO' "${script[@]}" # CMake reads it in `project`
for word in 1 on Yes TRUE; do says 0 'Release ON ON' -DOCTET_CUDA="$word" -DOCTET_ARROW="$word" "${script[@]}"; done
for word in 0 off No FALSE; do says 0 'Release OFF OFF' -DOCTET_CUDA="$word" -DOCTET_ARROW="$word" "${script[@]}"; done
says 0 'Release OFF AUTO' -DOCTET_ARROW=auto "${script[@]}"
says 1 "OCTET_ARROW is 'maybe', expected one of ON, OFF, AUTO" -DOCTET_ARROW=maybe "${script[@]}"
says 1 "OCTET_CUDA is 'AUTO', expected one of ON, OFF" -DOCTET_CUDA=AUTO "${script[@]}"
says 1 "-DOCTET_CUDA_ARCHITECTURES='90a-real'" -DCMAKE_CUDA_ARCHITECTURES=90a-real "${script[@]}"

mkdir "$folder/cmake" && cp CMakeLists.txt "$folder" && cp cmake/options.cmake "$folder/cmake"
says 1 'A build has a folder of its own' -S "$folder" -B "$folder"
echo 'a build takes words for what they mean, or refuses them'
