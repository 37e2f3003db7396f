# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- waiting, with signals heard
# await PID: its exit code, once it has ended. A trap ends a wait with a code above 128, and the process may end meanwhile.
await() {
  local code=0 again
  wait "$1" || code=$?
  while kill -0 "$1" 2>/dev/null; do wait "$1" && code=0 || code=$?; done
  if ((code > 128)); then
    wait "$1" 2>/dev/null && again=0 || again=$?
    ((again == 127)) || code=$again # 127: it has told its code already
  fi
  return "$code"
}

# run SECONDS COMMAND...: in the background, so that signals are heard; at most so long.
run() {
  timeout --foreground --kill-after=30 "$@" &
  await $!
}

pause() { run "$((2 * poll_seconds))" sleep "$poll_seconds"; }
