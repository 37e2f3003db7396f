# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- asking of Slurm what has to be done, and who is in its queue
# Ends the job where its run directory is not at its path any more: nothing can be asked or noted there, and nothing may be
# made anew in its place. The job's output has gone with the directory, where it was moved.
need_directory() {
  [[ ! -d $work ]] || return 0
  say "the run directory is no longer at $run_dir: it was moved or removed while this job ran. Where it is now," \
    "\`octet submit cancel DIR\` ends its jobs that wait, \`octet submit DIR\` goes on from its last checkpoint" \
    "(docs/problems.md, \"The run directory was moved\")"
  exit 70
}

# is_silent CODE: whether a command ended with that code since Slurm did not answer it; what else Slurm says is a refusal.
is_silent() {
  (($1 == 124 || $1 == 137)) || [[ ! -s $work/refusal ]] ||
    grep -qiE 'unable to contact|timed out|zero bytes|socket|connection|not respond|receive failure|standby|temporar|try again' "$work/refusal"
}

# insist COMMAND...: until Slurm does it; 1 where it says that it will not, or a requeue is overtaken (is_told_since).
insist() {
  local code
  until code=0 && slurm "$@" 2>"$work/refusal" || { code=$? && false; }; do
    need_directory
    is_silent "$code" || { cat "$work/refusal" >&2 && return 1; }
    say "$1 did not succeed: $(head -n 1 "$work/refusal"); again in $poll_seconds s" >&2
    pause
    [[ $2 != requeue ]] || ! is_told_since || return 1
  done
}

# submit_successor OPTIONS...: sets `successor`. A submission whose answer was lost may have been heard: a job of the name
# that was not there before is it.
successor=''
submit_successor() {
  local before code
  before=$(successors)
  until code=0 && successor=$(slurm sbatch --parsable "$@" "$run_dir/job.sh" 2>"$work/refusal") || { code=$? && false; }; do
    need_directory
    is_silent "$code" || { cat "$work/refusal" >&2 && return 1; }
    say "sbatch did not succeed: $(head -n 1 "$work/refusal"); again in $poll_seconds s"
    pause
    successor=$(successors | grep -vxFf <(echo "$before") | head -n 1)
    [[ -z $successor ]] || return 0
  done
}

