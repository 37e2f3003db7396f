#!/usr/bin/env bash
# Installs what Octet needs to build and run on Debian 12 (or Ubuntu with the same package names).
# Usage: jobs/install-packages.sh [--tests]     --tests adds what only the tests and checks need.
# Does nothing when everything is there. Uses sudo when not root.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  mpich libmpich-dev                  # MPI
  libdnnl-dev                         # oneDNN: GEMM on the CPU
  librandom123-dev                    # counter-based random numbers
  libyaml-cpp-dev libboost-program-options-dev nlohmann-json3-dev
  libfmt-dev libspdlog-dev
  libxxhash-dev                       # fingerprints of data
  gnuplot-nox                         # the quickstart's plot
)
tests=(
  libgtest-dev ccache clang clang-format clang-tidy libomp-dev libclang-rt-14-dev
  python3 shellcheck git
)
[[ "${1:-}" == --tests ]] && packages+=("${tests[@]}")

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "installing: ${missing[*]}"
as_root=()
((EUID == 0)) || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
