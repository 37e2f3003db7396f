# shellcheck shell=bash
# What jobs/install-cuda.sh and jobs/install-arrow.sh, which source this file in the root of the tree, unpack wheels of PyPI
# with: python3 with pip, and unzip. It calls their `fail`.
tools() {
  [[ $(uname -sm) == 'Linux x86_64' ]] || fail "$(uname -sm): the packages listed here are those of Linux x86_64"
  local missing=()
  command -v unzip >/dev/null || missing+=(unzip)
  python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
  ((${#missing[@]} == 0)) || jobs/install-packages.sh "${missing[@]}" || fail "needs ${missing[*]}"
}
