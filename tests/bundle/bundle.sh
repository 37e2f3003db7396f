#!/usr/bin/env bash
# The bundle runs from any folder, with nothing of this machine but the C and C++ run time; and its GPU scripts, with the
# real programs, say that there is no GPU (left out where there is one).
# Usage: tests/bundle/bundle.sh TARBALL
# Prints one line a check; the last line is "N passed, N failed, N skipped". Exit 1 when one failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jobs=$here/../../jobs
[[ $# == 1 && $1 != -* ]] || { echo 'usage: tests/bundle/bundle.sh TARBALL' >&2 && exit 64; }
tarball=$(readlink -f "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# check NAME COMMAND...
check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1)) && echo "ok      $name"
  else
    failed=$((failed + 1)) && echo "FAILED  $name" && tail -n 20 "$work/log" | sed 's/^/    /'
  fi
}
skip() { skipped=$((skipped + 1)) && echo "skipped $1: $2"; }

# The root of a system that has the C and C++ run time and nothing else; the bundle is at /opt.
root=$work/root
mkdir -p "$root"/{opt,proc,sys,dev,tmp,try}
tar -C "$root/opt" -xf "$tarball" || { echo "$tarball cannot be unpacked" && exit 1; }
octet=$(echo "$root"/opt/*)
bundle=${octet##*/}
of_the_system='(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libstdc\+\+|libgcc_s)\.so[.0-9]*'

elf_files() { find "$octet" -type f \( -path '*/bin/*' -o -name '*.so*' \); }

# No library is missing, and none comes from this machine but those of the run time.
closed() {
  local file outside=0
  while read -r file; do
    env -i ldd "$file" >"$work/ldd" || { echo "$file: ldd fails" && outside=1; }
    awk -v inside="$octet/" -v file="$file" -v system_library="^$of_the_system$" '
      $1 ~ /^\// { next }  # the loader itself
      $1 ~ system_library { next }
      index($3, inside) != 1 { print file ": " $0; bad = 1 }
      END { exit bad }' "$work/ldd" || outside=1
  done < <(elf_files)
  ((outside == 0))
}

# A program of the machine's own libraries, put where the loader looks first, is not taken.
own_libraries_first() {
  mkdir -p "$work/foreign" && printf 'not a library' >"$work/foreign/libfmt.so.9"
  (cd / && env -i LD_LIBRARY_PATH="$work/foreign" "$octet/bin/octet" --help)
}

# A model that is only in the bundle, from another folder.
finds_configs() {
  cp "$octet/configs/models/10m.yaml" "$octet/configs/models/only-here.yaml"
  (cd / && env -i "$octet/bin/octet-train" --model only-here --data.train nothing --print-config | grep -x 'model: only-here')
  local code=$?
  rm "$octet/configs/models/only-here.yaml"
  return $code
}

refuses_newer_symbols() {
  ! "$jobs/check-symbols.sh" "$octet" GLIBC_2.33 >"$work/newer" 2>&1 && grep -q 'octet-train needs .* of GLIBC_2.34' "$work/newer"
}

copy_run_time() {
  local library path
  while read -r library path; do
    [[ $library =~ ^$of_the_system$ ]] || continue
    mkdir -p "$root$(dirname "$path")" && cp -L "$path" "$root$path" || return
  done < <({ elf_files | xargs ldd; } | awk '$2 == "=>" { print $1, $3 }' | sort -u)
  mkdir -p "$root/lib64" && cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
}
# in_root COMMAND...: as root directly, otherwise in a user namespace.
namespaces=(--mount --pid --fork)
((EUID == 0)) || namespaces+=(--map-root-user)
in_root() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare "${namespaces[@]}" sh -ec '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    exec env -i OMP_NUM_THREADS=1 "$(command -v chroot)" "$root" "$@"' sh "$root" "$@"
}

