# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- signals. A trap runs when the program in front has ended, so srun is waited for in the background.
terminated='' time_over='' ranks='' reminder=''
# Slurm kills script and ranks KillWait after it has told them to end: what is known by then is noted at once, since a
# run that still starts can say nothing itself (src/owner/told_to_end.h). A job that Slurm ends at a limit, or for
# another job, is put back into the queue at once too: when the ranks have ended there may be no script to ask for it.
# One that a user cancels has neither mark, or, within the grace time of a preemption, is shown to end later than it was
# preempted (is_cancelled_in_grace in src/cluster/slurm_job.cpp says why). At a limit a job that waits goes on instead.
note_termination() {
  { TZ=UTC0 printf '%(%FT%TZ)T %s\n' -1 "${SLURM_RESTART_COUNT:-0}" >"$work/told-to-end"; } 2>/dev/null
  # In a shell of its own, so that $! stays what the script has just begun.
  ({ note_why; : >"$work/noted"; } 2>/dev/null &)
}
is_cancelled_in_grace() {
  local preempted ended
  [[ $shown =~ JobState=(COMPLETING|CANCELLED) ]] || return 1
  [[ $shown =~ PreemptTime=([0-9T:-]+) ]] && preempted=$(date -ud "${BASH_REMATCH[1]}" +%s) &&
    [[ $shown =~ EndTime=([0-9T:-]+) ]] && ended=$(date -ud "${BASH_REMATCH[1]}" +%s) && ((ended - preempted > 3))
}
note_why() {
  local shown
  shown=$(slurm scontrol show job "$SLURM_JOB_ID" 2>/dev/null)
  echo "$shown" >>"$work/told-to-end"
  if { [[ $shown =~ PreemptTime=[0-9] ]] && ! is_cancelled_in_grace; } || { [[ $shown == *" Reason=TimeLimit "* && -z $(successors) ]]; }; then
    slurm scontrol requeue "$SLURM_JOB_ID"
  else
    # A job whose node failed looks like one that an administrator requeued; srun tells of the node at about this time.
    sleep 1
    grep -E 'Node failure on|DUE TO NODE FAILURE' "$said" >>"$work/told-to-end"
  fi
} 2>/dev/null
# Slurm may kill what is left of the script's step once the script has ended. Where the disk is full nothing is noted.
wait_for_note() {
  local n
  for ((n = 0; n < 60; n++)); do [[ ! -e $work/noted ]] || return 0; sleep 1; done
}
trap 'terminated=--terminated; note_termination' TERM
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
