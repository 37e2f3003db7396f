# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- a launch, and who watches over it
# train HOSTS: ranks in the order of the hosts; sets `launcher`. Each launch has a number (OCTET_LAUNCH), by which the
# next one knows that this one is gone. Every rank sees all GPUs of its node, which NCCL needs
# for NVLink, and all cores that the job has there, of which it takes its share itself (cpu.bind).
launches=0
train() {
  local host r
  launches=$((launches + 1))
  : >"$said" # of the launch before
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
# job once Slurm has taken this node from it. Where that task is gone, with its node or alone, another takes its place.
# It asks for its own job, which everybody may see.
watcher=''
watch_this_node() {
  local last watch n
  [[ -z $watcher ]] || ! kill -0 "$watcher" 2>/dev/null || return 0
  last=$(tail -n 1 <<<"$present")
  # shellcheck disable=SC2016  # for the node's shell
  watch='trap : USR1; touch "$3"; limit=(timeout --kill-after="$4" "$4")
    while :; do
      sleep "$5"
      nodes=$("${limit[@]}" squeue --noheader --states=RUNNING --jobs="$2" --format=%N) && [[ -n $nodes ]] &&
        nodes=$("${limit[@]}" scontrol show hostnames "$nodes") && [[ -n $nodes ]] || continue
      grep -qx "$1" <<<"$nodes" || "${limit[@]}" scontrol requeue "$2"
    done'
  rm -f "$work/watching"
  srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 --nodelist="$last" --mpi=none --no-kill \
    --cpu-bind=none --output=/dev/null --error=/dev/null --input=none bash -c "$watch" watch "$SLURMD_NODENAME" "$SLURM_JOB_ID" "$work/watching" \
    "$slurm_seconds" "$poll_seconds" &
  watcher=$!
  for ((n = 0; n < 60; n++)); do [[ ! -e $work/watching ]] || return 0; sleep 0.5; done
  say "no task on $last watches this node, $SLURMD_NODENAME: if this node dies, cancel the job by hand"
}

# Slurm ends this script, since the job is or will be back in the queue. Once it has said so, nothing keeps the nodes but
# the script, which would be killed KillWait later.
wait_for_slurm() {
  while [[ -z $terminated ]]; do run 7200 sleep 3600; done
  exit 0
}
