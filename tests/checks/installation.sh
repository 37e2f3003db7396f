#!/usr/bin/env bash
# What `cmake --install` makes of a build runs, with its libraries and from any folder: also from one that has a library of the
# same name, which is left alone.
# Usage: tests/checks/installation.sh BUILD_FOLDER
set -euo pipefail
(($# == 1)) || { echo "usage: tests/checks/installation.sh BUILD_FOLDER" >&2 && exit 64; }
build=$(realpath "$1")
failed=0
fail() { echo "installation: $*" >&2 && failed=1; }

for file in "$build"/bin/*; do
  path=$(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p') || { fail "$file: readelf cannot read it" && continue; }
  [[ ":$path:" != *::* || -z $path ]] || fail "$file: RUNPATH [$path] has an empty entry, which is the current folder"
done

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix/octet" >"$prefix/log" || fail "cmake --install: $(tail -n 5 "$prefix/log")"
mkdir "$prefix/elsewhere" && cd "$prefix/elsewhere"
for program in octet octet-train octet-evaluate octet-commbench; do
  file=$prefix/octet/bin/$program
  [[ -x $file ]] || { fail "bin/$program is not installed" && continue; }
  while read -r library; do echo 'no library' >"$library"; done < <(ldd "$file" | awk '$2 == "=>" && $1 !~ /\// { print $1 }')
  said=$("$file" --version 2>&1) || fail "bin/$program --version: $said"
  [[ $said == "$program "* ]] || fail "bin/$program --version says: $said"
  # By which the dynamic linker refuses a processor that lacks it; older linkers do not write it.
  if [[ $said =~ -march=(x86-64-v[234]) ]] && grep -q "^OCTET_LINKER_MARKS_${BASH_REMATCH[1]//-/_}:INTERNAL=1" "$build/CMakeCache.txt"; then
    readelf -n "$file" | grep -q "ISA needed:.* ${BASH_REMATCH[1]}$" || fail "bin/$program does not say that it needs ${BASH_REMATCH[1]}"
  fi
done
((failed)) || echo "installation: 4 programs run from $(find "$prefix/octet" -type f | wc -l) installed files"
exit "$failed"
