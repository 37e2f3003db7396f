#!/usr/bin/env bash
# Fetches from PyPI what the CUDA build needs and this machine lacks, into build/cuda-packages of the source tree:
#   include/   cudnn-frontend's C++ headers, always; headers of cuBLAS, cuDNN, NVRTC and NCCL where the machine has none
#   licences/  those of the packages, of which the bundle has two (jobs/bundle-licences.sh)
#   toolkit/   nvcc with its headers and run time, where no nvcc of 12.9 or newer is found, or an older one than 13.0
#              lacks headers (newer ones do not go beside it); once it is there, the build uses it before any other
# Libraries that only a GPU needs (cuBLAS, cuDNN, NCCL) are loaded when the program runs, and are not fetched.
# Usage: jobs/install-cuda.sh [--toolkit | --find]
#   --toolkit   fetch the toolkit even where there is an nvcc (650 MB of packages; 210 MB stay)
#   --find      print the path of the nvcc that the build uses; exit 1 where there is none, 2 where each that there is
#               is too old or does not run, which is told on stderr; fetches nothing
# Does nothing when everything is there. x86-64 Linux; needs python3 with pip and unzip, which it installs on Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD/build/cuda-packages

fail() {
  echo "jobs/install-cuda.sh: $*" >&2
  exit 1
}

# The one list of versions: package, version, size, sha256 of its x86-64 wheel. pip checks the sum. The wheels of
# cuBLAS, cuDNN and NVRTC are wanted for their headers; nvidia-cudnn-jit-cu13 has the same headers as the twenty times
# larger nvidia-cudnn-cu13.
packages='
nvidia-cudnn-frontend 1.32.0    12MB  c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0
nvidia-cuda-nvcc      13.0.88   37MB  56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
nvidia-nvvm           13.0.88   62MB  c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0
nvidia-cuda-crt       13.0.88   1MB   2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
nvidia-cuda-runtime   13.0.96   2MB   7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cccl      13.0.85   3MB   e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
nvidia-cuda-nvrtc     13.0.88   90MB  ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
nvidia-cublas         13.1.0.3  423MB ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171
nvidia-cudnn-jit-cu13 9.19.0.56 17MB  0cb5672fc29f22a6107f0ce48cc195e0d580e8ec4566ee6f3589eb8cc15aa9ff
nvidia-nccl-cu13      2.28.9    196MB e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42
'

oldest_release=12.9  # that Octet builds with
listed_release=13.0  # of the packages above

release_of() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }  # NVCC
at_least() { printf '%s\n' "$1" "$2" | sort -VC; }                                      # RELEASE OTHER: other >= release

# The first that runs and is new enough; cmake/cuda.cmake asks here too. What was fetched comes first: it was fetched
# because the others did not do. Returns 1 where there is none at all, 2 where none that is there does.
find_nvcc() {
  local nvcc release code=1
  for nvcc in "$root/toolkit/bin/nvcc" "$(command -v nvcc || true)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc; do
    [[ -x $nvcc ]] || continue
    code=2
    release=$(release_of "$nvcc") || release=
    if at_least "$oldest_release" "${release:-0}"; then echo "$nvcc" && return; fi
    echo "jobs/install-cuda.sh: $nvcc is left out: release ${release:-unknown, since --version does not tell it}, needed $oldest_release or newer" >&2
  done
  return "$code"
}

source jobs/pip-tools.sh

listed() { awk -v p="$1" '$1 == p { print $2, $3, $4 }' <<<"$packages"; }