# The nodes of a list, a line each. Where octet is a step itself, scontrol is sooner there; it asks nobody.
nodes_of() {
  [[ ${#container_options[@]} == 0 ]] || ! slurm scontrol show hostnames "$1" 2>/dev/null || return 0
  "$octet" job hosts "$1"
}

# Jobs that wait, of this one's name, each with why; fails where Slurm does not say. To squeue a job is not pending that
# was held when its reservation ended, or that a requeue put into a state of its own; to singleton it is. A job that runs
# or has ended can have such a state beside its own: it has nodes.
waiting() {
  slurm squeue --noheader --user="$(id -un)" --name="$SLURM_JOB_NAME" --states=PENDING,RESV_DEL_HOLD,SPECIAL_EXIT \
    --format='%A %r|%N' 2>/dev/null | sed '/|./d; s/|$//'
}

# Those that wait for this one to go on with the run. Not one that is held until a person does something, nor one that
# was submitted after such a one: singleton lets a job wait for earlier ones of its name that wait themselves. The state
# does not tell: a job that was released is RESV_DEL_HOLD until it begins.
held='held|special exit|JobHold|BadConstraints|Reservation.*(was deleted|is invalid)|Reservation(Deleted|Invalid)'
successors() { waiting | grep -v "^$SLURM_JOB_ID " | sort -n | sed -E "/$held/IQ" | cut -d ' ' -f 1 || true; }

# Whether one is held: a job that is submitted now would wait for it.
is_one_held() { waiting | grep -v "^$SLURM_JOB_ID " | grep -iE "$held" >/dev/null; }

# The nodes of which Slurm may give a job some: those of its reservation, or of its partitions, of which it knows only the
# present one of a job that runs. Fails where it does not say.
possible_nodes() {
  local asked partitions reservation name shown='' list
  asked=$(slurm squeue --noheader --jobs="$1" --format='%P %v' 2>/dev/null) && [[ -n $asked ]] || return 1
  partitions=${asked%% *} reservation=${asked#* }
  if [[ $reservation == [a-zA-Z0-9]* ]]; then
    shown=$(slurm scontrol show reservation "$reservation" 2>/dev/null) && [[ $shown != *FLEX* ]] || return 1
  else
    [[ $1 != "$SLURM_JOB_ID" ]] || partitions+=,$(sed -n 's/^#SBATCH --partition=//p' "$run_dir/job.sh")
    for name in ${partitions//,/ }; do
      shown+=$'\n'$(slurm scontrol show partition "$name" 2>/dev/null) || return 1
    done
  fi
  grep -oE '(^| )Nodes=[^ ]+' <<<"$shown" | cut -d = -f 2 | while read -r list; do nodes_of "$list"; done | sort -u
}

# has_enough_without JOB NODES: Slurm takes any list of nodes to avoid, and a job that has too few others would wait for
# ever. What a job asks of its nodes besides is not looked at.
has_enough_without() {
  local all count=$((nodes + spares))
  all=$(possible_nodes "$1") && [[ -n $all ]] || return 0
  [[ $1 == "$SLURM_JOB_ID" ]] || count=$(slurm squeue --noheader --jobs="$1" --format=%D 2>/dev/null)
  [[ $count =~ ^[0-9]+$ ]] || return 0
  (($(grep -cvxFf <(nodes_of "$2") <<<"$all") >= count))
}

# The nodes that a job is to avoid: those in `exclude`, beside those that it avoids already.
avoided_by() {
  local avoids
  avoids=$(insist squeue --noheader --jobs="$1" --format=%x) || return 1
  [[ $avoids == [a-zA-Z0-9]* ]] || avoids=''
  echo "$exclude${avoids:+,$avoids}"
}

# Fails where none waits that has nodes enough without those, or one is refused.
tell_successors() {
  local id ids avoids told=''
  ids=$(successors) && [[ -n $ids ]] || return 1
  for id in $ids; do
    avoids=$(avoided_by "$id") || return 1
    has_enough_without "$id" "$avoids" || continue
    insist scontrol update JobId="$id" ExcNodeList="$avoids" || return 1
    told+=${told:+, }$id
  done
  [[ -n $told ]] || return 1
  say "the jobs that wait go on, and avoid $exclude: $told"
}

# Whether the job was told to end since what comes next was decided: it was cancelled, and is not put back, or
# note_termination has seen to it. One that goes on behind its time limit is told to end there in any case.
is_told_since() { [[ $terminated != "$knew" ]] && [[ -z $time_over || $action == wait ]]; }

# Has Slurm put this job back into the queue. One that is there already, it calls pending.
come_back() {
  ! is_told_since || return 1
  insist scontrol requeue "$SLURM_JOB_ID" || grep -qi 'pending execution' "$work/refusal"
}

# The same without the nodes in `exclude`, where Slurm takes no other job: one that is back in the queue can be told to
# avoid nodes while it is still being ended. Slurm tells all processes of the script to end then, also its commands.
come_back_without() (
  avoids=$(avoided_by "$SLURM_JOB_ID") || exit 1
  trap '' TERM # which timeout does not hand on to its command
  # shellcheck disable=SC2016  # for the other shell
  slurm() { timeout --kill-after="$slurm_seconds" "$slurm_seconds" bash -c 'trap "" TERM; exec "$@"' slurm "$@"; }
  come_back || exit 1
  insist scontrol update JobId="$SLURM_JOB_ID" ExcNodeList="$avoids" && say "goes on as this job, without $exclude"
  exit 0
)

# Ends those of them that have nothing to do any more: all steps are done, or they would end as this one does.
cancel_rest() {
  local n jobs
  for ((n = 0; n < 5; n++)); do
    ((n == 0)) || pause
    jobs=$(waiting | cut -d ' ' -f 1) || continue
    jobs=$(grep -vx "$SLURM_JOB_ID" <<<"$jobs" | tr '\n' ' ')
    [[ -n ${jobs// /} ]] || return 0
    jobs=$("$octet" job rest --run-dir "$run_dir" --job "$SLURM_JOB_ID" --after "$action" --steps "$steps" --waiting "$jobs") || continue
    jobs=$(grep -xE '[0-9_+]+' <<<"$jobs") # in pyxis' containers a site's TaskProlog prints there, too
    [[ -n $jobs ]] || return 0
    ! slurm xargs scancel <<<"$jobs" || { say "cancelled the jobs that have nothing left to do: ${jobs//$'\n'/, }" && return 0; }
  done
  say "Slurm did not cancel the jobs that wait for this one (${jobs:-it does not say which}): scancel --name=$SLURM_JOB_NAME"
}
