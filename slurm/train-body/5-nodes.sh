# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
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

# What the nodes say is read from files: on a disk without room all of them would seem silent, and Slurm too, which is asked
# about for ever. Others may make room meanwhile.
need_room() {
  local n why
  for ((n = 0; n < 5; n++)); do
    ((n == 0)) || pause
    need_directory
    why=$(echo room | dd of="$work/room" conv=fsync status=none 2>&1) && return 0
    say "nothing can be written into $work: $why"
  done
  end_for "nothing can be written into $work: $why (docs/problems.md, \"The disk is full\")"
}

# Every node says what it finds, in a file of its own: a node without a file did not answer. One srun reaches all; those
# that it cannot reach do not end it (--no-kill).
look_at_nodes() {
  local count look seconds=300 code=0
  rm -rf "$work/preflight" && mkdir "$work/preflight"
  count=$(wc -l <<<"$present")
  # shellcheck disable=SC2016  # for the node's shell
  look='to=$1/$SLURMD_NODENAME; shift; "$@" --env >"$to.env" 2>/dev/null; "$@" >"$to.json" 2>"$to.log"; echo $? >"$to.code"'
  local -a check=(true)
  ((!preflight)) || check=("$octet_in_step" doctor --json --cluster "$cluster" --run-dir "$run_dir")
  ((${#container_options[@]} == 0)) || seconds=1800 # pyxis imports the image first
  run "$seconds" srun --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpus-per-task="$((ranks_per_node * cpus_per_rank))" \
    --cpu-bind=none --mpi=none --no-kill --overlap --kill-on-bad-exit=0 "${container_options[@]}" bash -c "$look" look "$work/preflight" "${check[@]}" >"$work/preflight.log" 2>&1 || code=$?
  ((code != 124 && code != 137)) || say "the check of the nodes was ended after $seconds s: $(tail -n 1 "$work/preflight.log")"
  slurm scontrol show topology >"$work/topology.txt" 2>/dev/null || true
}
