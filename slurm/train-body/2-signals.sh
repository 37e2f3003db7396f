# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- signals. A trap runs when the program in front has ended, so srun is waited for in the background.
terminated='' time_over='' ranks='' reminder=''
trap 'terminated=--terminated' TERM
# Before the time limit, to this script alone: the ranks save and stop at the next step boundary. Their srun passes the
# signal on to them without asking Slurm's controller. They are told more than once: a step that is about to start does
# not hear the first time.
remind() {
  [[ -n $ranks && -n $time_over && -z $reminder ]] || return 0
  { while kill -USR1 "$ranks" 2>/dev/null; do sleep 15; done; } &
  reminder=$!
}
trap 'time_over=--time-over; remind' USR1
# The same from this script's own clock, where the last checkpoint took longer than the script was written for.
timer=''
set_timer() {
  [[ -z $timer ]] || kill "$timer" 2>/dev/null
  timer=''
  ((lead > grace_seconds && left > lead && left < 100000000)) || return 0
  { sleep "$((left - lead))" && kill -USR1 $$; } &
  timer=$!
}
