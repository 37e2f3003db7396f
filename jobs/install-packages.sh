#!/usr/bin/env bash
# Installs what Octet needs to build and run on Debian 12 and 13, and what has the same names on Ubuntu 24.04.
# Usage: jobs/install-packages.sh [--tests] [PACKAGE...]     --tests adds what only the tests and checks need.
# Does nothing when everything is there. Uses sudo when not root.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  python3-minimal                     # puts sources into batches for the quickstart's build
  mpich libmpich-dev                  # MPI
  libdnnl-dev                         # oneDNN: GEMM on the CPU
  librandom123-dev                    # counter-based random numbers
  libyaml-cpp-dev libboost-program-options-dev nlohmann-json3-dev
  libfmt-dev libspdlog-dev
  libhdf5-dev                         # checkpoints
  libhwloc-dev libpugixml-dev          # octet tune topology: what a node has, NCCL's XML files
  libsimgrid-dev                      # octet tune placement: traffic on shared links
  libxxhash-dev                       # fingerprints of data and replicas, hashes of checkpoints
  libpcre2-dev libsentencepiece-dev   # tokenizers: patterns, SentencePiece's models
  libsimdjson-dev zlib1g-dev libzstd-dev  # octet prepare: JSONL, .gz and .zst
  gnuplot-nox                         # the quickstart's plot
  libjs-dygraphs                      # the plots of octet report
)
tests=(
  libgtest-dev libgmock-dev ccache clang clang-format clang-tidy libomp-dev libclang-rt-dev
  python3 shellcheck git
  python3-h5py python3-xxhash         # read checkpoints as their format's page says
  libboost-context-dev                # threads of the emulated GPU
  patchelf xz-utils                   # the bundle
  slurmctld slurmd slurm-client munge # the virtual cluster
  iproute2                            # networks of namespaces, one link of which is slow
)
optional=(                            # of the tests, which skip what wants them
  chromium-headless-shell             # opens the page of octet report; Ubuntu has none
)
chosen=()
for word; do
  case $word in
    --tests) packages+=("${tests[@]}") && chosen=("${optional[@]}") ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    -*) echo "jobs/install-packages.sh: unknown option $word (see --help)" >&2 && exit 64 ;;
    *) packages+=("$word") ;;
  esac
done

is_missing() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) != installed ]]; }
# By the lists of the last `apt-get update`.
is_offered() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) =~ "Candidate: "[^\(] ]]; }
missing=()
for package in "${packages[@]}"; do
  ! is_missing "$package" || missing+=("$package")
done
lacking=()
for package in "${chosen[@]}"; do
  ! is_missing "$package" || lacking+=("$package")
done
# What is not offered here is no reason to ask for it again, once there are lists: images often come without.
has_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }
if ((${#missing[@]} == 0)) && has_lists; then
  for i in "${!lacking[@]}"; do is_offered "${lacking[i]}" || unset "lacking[i]"; done
fi
((${#missing[@]} + ${#lacking[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    ((${#missing[@]})) || exit 0 # what the tests do without is no reason to end them
    echo "jobs/install-packages.sh: run as root, or have an administrator install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0)
"${apt[@]}" update -qq
for package in "${lacking[@]}"; do
  if is_offered "$package"; then missing+=("$package"); else echo "not to be had here, and done without: $package"; fi
done
((${#missing[@]})) || exit 0
echo "installing: ${missing[*]}"
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" | awk '
  /newly installed/ { print "  " $0; fflush() }
  /^(Unpacking|Setting up)/ && ++n % 50 == 0 { print "  " n " unpacked or set up"; fflush() }'
