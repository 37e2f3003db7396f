#!/usr/bin/env bash
# Packs a build with everything private that it needs into one relocatable tarball, and checks what came out.
# Usage: jobs/make-bundle.sh BUILD_FOLDER VERSION MPIEXEC OUTPUT.tar.xz     (the target `bundle` calls it)
# Packed: the installed programs, configs, GPU scripts, docs, MPICH's launcher, and every library that ldd names but
# those of the system (glibc, libstdc++, libgcc_s) and of CUDA and its driver, which are found where they run.
# Left out: UCX's InfiniBand modules (their libibverbs belongs to the driver of the machine): MPI between nodes is TCP;
# the simulator of octet tune placement.
# Fails, with names, on a symbol newer than Ubuntu 22.04's, on a library or a licence not found, and above 48 MB.
# Made on Debian or Ubuntu, of their packages: licences and sources are found by these.
# Needs patchelf, readelf, xz. Not installed here: jobs/install-packages.sh --tests does.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
esac
(($# == 4)) || { echo "bundle: '$*', expected BUILD_FOLDER VERSION MPIEXEC OUTPUT.tar.xz (see --help)" >&2 && exit 64; }
build=$1 version=$2 mpiexec=$3 output=$4
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
most_bytes=$((48 * 1000 * 1000))

fail() {
  echo "bundle: $*" >&2
  exit 1
}
for tool in patchelf readelf strip xz; do
  command -v "$tool" >/dev/null || fail "$tool is missing: jobs/install-packages.sh patchelf binutils xz-utils"
done

name=octet-$version-linux-x86_64
work=$(mktemp -d "$build/bundle.XXXXXX")
trap 'rm -rf "$work"' EXIT
stage=$work/$name
mkdir -p "$stage/lib/ucx"
packed=()  # a line a file of others: its name in the bundle, its path here

# The installation, with configs at the top, where a user looks for them; the programs look in share/octet.
install_tree() {
  cmake --install "$build" --prefix "$stage" >/dev/null
  rm -rf "$stage/lib/octet"  # the simulator: SimGrid's libraries are 39 MB and made for Debian 12 alone
  mv "$stage/share/octet/configs" "$stage/configs"
  ln -s ../../configs "$stage/share/octet/configs"
  mv "$stage"/share/doc/octet/* "$stage/" && rm -r "$stage/share/doc"
  cp -r "$source/docs" "$stage/"
  cp "$source/jobs/bundle-readme.md" "$stage/README.md"
  [[ ! -d $source/jobs/gpu ]] || { mkdir "$stage/jobs" && cp -r "$source/jobs/gpu" "$stage/jobs/"; }
  find "$stage" -name __pycache__ -prune -exec rm -r {} +
  [[ ! -e $source/tests/benchmark/torch_gpu.py ]] || install -D -t "$stage/tests/benchmark" "$source/tests/benchmark/torch_gpu.py"
  "$build/bin/octet" --version | sed -n 's/^commit  *//p' >"$stage/COMMIT"
}

# hydra finds its proxy beside itself.
install_launcher() {
  local folder
  mpiexec=$(readlink -f "$mpiexec")
  folder=$(dirname "$mpiexec")
  [[ -x $folder/hydra_pmi_proxy ]] || fail "$mpiexec has no hydra_pmi_proxy beside it: the bundle is made with MPICH"
  pack bin/mpiexec "$mpiexec"
  pack bin/hydra_pmi_proxy "$folder/hydra_pmi_proxy"
}

pack() {  # NAME PATH
  cp -L "$2" "$stage/$1"
  packed+=("$1 $2")
}

# Libraries that stay with the system. libgomp is packed: a bare system has no OpenMP.
of_the_system='^(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libanl|libnsl|libstdc\+\+|libgcc_s)\.so'
of_cuda='^lib(cuda|cudart|cublas|cublasLt|cudnn[a-z_]*|nccl|nvrtc[a-z.-]*|nvJitLink|nvidia-[a-z-]+)\.so'

# copy_libraries FILE...: the closure of what they link.
copy_libraries() {
  local library path
  while read -r library path; do
    [[ ! $library =~ $of_the_system ]] || continue
    [[ ! $library =~ $of_cuda ]] || fail "a program links $library: CUDA's libraries are loaded at run time"
    [[ $path != not ]] || fail "$library is not found"
    [[ ! -e $stage/lib/$library ]] || continue
    pack "lib/$library" "$path"
  done < <(ldd "$@" | awk '$2 == "=>" { print $1, $3 }' | sort -u)
}

# What UCX opens by name, in the folder ucx beside its library.
copy_ucx_modules() {
  local ucs module
  ucs=$(ldd "$stage/bin/octet-train" | awk '/libucs\.so/ { print $3 }')
  [[ -n $ucs ]] || return 0
  module=$(dirname "$(readlink -f "$ucs")")/ucx/libuct_cma.so.0
  [[ ! -e $module ]] || pack lib/ucx/libuct_cma.so.0 "$module"
}

# RPATH, not RUNPATH: a cluster's LD_LIBRARY_PATH must not put its MPI or fmt in the place of ours.
set_paths() {
  local file
  chmod -R u+w,a+rX "$stage"
  strip --strip-all "${programs[@]}"
  strip --strip-unneeded "$stage"/lib/*.so* "$stage"/lib/ucx/*.so*
  # shellcheck disable=SC2016  # $ORIGIN is the loader's
  {
    for file in "${programs[@]}"; do patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$file"; done
    for file in "$stage"/lib/*.so*; do patchelf --force-rpath --set-rpath '$ORIGIN' "$file"; done
    for file in "$stage"/lib/ucx/*.so*; do patchelf --force-rpath --set-rpath '$ORIGIN:$ORIGIN/..' "$file"; done
  }
}

shopt -s nullglob
install_tree
install_launcher
programs=("$stage"/bin/*)
copy_libraries "${programs[@]}"
copy_ucx_modules
# The tuner has its own libstdc++ (plugin.cmake).
packed+=("lib/libnccl-tuner-octet.so $(g++ -print-file-name=libstdc++.a)")
printf '%s\n' "${packed[@]}" | "$source/jobs/bundle-licences.sh" "$stage/share/octet/licences"
set_paths
"$source/jobs/check-symbols.sh" "$stage" || fail "$name would not start on Ubuntu 22.04"

# The same content gives the same bytes. The programs hold the same kernels: a dictionary that reaches from one program
# to the next makes four of them 5.4 MB where xz -1 alone makes 12.6 MB; unpacking takes 64 MB of memory.
epoch=$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - "$name" | xz --lzma2=preset=1,dict=64MiB >"$work/bundle.tar.xz"
bytes=$(stat -c %s "$work/bundle.tar.xz")
((bytes <= most_bytes)) || fail "$bytes bytes: above $most_bytes; the largest: $(cd "$stage" && find . -type f -printf '%s %p\n' | sort -rn | head -n 5 | tr '\n' ';')"
mv "$work/bundle.tar.xz" "$output"
printf 'bundle: %s, %s bytes, %s files\n' "$output" "$bytes" "$(find "$stage" -type f | wc -l)"
