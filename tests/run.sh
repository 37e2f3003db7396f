#!/usr/bin/env bash
# Builds Octet and runs every test and check. At the end it lists the slowest steps and what failed; the last line is
# "N passed, N failed, N skipped"; exit 1 when one failed.
# Usage: tests/run.sh [--quick] [--long] [--minutes N] [--only REGEX] [--list]
#   --quick        leave out the clang and sanitizer builds and clang-tidy
#   --long         add what takes long: every program under the sanitizers and with clang, clang-tidy on every file
#   --minutes N    what --quick leaves out ends after N minutes since the start; what was not done by then is counted as
#                  skipped, and named
#   --only REGEX   only the steps whose name matches (and the builds that they need)
#   --list         print the names of the steps and stop
# Installs missing packages first (Debian or Ubuntu; as root or with sudo). Logs are in build/test-logs, what it builds in
# build/suite: in batches of sources (OCTET_UNITY), which takes a third of the time from nothing. --long compiles every
# source alone. The tests under the sanitizers and with clang are those of the rooms that have changed themselves
# (tests/support/changed.py), clang-tidy and the check of headers take the files; readers are fuzzed that have changed in
# the last hours, and GPUs other than Hopper compiled for where a kernel for them has; --long takes all.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=0 long=0 minutes=0 only='' list=0
while (($#)); do
  case $1 in
    --quick) quick=1 ;;
    --long) long=1 ;;
    --minutes)
      minutes=${2:-} && shift
      [[ $minutes =~ ^[1-9][0-9]{0,3}$ ]] || { echo "tests/run.sh: --minutes needs a number from 1 to 9999" >&2 && exit 64; }
      ;;
    --only)
      [[ -n ${2:-} ]] || { echo 'tests/run.sh: --only needs a regular expression' >&2 && exit 64; }
      only=$2 && shift ;;
    --list) list=1 ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit ;;
    *) echo "tests/run.sh: unknown option $1 (see --help)" >&2 && exit 64 ;;
  esac
  shift
done

logs=build/test-logs
bins=build/suite  # a build is $bins/PRESET
export bins
((long)) && patience=10 || patience=1  # factor on every time limit
((long)) && all=(--all) || all=()

# Threads that wait sleep: ranks share the cores here, and a spinning thread takes one from the thread it waits for.
export OMP_WAIT_POLICY=passive
export OCTET_TEST_PAUSES=0.1  # between tries of a read that fails
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS=detect_stack_use_after_return=1
export LSAN_OPTIONS=suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0
((long)) && export OCTET_TEST_LONG=1

source tests/support/steps.sh

# The rooms whose tests run under the sanitizers, and those that are compiled and tested with clang's optimiser too:
# what takes no whole training run, of the rooms that have changed themselves; --long takes them all.
asan_rooms() { rooms | if ((long)); then cat; else grep -vxE 'train|jobs|jobs_parts|commbench' | changed; fi; }
tsan_rooms() { echo base checkpoints comm device tuning | if ((long)); then cat; else changed; fi; }
tsan_nccl_rooms() { echo base comm device nccl | if ((long)); then cat; else changed; fi; }
clang_rooms() { rooms | if ((long)); then cat; else grep -xE 'base|device|tensor|kernels' | changed; fi; }
changed() { xargs tests/support/changed.py own; }

# configure PRESET OPTION...: into its folder of build/suite. tsan-nccl is tsan with CUDA, and so with NCCL's header.
configure() {
  cmake --preset "${1%-nccl}" -B "$bins/$1" -DOCTET_WERROR=ON -DOCTET_TESTS=ON -DOCTET_UNITY="$batch" "${@:2}"
}
((long)) && batch=0 || batch=12
export batch
export -f configure

