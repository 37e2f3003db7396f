#!/usr/bin/env bash
# Fetches Arrow's C++ libraries and headers, by which octet prepare and octet-evaluate read Parquet, into build/arrow of the source tree:
# they stand in PyPI's package pyarrow (55 MB; 75 MB stay), since Debian 12 has none. The build takes them when they are
# there (-DOCTET_ARROW=ON|OFF says so). Does nothing when they are.
# Usage: jobs/install-arrow.sh
# x86-64 Linux; needs python3 with pip and unzip, which it installs on Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=26.0.1
sum=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c # of the wheel for CPython 3.11; no file is taken from it that depends on Python
folder=$PWD/build/arrow
stamp=$folder/.octet-$version

case $* in
  '') ;;
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
  *) echo "jobs/install-arrow.sh: '$*', expected nothing (see --help)" >&2 && exit 64 ;;
esac
[[ ! -e $stamp ]] || exit 0

fail() {
  echo "jobs/install-arrow.sh: $*" >&2
  exit 1
}

source jobs/pip-tools.sh
tools

echo "pyarrow $version: 55 MB from PyPI"
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "pyarrow==$version --hash=sha256:$sum" >"$work/requirements"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
  --implementation cp --python-version 3.11 --abi cp311 --platform manylinux_2_28_x86_64 \
  --dest "$work" --requirement "$work/requirements" ||
  fail "pyarrow $version was not downloaded: see pip's message above (is there a way to PyPI? PIP_INDEX_URL names a mirror)"
unzip -qo "$work"/*.whl 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*' 'pyarrow-*/licenses/*' \
  -d "$work/content" || fail "pyarrow $version: the wheel has not what was expected"
cp -r "$work/content/pyarrow/." "$folder/"
cp -r "$work"/content/pyarrow-*/licenses "$folder/" 2>/dev/null || true
# What the linker looks for; wheels hold no links.
for library in arrow parquet; do
  ln -sfn "$(basename "$folder"/lib$library.so.*)" "$folder/lib$library.so"
done
chmod -R a+rX "$folder"
touch "$stamp"
