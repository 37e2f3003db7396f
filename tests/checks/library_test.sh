#!/usr/bin/env bash
# Which header and which library cmake/library.cmake takes where there are several installations, and what it says of none.
# Usage: tests/checks/library_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{mine,system}/{include,lib} "$folder/lone/include"
touch "$folder"/{mine,system}/include/octet_h5.h "$folder/lone/include/octet_lone.h"
touch "$folder/mine/lib/libocteth5.so" "$folder/system/lib/libocteth5_serial.so"

# says CODE TEXT ARGUMENT...: what comes of octet_library(H5 h5 ARGUMENT...), with that exit code.
says() {
  local expected=$1 text=$2 said code=0
  shift 2
  cat >"$folder/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(libraries LANGUAGES NONE)
set(CMAKE_PREFIX_PATH $folder/mine $folder/system $folder/lone)
include($PWD/cmake/library.cmake)
octet_library(H5 h5 $*)
if(NOT TARGET h5)
  message("none")
  return()
endif()
get_target_property(type h5 TYPE)
get_target_property(included h5 INTERFACE_INCLUDE_DIRECTORIES)
message("\${type} \${included} \${H5_LIBRARY}")
EOF
  said=$(cmake -S "$folder" -B "$folder/build" --fresh 2>&1 | tr -s ' \n' ' '; exit "${PIPESTATUS[0]}") || code=$?
  [[ $((code != 0)) == "$expected" && $said == *"$text"* ]] || { echo "$*: ended with $code, no \"$text\" in: $said" >&2 && exit 1; }
}

says 0 "UNKNOWN_LIBRARY $folder/mine/include $folder/mine/lib/libocteth5.so" octet_h5.h octeth5_serial octeth5
says 0 "INTERFACE_LIBRARY $folder/lone/include" octet_lone.h
says 1 'Could not find H5_INCLUDE_DIR using the following files: octet_none.h' octet_none.h
says 1 'Could not find H5_LIBRARY using the following names: octetnone' octet_h5.h octetnone
says 0 none octet_none.h OPTIONAL
says 0 none octet_h5.h octetnone OPTIONAL
says 0 "$folder/mine/lib/libocteth5.so" octet_h5.h octeth5 OPTIONAL
echo 'a library is of the installation of its header, and one that is not there is named'