# compile PRESET: configures and builds what the preset's steps run. A failure leaves the rest to be built and tested.
compile() {
  local preset=$1 code=0 log targets=() options=()
  log=$(log_of "build-$preset")
  case $preset in
    cpu) targets=(all) ;;
    fuzz)
      for room in "${fuzzed[@]}"; do targets+=("octet-fuzz-$room"); done
      ((long)) || options=(-DOCTET_UNITY=40)
      ;;
    tsan) targets=(octet-tuner-stress octet-saver-alone) ;;
    tsan-nccl) targets=(octet-nccl-alone) options=(-DOCTET_CUDA=ON) ;; # no kernel is compiled for it
    *)
      for room in $("${preset}_rooms"); do targets+=("octet-test-$room"); done
      ;;
  esac
  if [[ $preset == cpu ]] && limited 600 "$log.configure" jobs/install-arrow.sh; then
    options=(-DOCTET_ARROW=ON) # where the wheel can be had, a build without is a failure
  fi
  if [[ $preset == cuda ]]; then
    # For this machine's processor, as the preset cpu: so the two share what they compile alike.
    # With ptxas' report, which the check of kernel resources reads.
    ! emulates || targets+=(octet-test-emulated{,-ranks,-programs})
    ! emulates || ! checks_accesses || targets+=(octet-test-emulated-checked)
    ! emulates || ! orders_streams || targets+=(octet-test-emulated-ranks-checked octet-train-emulated-checked)
    targets+=(octet octet-train octet-evaluate octet-commbench octet-bench-gpu) && options=(-DOCTET_CPU_ARCH=auto -DCMAKE_CUDA_FLAGS=-Xptxas=-v)
    # Code for other GPUs than Hopper takes a third of a kernel's time: in --long for all, else in a step of its own.
    if ((long)); then options+=(-UOCTET_CUDA_ARCHITECTURES); else options+=(-DOCTET_CUDA_ARCHITECTURES=90a-real); fi
    limited 1200 "$log.configure" jobs/install-cuda.sh || code=$?
  fi
  ((code)) || { limited 120 "$log.configure" bash -c "configure $preset ${options[*]}" &&
    limited 2400 "$log" cmake --build "$bins/$preset" --target "${targets[@]}" -- -k 0; } || code=$?
  [[ -e $log ]] || mv "$log.configure" "$log"
  return "$code"
}
emulates() { [[ $(uname -m) == x86_64 ]]; } # tests/emulated/emulated.cmake
has_nvcc() { jobs/install-cuda.sh --find >/dev/null 2>&1; }

# build_beside PRESET...: begins them beside other steps, with the time that nothing else wants; `build` collects them.
build_beside() {
  local patience=$((patience * 4)) # they may have to wait for long
  (
    trap end_all INT TERM
    chrt --idle --pid 0 "$BASHPID" || true
    for preset in "$@"; do
      code=0 start=$SECONDS
      compile "$preset" || code=$?
      ended "$(log_of "build-$preset")" "$code" "$start"
    done
  ) &
  for preset in "$@"; do beside["build $preset"]=$!; done
}

# build PRESET: once, when the first step needs it.
declare -A built=()
build() {
  local preset=$1 code=0 start=$SECONDS
  [[ -z ${built[$preset]:-} ]] || return 0
  built[$preset]=1
  [[ -n ${beside["build $preset"]:-} ]] || ! over "build $preset" || return 0
  [[ -z ${beside["build $preset"]:-} ]] || { collect "build $preset" && return; }
  compile "$preset" || code=$?
  finish "build $preset" $((SECONDS - start)) $((code == 0)) $((code != 0)) 0 "$(log_of "build-$preset")"
}

# version_14 TOOL: its name where it is of LLVM 14, by which the sources are formatted and checked: others format otherwise
# and warn of more.
version_14() {
  local name
  for name in "$1-14" "$1"; do
    ! "$name" --version 2>/dev/null | grep -q 'version 14\.' || { echo "$name" && return; }
  done
  return 1
}

# configured PRESET: for the checks that need compile_commands.json and no more; of sources that are compiled alone.
configured() {
  cmake --preset "$1" -B "$bins/sources-$1" -DOCTET_UNITY=0 -DOCTET_WERROR=ON -DOCTET_TESTS=ON >"$(log_of "configure-$1")" 2>&1 </dev/null || true
}

