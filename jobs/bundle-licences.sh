#!/usr/bin/env bash
# Writes into a folder what those who hand a bundle on have to hand on with it: the licence page of each package of which
# something is packed, the texts that pages name (common-licenses/), and SOURCES, which says where the source of each is.
# Usage: jobs/bundle-licences.sh FOLDER <FILES     (jobs/make-bundle.sh calls it)
#   FILES   a line a packed file: its name in the bundle, and its path on this machine, of a Debian package
# Fails, with the name, where a page is not found.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
esac
[[ $# == 1 && $1 != -* ]] || { echo "jobs/bundle-licences.sh: '$*', expected FOLDER (see --help)" >&2 && exit 64; }
folder=$1
fetched=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/cuda-packages/licences

# What is compiled into the programs and has no library of its own in the bundle: headers, libgtest.a, the script of octet
# report. Of Boost, fmt, spdlog, simdjson and xxHash there are headers too, but also libraries, whose pages are theirs.
compiled_in=(librandom123-dev nlohmann-json3-dev libgtest-dev libjs-dygraphs)
# The same of NVIDIA's: libcudart_static.a, and headers with code. NVTX's licence asks nothing of compiled code.
of_nvidia=(nvidia-cuda-runtime nvidia-cudnn-frontend)

fail() {
  echo "bundle: $*" >&2
  exit 1
}

# package_of PATH: as dpkg recorded it, which on systems where /lib is a link to /usr/lib may be under either.
package_of() {
  local real path found
  real=$(readlink -f "$1")
  for path in "$1" "$real" "${real#/usr}"; do
    found=$(dpkg-query -S "$path" 2>/dev/null | grep -v '^diversion ') || continue
    found=${found%%:*}
    echo "${found%%,*}"
    return
  done
  fail "$1 is of no Debian package, which would name its licence"
}

# add FILE PACKAGE: the package's page, and the line of the file in SOURCES.
add() {
  local version source_package source_version
  [[ -s /usr/share/doc/$2/copyright ]] || fail "$2, which $1 is of or has code of, has no licence in /usr/share/doc"
  cp -L "/usr/share/doc/$2/copyright" "$folder/$2"
  read -r version source_package source_version < <(dpkg-query -W -f '${Version} ${source:Package} ${source:Version}\n' "$2")
  # shellcheck disable=SC2059  # the format is one of the two below
  printf "%s %s %s %s $where\n" "$1" "$2" "$version" "$source_package" "$source_package" "$source_version" >>"$folder/SOURCES"
}

where='https://snapshot.debian.org/package/%s/%s/'
! grep -qE '^ID(_LIKE)?=.*ubuntu' /etc/os-release || where='https://launchpad.net/ubuntu/+source/%s/%s'

mkdir -p "$folder"
cat >"$folder/SOURCES" <<'END'
Where the source is of what this bundle has of others, one line a file: the file, the package that it is of or has code
of, the package's version, its source package, the place of its source. The files are those of the packages, but for two
changes: symbols were stripped from them (strip), and their RPATH was set to this bundle's lib/ (patchelf). They may be
replaced by others of the same name. bin/* stands for what is compiled into Octet's programs. The licences are beside
this file, under the packages' names; those that they name are in common-licenses/.

END
while read -r file path; do
  package=$(package_of "$path")
  add "$file" "$package"
done
for package in "${compiled_in[@]}"; do add 'bin/*' "$package"; done
for package in "${of_nvidia[@]}"; do
  [[ -s $fetched/$package ]] || fail "the licence of $package, which is compiled in, is not in $fetched: jobs/install-cuda.sh fetches it"
  cp "$fetched/$package" "$folder/"
done
cp -r /usr/share/common-licenses "$folder/"
