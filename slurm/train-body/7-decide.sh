# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# --- what comes next
# ask before|after OPTIONS...: sets action, reason, exclude and hosts, and whether it was known that the job is to end.
action='' reason='' exclude='' hosts='' lead=0 left=0 knew=''
ask() {
  local answer code tries=0
  need_directory
  until knew=$terminated && answer=$(facts "$@") && [[ $'\n'$answer == *$'\n'action=* ]]; do
    code=$?
    need_directory
    # Slurm tells all that the script runs to end, this question too. It is asked again, with what is known now.
    [[ $knew == "$terminated" ]] || continue
    # The program is replaced by a newer one at this moment, or its file system is late: it is not a job's last word.
    if ((code == 126 || code == 127)) && ((++tries < 5)); then
      say "$octet cannot be run; again in $poll_seconds s" && pause
      continue
    fi
    # In pyxis' containers it is a step, which Slurm may refuse or fail to start; nothing is known then.
    ((${#container_options[@]})) || end_for "octet job $1 failed with code $code; the job's log says why"
    [[ -z $terminated ]] || end_unasked
    say "octet job $1 did not succeed; again in $poll_seconds s" && pause
  done
  # In pyxis' containers what a site's TaskProlog prints is in it, too.
  action=''
  eval "$(printf '%s\n' "$answer" | grep -E '^(action|reason|exclude|hosts|lead|left)=')"
}

refused() {
  say "Slurm refused: $1"
  "$octet" job refused --run-dir "$run_dir" --job "$SLURM_JOB_ID" --what "$1"
}

# Slurm starts no step of a job that it ends. The job's next start, or the next job, notes how the launch ended.
end_unasked() {
  say "Slurm ends the job, and starts no step to ask what comes next: the next start of the run notes how this launch ended"
  wait_for_note
  exit 70
}

# Leaves out the nodes in `exclude`. A job that runs cannot be told to avoid nodes; those that wait for it can, else one
# that comes after it. Where jobs may submit none, as from other nodes than those for logins, or a new one would wait for
# one that is held, this job comes back. What a cluster that has too few nodes without those refuses is left alone: the
# job would wait for ever.
go_on_without() {
  local avoids
  [[ -z $terminated ]] || return
  ! tell_successors || exit 0
  avoids=$(avoided_by "$SLURM_JOB_ID") && ! has_enough_without "$SLURM_JOB_ID" "$avoids" &&
    end_for "fewer nodes are left than the job needs: $reason"
  : >"$work/refusal"
  [[ -z $terminated ]] && ! is_one_held &&
    submit_successor --exclude="$exclude${user_exclude:+,$user_exclude}" &&
    say "the run goes on as job $successor, which avoids $exclude" && exit 0
  [[ -z $terminated ]] && ! grep -qiE 'node (configuration|count)' "$work/refusal" && come_back_without && wait_for_slurm
}

# Ends the script where Slurm puts the job back, and where the job was told to end since the decision.
come_back_if_not_told() {
  ! come_back || wait_for_slurm
  ! is_told_since || { wait_for_note; exit 0; }
}

say "nodes $SLURM_JOB_NODELIST, start ${SLURM_RESTART_COUNT:-0} of this job; run directory $run_dir"
while :; do
  need_directory
  need_room
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
    # By itself a preempted job would not come back where PreemptMode is CANCEL. If a job waits, that one goes on.
    wait)
      come_back_if_not_told
      [[ -n $(successors) ]] || refused "requeue after: $reason"
      wait_for_slurm
      ;;
    # The script ends in it: Slurm kills what runs of a job that it puts back into the queue.
    requeue)
      come_back_if_not_told
      [[ -z $(successors) ]] || exit 0 # that one goes on
      ;;
    look_again) pause ;;
    exclude) go_on_without ;;
    hand_over) exit 0 ;;
    # What waits for this job would find nothing to do, or the same end.
    finish | stop)
      [[ -n $terminated ]] || cancel_rest
      [[ $action == finish ]] && exit 0 || exit 1
      ;;
  esac
  [[ $action == restart || $action == look_again ]] && continue
  refused "$action after: $reason"
  exit 70
done