# The programs come from the folders of tests, not from what was built: one that is missing has failed.
# tests/cuda, tests/gpu and tests/nccl are of the build with CUDA.
rooms() { for file in tests/*/*_test.cpp; do echo "$file"; done | cut -d/ -f2 | grep -vxE 'cuda|gpu|nccl' | sort -u; }
cuda_rooms() { for file in tests/{cuda,gpu,nccl}/*_test.cpp; do echo "$file"; done | cut -d/ -f2 | sort -u; }
is_mpi() { grep -qE "^ *octet_test\($1 .*MPI" tests/CMakeLists.txt; }
ranks_of() {
  case $1 in
    comm | nccl) echo 1 2 3 4 8 ;;
    resharding) echo 8 ;;
    *) echo 1 2 3 4 ;;
  esac
}

# run_room ROOM PRESET SECONDS [RANKS]: the test program of a room; MPI programs at each number of ranks.
run_room() {
  local room=$1 preset=$2 limit=$3 n binary=$bins/$2/bin/octet-test-$1 label=octet-test-$1
  [[ $preset == cpu ]] || label="$preset: $label"
  if is_mpi "$room"; then
    for n in ${4:-$(ranks_of "$room")}; do
      program "$label, $n ranks" "$preset" "$limit" env OMP_NUM_THREADS=1 mpiexec -n "$n" "$binary"
    done
  else
    program "$label" "$preset" "$limit" env OMP_NUM_THREADS=2 "$binary"
  fi
}

((list)) || { jobs/install-packages.sh --tests && rm -rf "$logs" && mkdir -p "$logs"; }

lately=(tests/support/changed.py --hours 4)  # of which several commits may have come at once
# What gives work to streams has changed.
orders_streams() {
  ((long)) || "${lately[@]}" code |
    grep -E '^(kernels|src/(base|comm|device|model|ops|optim|parallel|run_config|tensor|train)|tests/(cuda|emulated|gpu|nccl))/' >/dev/null
}
# Each access of the kernels is checked where one of them or the emulation has changed: it takes several times as long.
checks_accesses() { ((long)) || "${lately[@]}" code | grep -E '^(kernels/cuda|tests/emulated)/' >/dev/null; }
# The build of --long has code for them.
kernels_for_other_gpus() {
  if ((long)); then return; elif ((list)) || [[ -n $only ]]; then git ls-files 'kernels/*.cu'; else "${lately[@]}" device; fi
}
fuzzed=(base checkpoints cluster corpus data evaluate report run_config tokenizer topology tuning)
if ((!long && !list)) && [[ -z $only ]]; then
  names=$("${lately[@]}" fuzz "${fuzzed[@]}")
  mapfile -t fuzzed < <(printf '%s' "$names")
fi

mapfile -t cpp < <(git ls-files '*.h' '*.cpp')
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
if format=$(version_14 clang-format); then
  check 'format' 120 "$format" --dry-run -Werror "${cpp[@]}"
else
  skip 'format' 'no clang-format 14'
fi
check 'shellcheck' 60 shellcheck "${scripts[@]}"
check 'job scripts' 60 tests/checks/job_scripts.sh
check 'parity runs' 60 tests/checks/parity_test.sh
check 'packages' 60 tests/checks/install_test.sh
check 'options' 60 tests/checks/options_test.sh
check 'libraries' 60 tests/checks/library_test.sh
check 'ccache' 120 tests/checks/ccache_test.sh
check 'oneDNN' 60 tests/checks/onednn_test.sh
check 'rooms' 60 tests/checks/rooms.py
check 'rooms self-test' 60 tests/checks/rooms_test.py
check 'writes' 60 tests/checks/writes.py
check 'writes self-test' 60 tests/checks/writes_test.py
check 'docs' 60 tests/checks/docs.py
check 'docs self-test' 60 tests/checks/docs_test.py
check 'comments' 60 tests/checks/comments.py
check 'comments self-test' 60 tests/checks/comments_test.py
check 'owned self-test' 60 tests/checks/owned_test.py
check 'changes self-test' 60 tests/checks/changed_test.py
check 'batches self-test' 60 tests/checks/unity_test.py
check 'kernel resources self-test' 60 tests/checks/kernel_resources_test.py
check 'other GPUs self-test' 60 tests/checks/other_gpus_test.py
check 'chaos self-test' 60 python3 -m unittest discover -s tests/chaos -p '*_test.py'
check 'pairs' 60 tests/jobs/pairs.py --check
check 'planted faults' 60 tests/equivalence/planted_faults.py --check

selected 'build cpu' && build cpu
# What is left to build takes the time that tests leave: those of jobs wait for half of it, Slurm's for nearly all.
if ((!list)) && [[ -z $only ]] && chrt --idle 0 true 2>/dev/null; then
  later=()
  ! has_nvcc || later+=(cuda)
  if ((!quick)); then
    ((${#fuzzed[@]} == 0)) || later+=(fuzz)
    [[ -z $(tsan_rooms) ]] || later+=(tsan)
    ! has_nvcc || [[ -z $(tsan_nccl_rooms) ]] || later+=(tsan-nccl)
    [[ -z $(asan_rooms) ]] || later+=(asan)
    [[ -z $(clang_rooms) ]] || later+=(clang)
  fi
  ((${#later[@]} == 0)) || build_beside "${later[@]}"
fi
# Programs of one process, and of one rank, are run beside the longest of them, those of several ranks alone.
program_beside octet-test-jobs cpu 1800 env OMP_NUM_THREADS=1 "$bins/cpu/bin/octet-test-jobs"
for room in $(rooms); do is_mpi "$room" || [[ $room == jobs ]] || run_room "$room" cpu 600; done
for room in $(rooms); do [[ ! " $(ranks_of "$room") " =~ ' 1 ' ]] || ! is_mpi "$room" || run_room "$room" cpu 600 1; done
collect octet-test-jobs
for room in $(rooms); do ! is_mpi "$room" || run_room "$room" cpu 600 "$(ranks_of "$room" | sed 's/^1 //')"; done
# Meshes of 2 x 2 x 2 and 2 x 1 x 4, and pipelines with other dimensions.
GTEST_FILTER='*LayoutsInFp32*:StateOfFourStages.*:Layouts/DryRuns.*pp_4*:TensorParallelGradients.*:*TensorParallel.*/fp32:*TensorParallel.*/float8:*TensorParallel.*/delayed:*TensorParallel.*/rowwise' \
  run_room equivalence cpu 300 8
# What runs on a GPU too: a killed run that goes on to the bit.
! selected 'resume script' >/dev/null || build cpu
check 'resume script' 240 tests/checks/resume_on_cpu.sh "$bins/cpu/bin"
# Two trials, always the same: killed, signalled and damaged runs that go on. CONTRIBUTING.md says when to make more.
! selected 'chaos' >/dev/null || build cpu
check 'chaos' 240 tests/chaos/chaos.py --seed 17 --count 2 --bin "$bins/cpu/bin"
! selected 'block ops' >/dev/null || build cpu
check 'block ops' 120 tests/checks/block_ops_test.py "$bins/cpu/bin/octet-train"
! selected 'installation' >/dev/null || build cpu
check 'installation' 120 tests/checks/installation.sh "$bins/cpu"
check 'evaluate script' 240 tests/checks/evaluate_on_cpu.sh "$bins/cpu/bin"
if selected 'report page'; then
  if tests/checks/report_page.py --find >/dev/null; then
    build cpu
    check 'report page' 300 tests/checks/report_page.py "$bins/cpu/bin/octet"
  else
    finish 'report page' 0 0 0 1 ''
    echo '    skipped: no Chromium; jobs/install-packages.sh --tests installs Debian'\''s'
  fi
fi
can_skip 'lm-eval' cpu 600 env HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 OMP_NUM_THREADS=1 "${OCTET_PYTHON:-python3}" \
  tests/evaluate/tasks/against_lm_eval.py "$bins/cpu/bin/octet-evaluate" "$logs/lm-eval" --rows 8 --limit 6 --shots 0,2
can_skip 'slow link' cpu 150 tests/tuning/slow_link.sh "$bins/cpu/bin/octet-commbench"
check_beside 'gpu scripts' 600 python3 -m unittest discover -s tests/checks/gpu_scripts -p '*_test.py'
if [[ -x $(PATH=$PATH:/usr/sbin command -v slurmctld) ]]; then
  program 'slurm scenarios' cpu 900 env OCTET_BIN="$PWD/$bins/cpu/bin" OCTET_TEST_PATIENCE="$patience" tests/slurm/scenarios.py
  grep -hs 'second try$' "$(log_of 'slurm scenarios')" | sed 's/^/    /' || true
elif selected 'slurm scenarios'; then
  finish 'slurm scenarios' 0 0 0 1 ''
  echo '    skipped: no Slurm; jobs/install-packages.sh --tests installs it'
fi

collect 'gpu scripts'

# The CUDA backend wherever there is an nvcc; its tests skip, with a reason, where there is no GPU.
make_bundle() {
  rm -f "$bins"/cuda/octet-*.tar.xz
  cmake --build "$bins/cuda" --target bundle && tests/bundle/bundle.sh "$bins"/cuda/octet-*.tar.xz
}
export -f make_bundle
if has_nvcc; then
  selected 'build cuda' && build cuda
  names=$(kernels_for_other_gpus)
  mapfile -t kernels < <(printf '%s' "$names")
  if ((${#kernels[@]})); then
    ! selected 'other GPUs' >/dev/null || build cuda
    check 'other GPUs' 900 tests/checks/other_gpus.py "$bins/cuda" "${kernels[@]}"
  fi
  for room in $(cuda_rooms); do run_room "$room" cuda 600; done
  if emulates; then
    # All tests where something has changed that they are of; else whole steps, and what the emulation refuses.
    filter='EmulatedRules.*:*/GpuStep.*'
    ! orders_streams || filter='*-*TrainsToItsOwnBits*:*UpdateBeside*float8_rowwise*:*UpdateBeside*delayed*:*UpdateBeside*fp32_t*' # 4 minutes of 6
    ((!long)) || filter='*'
    program_beside 'cuda: octet-test-emulated' cuda 1200 env OMP_NUM_THREADS=1 GTEST_FILTER="$filter" "$bins/cuda/bin/octet-test-emulated"
    if checks_accesses; then
      # What takes longer and reaches nothing that the others do not.
      filter='*-GpuAttention.AgreesWithTheCpu:GpuAttention.StaysWithin*ByOurKernels:GpuAttention.Deterministic*:GpuAttention.*Twice*'
      filter+=':GpuAttention.CanBeCaptured*:GpuDocuments.*:*GraphsOnGpu*:*TrainsToItsOwnBits*:*UpdateBeside*:*OverTheSteps*:*GradientsInBf16*'
      ((!long)) || filter='*'
      program 'cuda: octet-test-emulated-checked' cuda 1200 env OMP_NUM_THREADS=1 GTEST_FILTER="$filter" "$bins/cuda/bin/octet-test-emulated-checked"
    fi
    collect 'cuda: octet-test-emulated'
    ranks=octet-test-emulated-ranks filter='*.OnTheGpu*/*fsdp_2:EmulatedLaunches.*'
    ! orders_streams || ranks+=-checked filter='*OnTheGpu*:Gpu*:EmulatedLaunches.*:EmulatedMessages.*'
    for n in 2 4; do
      program "cuda: $ranks, $n ranks" cuda 900 env OMP_NUM_THREADS=1 GTEST_FILTER="$filter" mpiexec -n "$n" "$bins/cuda/bin/$ranks"
    done
    ! orders_streams || check 'races of streams' 900 tests/checks/stream_races.py "$bins/cuda" --runs $((long ? 100 : 12))
    program 'cuda: octet-test-emulated-programs' cuda 600 env OMP_NUM_THREADS=1 "$bins/cuda/bin/octet-test-emulated-programs"
  fi
  ! selected 'bundle' >/dev/null || build cuda
  check 'bundle' 900 bash -c make_bundle
  ! selected 'kernel resources' >/dev/null || build cuda
  check 'kernel resources' 900 tests/checks/kernel_resources.py --check "$bins/cuda"
elif selected 'build cuda'; then
  code=0
  jobs/install-cuda.sh --find >/dev/null 2>&1 || code=$?
  if ((code == 1)); then
    finish 'build cuda' 0 0 0 1 ''
    echo '    skipped: no nvcc; jobs/install-cuda.sh --toolkit fetches one'
  else # where there is one, the backend has to be built: the log says what is wrong with it
    check 'build cuda' 60 jobs/install-cuda.sh --find
    echo '    jobs/install-cuda.sh fetches one that does'
  fi
fi

! selected 'headers' >/dev/null || configured cpu
check 'headers' 600 tests/checks/headers.py "$bins/sources-cpu" "${all[@]}"

if ((!quick)); then
  deep=1
  if tidy=$(version_14 clang-tidy); then
    ! selected 'clang-tidy' >/dev/null || configured clang
    check 'clang-tidy' 1800 env CLANG_TIDY="$tidy" tests/checks/tidy.sh "$bins/sources-clang" "${all[@]}"
  else
    skip 'clang-tidy' 'no clang-tidy 14'
  fi

  # Readers of what comes from outside, given broken copies of good files. Nothing in it is optimised, which takes a
  # third of the time; tests, which compute, would take seven times as long for it.
  ((${#fuzzed[@]} == 0)) || ! selected 'fuzz' >/dev/null || build fuzz
  ((${#fuzzed[@]} == 0)) || check 'fuzz' 900 tests/fuzz/run.py "$bins/fuzz/bin" "${fuzzed[@]}" --runs "$( ((long)) && echo 10000 || echo 500)"

  # The plugin answers NCCL in any of its threads; threads write, hash, read and remove checkpoints beside the main thread
  # and the watchdog; and these two are over the stand-in for NCCL.
  under_tsan() {  # PRESET NAME ROOMS PROGRAM ARGUMENT...
    ((long)) || [[ -n $(changed <<<"$3") ]] || return 0
    ! selected "$2 under tsan" >/dev/null || build "$1"
    # A library of MPICH would take the calls of a thread that the sanitizer has not begun yet.
    check "$2 under tsan" 300 env UCX_MEM_EVENTS=n TSAN_OPTIONS=halt_on_error=1 "$bins/$1/bin/$4" "${@:5}"
  }
  under_tsan tsan tuner 'tuning base' octet-tuner-stress configs/tuning/aws-p5-efa.json
  under_tsan tsan saver 'checkpoints comm device base' octet-saver-alone
  ! has_nvcc || under_tsan tsan-nccl nccl 'nccl comm device base' octet-nccl-alone watch

  [[ -z $(asan_rooms) ]] || { selected 'build asan' && build asan; }
  for room in $(asan_rooms); do
    case $room in
      checkpoints | comm | equivalence | evaluate | jobs_ranks | parallel | train_ranks)
        run_room "$room" asan 600 "$( ((long)) && ranks_of "$room" || echo 1 3)"
        ;;
      *) run_room "$room" asan 900 ;;
    esac
  done

  [[ -z $(clang_rooms) ]] || { selected 'build clang' && build clang; }
  for room in $(clang_rooms); do run_room "$room" clang 300; done
fi

((list)) && exit
if ((${#durations[@]} > 1)); then
  echo "the slowest of ${#durations[@]} steps, $SECONDS s in all:"
  printf '  %s\n' "${durations[@]}" | sort -rnk 1 | head -n 12
fi
((${#failures[@]} == 0)) || printf 'failed: %s\n' "${failures[@]}"
((passed + failed)) || echo "no step ran (--only $only)"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
