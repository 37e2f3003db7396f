#!/usr/bin/env bash
# Writes about 8 MB of English prose: every third entry of the GNU Collaborative International Dictionary of English
# (Debian's dict-gcide: definitions, usage notes and quotations), as paragraphs of one line.
# Usage: jobs/english-text.sh FILE [THIRD]
#   THIRD   which third of the entries: 1 (default), or 2 or 3, whose texts no model has seen that was trained on another
set -euo pipefail
fail() { echo "jobs/english-text.sh: $1 (see --help)" >&2 && exit 64; }
case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
  -*) fail "unknown option $1" ;;
  '') fail 'name the file to write' ;;
esac
target=$1 third=${2:-1}
[[ $third == [123] ]] || fail "THIRD is '$third', expected 1, 2 or 3"
(($# < 3)) || fail "'$3' is one word too many"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/install-packages.sh" dict-gcide
mkdir -p "$(dirname "$target")"
# An entry starts with the word, its syllables between backslashes, pronunciation, class and etymology:
#   Coal \Coal\ (k[=o]l), n. [AS. col; akin to D. kool, ...]
# What goes: the syllables, brackets (etymologies, marks of source), pronunciations, and the braces of references.
zcat </usr/share/dictd/gcide.dict.dz | LC_ALL=C awk -v third="$third" '
  BEGIN { RS = "" }
  /\\[^\\]*\\/ { entry++ }
  entry % 3 == third % 3 {
    gsub(/[ \t\n]+/, " ")
    gsub(/ *\\[^\\]*\\/, "")
    gsub(/\([^()]*[][\\"`*^=][^()]*\)/, "")
    gsub(/\[[^][]*\]/, "")
    gsub(/\[[^][]*\]/, "")
    gsub(/[{}]/, "")
    gsub(/ +/, " "); gsub(/ ,/, ","); gsub(/ \./, "."); gsub(/^ | $/, "")
    if (length($0) > 20) print $0 "\n"
  }' >"$target.part"
mv "$target.part" "$target"
