#!/usr/bin/env bash
# Fails, naming file and symbol, when an ELF file below FOLDER needs a newer system than the oldest that bundles support.
# Usage: jobs/check-symbols.sh FOLDER [NAME_VERSION...]
#   NAME_VERSION   newest version allowed of a set of symbols; default: what Ubuntu 22.04 has
# Sets that are not named may not be older or newer: GLIBC_PRIVATE and GLIBC_ABI_* are refused. Needs readelf.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
  -*) echo "jobs/check-symbols.sh: unknown option $1 (see --help)" >&2 && exit 64 ;;
  '') echo 'jobs/check-symbols.sh: name the folder to look through (see --help)' >&2 && exit 64 ;;
esac
folder=$1
shift
(($#)) || set -- GLIBC_2.35 GLIBCXX_3.4.30 CXXABI_1.3.13 GCC_12.0.0

# Every symbol that a file needs of another with its version: "name@VERSION (n)"; and the versions without a symbol,
# which stand in the list of needed versions alone.
needed() {
  readelf --dyn-syms --wide "$1" | awk '$7 == "UND" && $8 ~ /@/ { split($8, part, /@+/); print part[2], part[1] }'
  readelf --version-info --wide "$1" | awk '/^Version needs/ { on = 1 } on && /Name: GLIBC_(ABI|PRIVATE)/ { print $3, "(no symbol)" }'
}

files=0 bad=0
while IFS= read -r -d '' file; do
  [[ $(head -c 4 "$file" | tr -d '\0') == $'\x7fELF' ]] || continue
  files=$((files + 1))
  while read -r version symbol; do
    echo "$file needs $symbol of $version; newest allowed: $*" >&2
    bad=$((bad + 1))
  done < <(needed "$file" | sort -u | awk -v allowed="$*" '
    BEGIN { n = split(allowed, a, " "); for (i = 1; i <= n; ++i) { split(a[i], p, "_"); newest[p[1]] = p[2] } }
    # Whether version x is above version y, number by number.
    function above(x, y,    p, q, i, m) {
      m = split(x, p, "."); split(y, q, ".")
      for (i = 1; i <= m; ++i) if (p[i] + 0 != q[i] + 0) return p[i] + 0 > q[i] + 0
      return 0
    }
    { split($1, p, "_") }
    p[1] in newest && (p[2] !~ /^[0-9.]+$/ || above(p[2], newest[p[1]]))')
done < <(find "$folder" -type f -print0 | sort -z)

((files)) || { echo "jobs/check-symbols.sh: no ELF file below $folder" >&2 && exit 1; }
((bad == 0)) || exit 1
echo "$files files need nothing newer than $*"
