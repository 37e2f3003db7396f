#!/usr/bin/env bash
# What jobs/install-packages.sh and the quickstart ask of apt, with an apt-get that notes it and installs nothing; and that
# the other installers take no words that they do not know.
# Usage: tests/checks/install_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder"/{bin,jobs}
cp jobs/install-{packages,cuda,arrow}.sh jobs/pip-tools.sh jobs/quickstart.sh "$folder/jobs"
mkdir -p "$folder/configs/runs" && cp configs/runs/english-5m.yaml "$folder/configs/runs"
echo "some text" >"$folder/mine.txt"
printf '#!/bin/sh\nexec "$@"\n' >"$folder/bin/sudo"
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/dpkg-query" # nothing is installed
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/python3"    # it has no pip: nothing is fetched
cat >"$folder/bin/apt-get" <<EOF
#!/bin/sh
echo "\$@" >>"$folder/asked"
case " \$* " in *" update "*) ;; *) exit 1 ;; esac
EOF
chmod +x "$folder"/bin/*

# ask CODE COMMAND...: `asked` is what apt-get was asked to install by the command, which has to end with that code.
ask() {
  local expected=$1 code=0
  shift
  : >"$folder/asked"
  (cd "$folder" && PATH=$folder/bin:$PATH "$@") >"$folder/said" 2>&1 || code=$?
  ((code == expected)) || { echo "$*: ended with $code, expected $expected" && cat "$folder/said" && exit 1; } >&2
  asked=$(grep ' install ' "$folder/asked" || true)
}
has() { [[ $asked == *"$1"* ]] || { echo "no $1 in: $asked" >&2 && exit 1; }; }
lacks() { [[ $asked != *"$1"* ]] || { echo "$1 in: $asked" >&2 && exit 1; }; }
says() { grep -qF "$1" "$folder/said" || { echo "no $1 in:" && cat "$folder/said" && exit 1; } >&2; }

ask 1 jobs/install-packages.sh
has ' g++ cmake ' && lacks libgtest-dev
ask 1 jobs/install-packages.sh --tests binutils
has libgtest-dev && has ' binutils'
ask 64 jobs/install-packages.sh --test
lacks install && says 'unknown option --test (see --help)'
ask 0 jobs/install-packages.sh --help
lacks install && says 'Usage: jobs/install-packages.sh'

# All is installed but what the tests do without, for a user who is not root and has no sudo.
mkdir "$folder/alone" && chmod -R a+rX "$folder"
printf '#!/bin/sh\necho "  Candidate: 1.0"\n' >"$folder/alone/apt-cache"
cat >"$folder/alone/dpkg-query" <<EOF
#!/bin/sh
case \$4 in chromium-headless-shell | "\$ABSENT") exit 1 ;; *) printf installed ;; esac
EOF
chmod +x "$folder"/alone/*
user=()
((EUID != 0)) || user=("$(command -v setpriv)" --reuid=65534 --clear-groups)
alone() { "${user[@]}" "$(command -v env)" PATH="$folder/alone" ABSENT="$1" "$BASH" jobs/install-packages.sh --tests; }
ask 0 alone ''
ask 1 alone libgtest-dev
[[ $(<"$folder/said") == *'install: libgtest-dev' ]] || { echo "more is asked for: $(<"$folder/said")" >&2 && exit 1; }

ask 64 jobs/install-cuda.sh --toolkit --prefix /opt
lacks install && says "install-cuda.sh: '--toolkit --prefix /opt', expected --toolkit, --find or nothing (see --help)"
ask 64 jobs/install-arrow.sh --prefix /opt
lacks install && says "install-arrow.sh: '--prefix /opt', expected nothing (see --help)"
# What wheels are unpacked with is asked for before one is fetched.
for word in 'install-cuda.sh --toolkit' install-arrow.sh; do
  # shellcheck disable=SC2086  # two words
  ask 1 jobs/$word
  has ' python3-pip' && says "jobs/${word% *}: needs"
done

# All that a quickstart takes is asked for before the build, which is when a user without root has to ask for it.
ask 1 jobs/quickstart.sh
has ' g++ cmake ' && has dict-gcide
ask 64 jobs/quickstart.sh --ranks 3
lacks install && says 'quickstart.sh: --ranks 3: a step of configs/runs/english-5m.yaml has 8 sequences'
ask 1 jobs/quickstart.sh --text mine.txt
has ' g++ cmake ' && lacks dict-gcide
echo 'apt is asked for what is needed'