# download PACKAGE: its wheel, into the folder $work; its licences stay.
download() {
  local package=$1 version size sum quiet=()
  read -r version size sum < <(listed "$package")
  tools
  echo "$package $version: $size from PyPI"
  mkdir -p "$root/licences"
  work=$(mktemp -d "$root/fetch.XXXXXX")
  # shellcheck disable=SC2064  # this folder, now
  trap "rm -rf '$work'" EXIT
  echo "$package==$version --hash=sha256:$sum" >"$work/requirements"
  # The same file whatever python3 this is: only headers and programs are taken from it.
  [[ -t 1 ]] || quiet=(--quiet)
  python3 -m pip download "${quiet[@]}" --disable-pip-version-check --no-deps --require-hashes \
    --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
    --dest "$work" --requirement "$work/requirements" ||
    fail "$package $version was not downloaded: see pip's message above (is there a way to PyPI? PIP_INDEX_URL names a mirror)"
  ! unzip -qqp "$work"/*.whl '*.dist-info/licenses/*' >"$work/licences" 2>/dev/null || mv "$work/licences" "$root/licences/$package"
}

# fetch PACKAGE DESTINATION FOLDER PATTERN...: unpacks the files below FOLDER of the wheel that match a pattern.
# A stamp, written last, says that it is there; a new version in the list fetches anew.
fetch() {
  local package=$1 destination=$2 folder=$3 version stamp
  shift 3
  read -r version _ < <(listed "$package")
  stamp=$destination/.octet/$package-$version
  [[ ! -e $stamp ]] || return 0
  download "$package"
  unzip -qo "$work"/*.whl "${@/#/$folder}" -d "$work/content" || fail "$package $version: the wheel has none of $*"
  mkdir -p "$destination/.octet"
  cp -r "$work/content/$folder." "$destination/"
  touch "$stamp"
  rm -rf "$work"
}

# The licence of a package of which code gets into the programs, whether it is used from here or from this machine.
fetch_licence() {
  [[ ! -e $root/licences/$1 ]] || return 0
  download "$1"
  rm -rf "$work"
  [[ -e $root/licences/$1 ]] || fail "$1: the wheel has no licence"
}

# Headers that stand in wheels beside large libraries.
fetch_library_headers() {  # DESTINATION_OF_INCLUDE HEADER
  case $2 in
    nvrtc.h) fetch nvidia-cuda-nvrtc "$1" nvidia/cu13/include/ '*.h' ;;
    cublasLt.h) fetch nvidia-cublas "$1" nvidia/cu13/include/ '*.h' ;;
    cudnn.h) fetch nvidia-cudnn-jit-cu13 "$1" nvidia/cudnn_jit/include/ '*.h' ;;
  esac
}

fetch_toolkit() {
  local toolkit=$root/toolkit header
  fetch nvidia-nvvm "$toolkit" nvidia/cu13/ 'nvvm/*'
  fetch nvidia-cuda-crt "$toolkit" nvidia/cu13/ 'include/*'
  fetch nvidia-cuda-runtime "$toolkit" nvidia/cu13/ 'include/*' 'lib/*'
  fetch nvidia-cuda-cccl "$toolkit" nvidia/cu13/ 'include/*'
  for header in "${library_headers[@]}"; do fetch_library_headers "$toolkit/include" "$header"; done
  # Last, so that an nvcc that is found is a whole toolkit.
  fetch nvidia-cuda-nvcc "$toolkit" nvidia/cu13/ 'include/*' 'bin/*'
  # Wheels hold no links: what the linker and nvcc's profile look for.
  ln -sfn libcudart.so.13 "$toolkit/lib/libcudart.so"
  ln -sfn lib "$toolkit/lib64"
  chmod -R a+rX "$toolkit"
}

# Whether the host compiler sees the header with the toolkit of this nvcc.
has_header() {
  local home
  home=$(dirname "$(dirname "$(readlink -f "$1")")")
  "${CXX:-g++}" -E -x c++ -I"$home/include" -I"$home/targets/x86_64-linux/include" -include "$2" /dev/null >/dev/null 2>&1
}

library_headers=(nvrtc.h cublasLt.h cudnn.h)
case $* in
  '') toolkit=0 ;;
  --toolkit) toolkit=1 ;;
  --find) find_nvcc; exit ;;
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
  *) echo "jobs/install-cuda.sh: '$*', expected --toolkit, --find or nothing (see --help)" >&2 && exit 64 ;;
esac

# A toolkit that lacks a header gets it from the list where it is not older than the list; else the list's own is taken.
lacks_newer_headers() {
  local header
  ! at_least "$listed_release" "$(release_of "$1")" || return 1
  for header in "${library_headers[@]}"; do
    has_header "$1" "$header" || { echo "$1 has no $header, and that of CUDA $listed_release does not go beside it: fetching a toolkit" && return; }
  done
  return 1
}

nvcc=$(find_nvcc || true)
if ((toolkit)) || [[ -z $nvcc || $nvcc == "$root"/* ]] || lacks_newer_headers "$nvcc"; then fetch_toolkit; fi
nvcc=$(find_nvcc) || fail "no nvcc after all: $root/toolkit/bin/nvcc does not run"
fetch nvidia-cudnn-frontend "$root/include" include/ '*'
for header in "${library_headers[@]}"; do
  has_header "$nvcc" "$header" || fetch_library_headers "$root/include" "$header"
done
has_header "$nvcc" nccl.h || fetch nvidia-nccl-cu13 "$root/include" nvidia/nccl/include/ nccl.h
# Without one of these all is built but the bundle.
for package in nvidia-cuda-runtime nvidia-cudnn-frontend; do
  (fetch_licence "$package") || echo "going on without the licence of $package, which the bundle will ask for" >&2
done
