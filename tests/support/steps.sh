# shellcheck shell=bash
# How tests/run.sh, which sources this file, runs its steps and counts them. A step has a name, a limit of seconds, a log in
# $logs and one line that says how it ended. Some begin beside others; `collect` waits for them and counts them.
# It reads logs, only, list, minutes and patience, and calls `build PRESET` for the programs that a step runs.
# shellcheck disable=SC2154

passed=0 failed=0 skipped=0
failures=() durations=()

selected() {
  ((list)) && echo "$1" && return 1
  [[ -z $only || $1 =~ $only ]]
}

# finish NAME SECONDS PASSED FAILED SKIPPED LOG: one line, the log's end if anything failed.
finish() {
  local seconds=$2 verdict=ok
  if ((cut)); then
    cut=0
    # What failed before the time was over has failed.
    if [[ -n $6 ]] && grep -qaE '^\[  FAILED  \]|:[0-9]+:[0-9]+: (fatal |runtime )?error: |==ERROR: |WARNING: Thread' "$6"; then
      finish "$1" "$2" 0 1 0 "$6"
    else
      finish "$1" "$2" 0 0 1 ''
      echo "    skipped: it came after --minutes $minutes or was cut off there; tests/run.sh --only '$1' runs it"
    fi
    return
  fi
  passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
  (($4)) && verdict=FAILED && failures+=("$1")
  durations+=("$seconds s  $1")
  printf '%-42s %-6s %4d s   %d passed, %d failed, %d skipped\n' "$1" "$verdict" "$seconds" "$3" "$4" "$5"
  if (($4)); then
    printf -- '--- end of %s\n' "$6"
    { grep -aE -m 20 '^\[  FAILED  \]|error:|ERROR: |Failure$' "$6" || true; } | sed 's/^/    /'
    echo '    ...' && { tail -n 40 "$6" || true; } | sed 's/^/    /'
  fi
}

log_of() { echo "$logs/$(tr -cs 'a-zA-Z0-9-\n' '-' <<<"$1").log"; }
report_of() { local log && log=$(log_of "$1") && echo "${log%.log}.json"; }

# limited SECONDS LOG COMMAND...: runs it within the time. All that came of it ends with it, and with this script, however
# that ends.
running=0
declare -A beside=() reports=()
end_all() {
  for process in "$running" "$@"; do ((process == 0)) || kill "$process" 2>/dev/null; done
  wait
  exit 130
}
trap 'end_all "${beside[@]}"' INT TERM
deep=0 cut=0 # whether --minutes holds for the steps that come, and whether it ended the last one
limited() {
  local limit=$(($1 * patience)) log=$2 code=0 left=$((minutes * 60 - SECONDS))
  shift 2
  cut=0
  if ((deep && minutes && left < limit)); then cut=1 limit=$((left > 1 ? left : 1)); fi
  slurm/owned.py --owner $$ timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running" || code=$?
  running=0
  if ((code == 124 || code == 137)); then echo "ended after the time limit of $limit s" >>"$log"; else cut=0; fi
  return "$code"
}

# over NAME: whether it comes too late for --minutes; then it is a skip.
is_over() { ((deep && minutes && SECONDS >= minutes * 60)); }
over() { is_over && cut=1 && finish "$1" 0 0 0 1 ''; }

# check NAME SECONDS COMMAND...: one step that counts as one test.
check() {
  local name=$1 limit=$2 log start=$SECONDS code=0
  shift 2
  selected "$name" || return 0
  ! over "$name" || return 0
  log=$(log_of "$name")
  limited "$limit" "$log" "$@" || code=$?
  finish "$name" $((SECONDS - start)) $((code == 0)) $((code != 0)) 0 "$log"
}

# Long steps of one process at a time begin in the background, and count when `collect NAME` asks for them; tests on
# several ranks suffer from anything beside them.
ended() { echo "$2 $((SECONDS - $3))" >"$1.ending" && mv "$1.ending" "$1.end"; }
# start_beside NAME SECONDS COMMAND...
start_beside() {
  local name=$1 limit=$2 log start=$SECONDS
  shift 2
  log=$(log_of "$name")
  (
    trap end_all INT TERM
    code=0
    limited "$limit" "$log" "$@" || code=$?
    ended "$log" "$code" "$start"
  ) &
  beside[$name]=$!
}
check_beside() {  # as check
  ! selected "$1" || start_beside "$@"
}
program_beside() {  # as program
  local name=$1 preset=$2 limit=$3
  shift 3
  selected "$name" || return 0
  build "$preset"
  reports[$name]=$(report_of "$name")
  start_beside "$name" "$limit" "$@" --gtest_output=json:"${reports[$name]}"
}
collect() {
  local log code=1 seconds=0 counts
  [[ -n ${beside[$1]:-} ]] || return 0
  log=$(log_of "$1")
  # One process makes several builds.
  while [[ ! -e $log.end ]] && ! is_over && kill -0 "${beside[$1]}" 2>/dev/null; do sleep 0.2; done
  if [[ ! -e $log.end ]] && is_over; then
    cut=1
    kill "${beside[$1]}" 2>/dev/null || true
  fi
  ((!cut)) && [[ $1 == build\ * ]] || wait "${beside[$1]}" || true
  unset "beside[$1]"  # its number may become another process's
  [[ ! -e $log.end ]] || read -r code seconds <"$log.end"
  counts=($((code == 0)) $((code != 0)) 0)
  [[ -z ${reports[$1]:-} ]] || read -ra counts < <(tests/support/count.py "${reports[$1]}" "$code")
  finish "$1" "$seconds" "${counts[@]}" "$log"
}

# program NAME PRESET SECONDS COMMAND...: a GoogleTest program; its test cases are counted from its report.
program() {
  local name=$1 preset=$2 limit=$3 log report start code=0 counts
  shift 3
  selected "$name" || return 0
  build "$preset"
  ! over "$name" || return 0
  start=$SECONDS log=$(log_of "$name") report=$(report_of "$name")
  [[ -x ${*: -1} ]] || set -- echo "${*: -1} was not built:"
  limited "$limit" "$log" "$@" --gtest_output=json:"$report" || code=$?
  read -ra counts < <(tests/support/count.py "$report" "$code")
  finish "$name" $((SECONDS - start)) "${counts[@]}" "$log"
}

# can_skip NAME PRESET SECONDS COMMAND...: as check, for a script that exits with 77 where it cannot run.
can_skip() {
  local name=$1 preset=$2 limit=$3 log start=$SECONDS code=0
  shift 3
  selected "$name" || return 0
  build "$preset"
  start=$SECONDS log=$(log_of "$name")
  limited "$limit" "$log" "$@" || code=$?
  finish "$name" $((SECONDS - start)) $((code == 0)) $((code != 0 && code != 77)) $((code == 77)) "$log"
  ((code != 77)) || tail -n 1 "$log" | sed 's/^/    /'
}

# skip NAME REASON: one step that cannot be run here.
skip() {
  selected "$1" || return 0
  finish "$1" 0 0 0 1 ''
  echo "    skipped: $2"
}
