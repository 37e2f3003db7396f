# shellcheck shell=bash disable=SC2154
# The body of a job's script, below the settings that octet submit writes. It looks at the nodes, trains, and does what
# `octet job` says comes next; it decides nothing itself. The reasons stand in RUN/status.json, every launch in
# RUN/job/launches.jsonl. Slurm's facts behind it are in docs/slurm.md.
set -uo pipefail

# Of this job, made anew: where others share the run directory, nothing is written through a link that they left.
work=$run_dir/job/$SLURM_JOB_ID
rm -rf "$work" && mkdir -p "$work"
# What a launch said, on this node: the run's own disk may be full.
said=$(mktemp /tmp/octet-srun.XXXXXX) || said=$work/srun.log
trap 'rm -f "$said"' EXIT
say() { echo "[job $SLURM_JOB_ID $(date '+%F %T')] $*"; }

# Slurm's commands are given so many seconds each; what they did not do or say is asked again, or done without. Nothing
# asks more often than once in so many. Tests shorten both.
slurm_seconds=${OCTET_TEST_SLURM_SECONDS:-30} poll_seconds=${OCTET_TEST_POLL_SECONDS:-60}
slurm() { timeout --kill-after="$slurm_seconds" "$slurm_seconds" "$@"; }

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

# insist COMMAND...: until Slurm does it; 1 where it says that it will not.
insist() {
  local code
  until code=0 && slurm "$@" 2>"$work/refusal" || { code=$? && false; }; do
    need_directory
    is_silent "$code" || { cat "$work/refusal" >&2 && return 1; }
    say "$1 did not do its work: $(head -n 1 "$work/refusal"); again in $poll_seconds s" >&2
    pause
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
    say "sbatch did not do its work: $(head -n 1 "$work/refusal"); again in $poll_seconds s"
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

# Jobs that wait, of this one's name; fails where Slurm does not say.
waiting() { slurm squeue --noheader --user="$(id -un)" --name="$SLURM_JOB_NAME" --states=PENDING --format=%A 2>/dev/null; }

# Those that wait for this one to go on with the run.
successors() { waiting | grep -vx "$SLURM_JOB_ID" || true; }

# Ends those of them that were submitted as one chain with it.
cancel_chain() {
  local n jobs
  [[ -e $run_dir/job/chains.txt ]] || return 0
  for ((n = 0; n < 5; n++)); do
    ((n == 0)) || pause
    jobs=$(waiting) || continue
    jobs=$(grep -Fxf <(grep -w "$SLURM_JOB_ID" "$run_dir/job/chains.txt" | tr ' ' '\n') <<<"$jobs" | grep -vx "$SLURM_JOB_ID")
    [[ -n $jobs ]] || return 0
    ! slurm xargs scancel <<<"$jobs" || return 0
  done
  say "Slurm did not cancel the jobs that wait for this one (${jobs:-it does not say which}): scancel --name=$SLURM_JOB_NAME"
}

# --- what octet job reads
facts() {
  slurm scontrol show job "$SLURM_JOB_ID" >"$work/slurm-job.txt" 2>/dev/null || true
  # shellcheck disable=SC2086  # either is one word or none
  "$octet" job "$1" --run-dir "$run_dir" --job "$SLURM_JOB_ID" --slurm-job "$work/slurm-job.txt" \
    --restarts "${SLURM_RESTART_COUNT:-0}" \
    --successors "$(successors | wc -l)" --max-restarts "$max_restarts" --seconds-needed "$((grace_seconds + 60))" $terminated $time_over "${@:2}"
}

# The job's nodes as they are now: of an allocation with --no-kill Slurm takes a node that failed.
nodes_now() {
  local now
  now=$(slurm squeue --noheader --jobs="$SLURM_JOB_ID" --format=%N 2>/dev/null) && [[ -n $now ]] &&
    now=$(nodes_of "$now" 2>/dev/null) && [[ -n $now ]] && echo "$now" && return 0
  nodes_of "$SLURM_JOB_NODELIST"
}

# Every node says what it finds, in a file of its own: a node without a file did not answer. One srun reaches all; those
# that it cannot reach do not end it (--no-kill).
look_at_nodes() {
  local count look
  rm -rf "$work/preflight" && mkdir "$work/preflight"
  count=$(wc -l <<<"$present")
  # shellcheck disable=SC2016  # for the node's shell
  look='to=$1/$SLURMD_NODENAME; shift; "$@" --env >"$to.env" 2>/dev/null; "$@" >"$to.json" 2>"$to.log"; echo $? >"$to.code"'
  local -a check=(true)
  ((!preflight)) || check=("$octet_in_step" doctor --json --cluster "$cluster" --run-dir "$run_dir")
  run 300 srun --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpus-per-task="$((ranks_per_node * cpus_per_rank))" \
    --cpu-bind=none --mpi=none --no-kill --overlap --kill-on-bad-exit=0 "${container_options[@]}" bash -c "$look" look "$work/preflight" "${check[@]}" >"$work/preflight.log" 2>&1
  slurm scontrol show topology >"$work/topology.txt" 2>/dev/null || true
}

# train HOSTS: ranks in the order of the hosts; sets `launcher`. Each launch has a number (OCTET_LAUNCH), by which the
# next one knows that this one is gone. Every rank sees all GPUs of its node, which NCCL needs
# for NVLink, and all cores that the job has there, of which it takes its share itself (cpu.bind).
launches=0
train() {
  local host r
  launches=$((launches + 1))
  nodes_of "$1" | while read -r host; do
    for ((r = 0; r < ranks_per_node; r++)); do echo "$host"; done
  done >"$work/ranks.txt"
  # A signal that came just before was passed on to no step.
  launcher=none
  [[ -z $time_over$terminated ]] || return
  launcher=0
  # srun takes SIGUSR1 itself once it has begun; before that the signal must not end it.
  (
    trap '' USR1
    export SLURM_HOSTFILE=$work/ranks.txt OCTET_FAILURE_FILE=$run_dir/job/failure-$SLURM_JOB_ID.txt OCTET_LAUNCH=$launches
    exec srun --ntasks="$((nodes * ranks_per_node))" --distribution=arbitrary --cpus-per-task="$cpus_per_rank" \
      --mpi="$mpi" --cpu-bind=none --kill-on-bad-exit=1 --wait=60 --unbuffered \
      "${srun_options[@]}" "${container_options[@]}" \
      "$octet_train" "$run_config" "${train_options[@]}" 2> >(tee "$said" >&2)
  ) &
  ranks=$!
  remind # of a signal that came before there was anybody to tell
  await "$ranks" || launcher=$?
  ranks=''
  [[ -z $reminder ]] || kill "$reminder" 2>/dev/null
}

# With spares the allocation outlives every node, also this script's: a task on its last node asks Slurm to requeue the
# job once Slurm has this one down. Where that task is gone, with its node or alone, another takes its place.
watcher=''
watch_this_node() {
  local last watch n
  [[ -z $watcher ]] || ! kill -0 "$watcher" 2>/dev/null || return 0
  last=$(tail -n 1 <<<"$present")
  # shellcheck disable=SC2016  # for the node's shell
  watch='trap : USR1; touch "$3"; limit=(timeout --kill-after="$4" "$4")
    while :; do sleep "$5"; ! "${limit[@]}" scontrol show node "$1" | grep -q "State=DOWN" || "${limit[@]}" scontrol requeue "$2"; done'
  rm -f "$work/watching"
  srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 --nodelist="$last" --mpi=none --no-kill \
    --cpu-bind=none --output=/dev/null --error=/dev/null --input=none bash -c "$watch" watch "$SLURMD_NODENAME" "$SLURM_JOB_ID" "$work/watching" \
    "$slurm_seconds" "$poll_seconds" &
  watcher=$!
  for ((n = 0; n < 60; n++)); do [[ ! -e $work/watching ]] || return 0; sleep 0.5; done
  say "no task watches this node from $last: should it die, cancel the job by hand"
}

# Slurm ends this script by itself: it has been preempted, and is put back into the queue after the grace time.
wait_for_slurm() { while :; do run 7200 sleep 3600; done; }

# ask before|after OPTIONS...: sets action, reason, exclude and hosts.
action='' reason='' exclude='' hosts='' lead=0 left=0
ask() {
  local answer
  need_directory
  until answer=$(facts "$@"); do
    need_directory
    # In pyxis' containers it is a step, which Slurm may refuse or fail to start; nothing is known then.
    [[ ${#container_options[@]} != 0 && -z $terminated ]] || { say "octet job $1 failed" && exit 70; }
    say "octet job $1 did not do its work; again in $poll_seconds s" && pause
  done
  eval "$answer"
}

say "nodes $SLURM_JOB_NODELIST, start ${SLURM_RESTART_COUNT:-0} of this job; run directory $run_dir"
while :; do
  need_directory
  present=$(nodes_now) # asked once for both
  ((!spares)) || watch_this_node
  look_at_nodes
  ask before --nodes "$nodes" --steps "$steps" --min-lead "$min_lead_seconds" --hosts "$SLURM_JOB_NODELIST" \
    --order "$rank_order" --topology "$work/topology.txt" --preflight "$work/preflight"
  if [[ $action == launch ]]; then
    say "training on $hosts ($reason)"
    set_timer
    train "$hosts"
    ask after --launcher-code "$launcher" --said "$said"
    while [[ $action == look_again ]]; do
      say "$action: $reason" && pause
      ask after --launcher-code "$launcher" --said "$said"
    done
  fi
  say "$action: $reason"
  case $action in
    restart) ;;
    wait) wait_for_slurm ;;
    # The script ends in it: Slurm kills what runs of a job that it puts back into the queue.
    requeue) [[ -n $terminated && -z $time_over ]] || ! insist scontrol requeue "$SLURM_JOB_ID" || wait_for_slurm ;;
    look_again) pause ;;
    exclude)
      # A job that runs cannot be told to avoid nodes; one that comes after it can.
      [[ -z $terminated ]] &&
        submit_successor --exclude="$exclude${user_exclude:+,$user_exclude}" &&
        say "goes on as job $successor, without $exclude" && exit 0
      ;;
    hand_over) exit 0 ;;
    # What waits for this job would find nothing to do, or the same end.
    finish | stop)
      [[ -n $terminated ]] || cancel_chain
      [[ $action == finish ]] && exit 0 || exit 1
      ;;
  esac
  [[ $action == restart || $action == look_again ]] && continue
  say "Slurm refused: $action"
  "$octet" job refused --run-dir "$run_dir" --what "$action after: $reason"
  exit 70
done