write_inputs() {
  mkdir -p "$1"
  awk 'BEGIN { for (i = 0; i < 4000; ++i) printf "line %d of %d words.\n", i * 7919 % 4001, i % 13 }' >"$1/text.txt"
  printf '%s\n' 'dim: 32' 'layers: 2' 'heads: 4' 'kv_heads: 2' 'head_dim: 16' 'ffn_dim: 64' 'vocab_size: 256' >"$1/tiny.yaml"
}
train=(--train.steps 3 --train.seq_len 32 --train.global_batch 4 --precision float8 --data.validation_fraction 0)
three_steps() { [[ $(grep -c '"loss"' "$1/run/metrics.jsonl") == 3 ]]; }

trains_here() {
  write_inputs "$work/here" && cd "$work/here" &&
    env -i "$octet/bin/octet" prepare --input text.txt --output text &&
    env -i OMP_NUM_THREADS=1 "$octet/bin/mpiexec" -n 2 "$octet/bin/octet-train" --model ./tiny.yaml --data.train text --run.dir run "${train[@]}" --parallel.dp_shard 2 &&
    three_steps .
}
# Without a launcher, as the GPU scripts do.
alone_in_root() {
  in_root "/opt/$bundle/bin/octet-train" --model /try/tiny.yaml --data.train /try/text --run.dir /try/alone "${train[@]}" &&
    [[ $(grep -c '"loss"' "$root/try/alone/metrics.jsonl") == 3 ]]
}
trains_in_root() {
  local bin=/opt/$bundle/bin
  write_inputs "$root/try" &&
    in_root "$bin/octet" prepare --input /try/text.txt --output /try/text &&
    in_root "$bin/mpiexec" -n 2 "$bin/octet-train" --model /try/tiny.yaml --data.train /try/text --run.dir /try/run "${train[@]}" --parallel.dp_shard 2 &&
    three_steps "$root/try"
}
# The script's own end where there is no GPU, with python3 and the tools of this machine.
skips_without_gpu() {
  (cd / && env -i PATH="$PATH" "$octet/jobs/gpu/$1.sh") >"$work/script" 2>&1 || { cat "$work/script" && return 1; }
  cat "$work/script"
  tail -n 1 "$work/script" | grep -qE "^$1: SKIPPED: no CUDA device: .+"
}
# Its help is printed, and what it does not know is refused.
bench_gpu_knows_its_words() {
  local program=$octet/bin/octet-bench-gpu words code
  env -i "$program" -h | grep '^usage: octet-bench-gpu ' || return
  for words in '' --bogus --rows '--rows - --cpuu' '--device --libraries' '--device --cpu'; do
    code=0
    # shellcheck disable=SC2086  # several words
    env -i "$program" $words </dev/null >"$work/printed" || code=$?
    [[ $code == 64 && ! -s $work/printed ]] || { echo "octet-bench-gpu $words: exit code $code, expected 64" && return 1; }
  done
}
finds_no_device() {
  local code=0
  env -i "$octet/bin/octet-bench-gpu" --device || code=$?
  ((code == 64))
}
names_libraries() { skips_without_gpu check && grep -q '^driver: ' "$work/script" && grep -q '^libcublasLt\.so\.' "$work/script"; }
lists_rows() {
  env -i PATH="$PATH" "$octet/jobs/gpu/bench.sh" --list >"$work/script" && wc -l "$work/script" &&
    grep -qx 'octet:copy' "$work/script" && grep -q '^torch:step/8b/float8/' "$work/script" &&
    [[ -x $octet/tests/benchmark/torch_gpu.py ]]
}
# The plan of everything, and the resume script with the bundle's own programs.
plans_all() {
  env -i PATH="$PATH" "$octet/jobs/gpu/all.sh" --list --minutes 10 >"$work/script" && cat "$work/script" &&
    grep -qE '^kernels .* 1 ' "$work/script" && grep -qE '^micro-batches ' "$work/script"
}
resumes_on_cpu() {
  write_inputs "$work/resume" && (cd / && env -i PATH="$PATH" OMP_NUM_THREADS=1 "$octet/jobs/gpu/resume.sh" --device cpu \
    --precisions float8 --model "$work/resume/tiny.yaml" --output "$work/resume/runs")
}
has_tuner() {
  readelf --dyn-syms --wide "$octet/lib/libnccl-tuner-octet.so" | awk '$7 != "UND" && $8 ~ /^ncclTunerPlugin_v[456]/ { ++n } END { exit n != 3 }'
}
licences=$octet/share/octet/licences
# Every library and each program of MPICH has a line in SOURCES with a source, and a page of the package named there; so
# has what is compiled in.
licensed() {
  local file name package missing=0
  while read -r file; do
    name=${file#"$octet/"}
    package=$(awk -v name="$name" '$1 == name && index($5, "https://") == 1 && index($5, "/" $4 "/") { print $2 }' "$licences/SOURCES")
    [[ -n $package && -s $licences/$package ]] || { echo "$name: '$package' of SOURCES has no page" && missing=1; }
  done < <(find "$octet/lib" -type f -name '*.so*' && printf '%s\n' "$octet"/bin/{mpiexec,hydra_pmi_proxy})
  for name in librandom123-dev nlohmann-json3-dev libgtest-dev libjs-dygraphs nvidia-cuda-runtime nvidia-cudnn-frontend; do
    [[ -s $licences/$name ]] || { echo "$name: has no page" && missing=1; }
  done
  [[ -s $octet/LICENSE && -s $octet/NOTICE ]] && ((missing == 0))
}
# Pages name the texts of common-licenses one by one or as {GPL-2,LGPL-2.1}, and end sentences with them.
has_common_texts() {
  local text missing=0
  find "$licences" -maxdepth 1 -type f -exec grep -ohE 'common-licenses/[A-Za-z0-9{][A-Za-z0-9.,}{+-]*' {} + | cut -d/ -f2 |
    tr '{},' '\n' | sed 's/\.$//' | grep . | sort -u >"$work/texts"
  while read -r text; do
    [[ -s $licences/common-licenses/$text ]] || { echo "common-licenses/$text is not there" && missing=1; }
  done <"$work/texts"
  grep -qx GPL-2 "$work/texts" && ((missing == 0))
}
refuses_without_licence() {
  ! "$jobs/bundle-licences.sh" "$work/licences" <<<"lib/libnone.so $tarball" >"$work/refused" 2>&1 &&
    grep -qF "$tarball is of no Debian package" "$work/refused"
}
gpu_tests_in_root() { in_root "/opt/$bundle/bin/octet-test-gpu" --gtest_brief=1; }

cd "$work" || exit 1
check 'every library is in the bundle or of the run time' closed
check 'symbols no newer than those of Ubuntu 22.04' "$jobs/check-symbols.sh" "$octet"
check 'a newer symbol is refused by name' refuses_newer_symbols
check 'libraries of LD_LIBRARY_PATH are not taken' own_libraries_first
check 'octet-train --help with an empty environment' env -i "$octet/bin/octet-train" --help
check 'models are found beside the program' finds_configs
check 'the tuner plugin has the symbols that NCCL looks for' has_tuner
check 'octet-bench-gpu: help and wrong commands' bench_gpu_knows_its_words
check 'what is packed or compiled in has a licence, and files a place of their source' licensed
check 'the texts that licences name are there' has_common_texts
check 'a library of no package is refused by name' refuses_without_licence
check '2 ranks train 3 steps in float8' eval '(trains_here)'
if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
  skip 'GPU scripts without a GPU' 'this machine has one'
else
  check 'octet-bench-gpu --device: 64 without a GPU' finds_no_device
  check 'check.sh names the libraries and skips without a GPU' names_libraries
  check 'sanitize.sh skips without a GPU' skips_without_gpu sanitize
  check 'bench.sh skips without a GPU' skips_without_gpu bench
  check 'all.sh skips without a GPU' skips_without_gpu all
fi
check 'bench.sh --list, and the PyTorch side is there' lists_rows
check 'all.sh --list' plans_all
check 'resume.sh --device cpu: killed and resumed to the bit' resumes_on_cpu
if ! unshare "${namespaces[@]}" true 2>/dev/null; then
  skip 'in a root with the run time alone' 'unshare may not make namespaces here'
elif ! copy_run_time; then
  check 'the run time is copied' false
else
  check 'in a root with the run time alone: 2 ranks train 3 steps' trains_in_root
  check 'in a root with the run time alone: 1 rank without mpiexec' alone_in_root
  check 'in a root with the run time alone: the GPU tests start' gpu_tests_in_root
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
