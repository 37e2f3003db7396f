# shellcheck shell=bash disable=SC2034,SC2154  # a part of a script: the others read and set what it does not
# The body of a job's script, below the settings that octet submit writes. It looks at the nodes, trains, and does what
# `octet job` says comes next; it decides nothing itself. The reasons stand in RUN/status.json, every launch in
# RUN/job/launches.jsonl. Slurm's facts behind it are in docs/slurm.md.
set -uo pipefail

work=$run_dir/job/$SLURM_JOB_ID
# What a launch said, on this node: the run's own disk may be full.
said=$(mktemp /tmp/octet-srun.XXXXXX) || said=$work/srun.log
trap 'rm -f "$said"' EXIT
say() { echo "[job $SLURM_JOB_ID $(date '+%F %T')] $*"; }

# Slurm's commands are given so many seconds each; what they did not do or say is asked again, or done without. Nothing
# asks more often than once in so many. Tests shorten both.
slurm_seconds=${OCTET_TEST_SLURM_SECONDS:-30} poll_seconds=${OCTET_TEST_POLL_SECONDS:-60}
export SLURM_TIME_FORMAT=standard # whatever the user's shell has
slurm() { timeout --kill-after="$slurm_seconds" "$slurm_seconds" "$@"; }

# end_for REASON: where nothing can be kept of what this job finds or does. status.json is changed in place on a full disk.
end_for() {
  say "stop: $1"
  "$octet" job refused --run-dir "$run_dir" --job "$SLURM_JOB_ID" --reason "$1"
  [[ -z ${terminated:-} ]] || wait_for_note
  exit 70
}

# Of this job, made anew: where others share the run directory, nothing is written through a link that they left, nor
# copied from one. What rm leaves (an NFS server's .nfs files) is of this job's start before. Others may make room
# meanwhile. Why that start was ended is kept: `octet job` ends its launch by it.
told=''
[[ -L $run_dir/job || -L $work || -L $work/told-to-end || ! -f $work/told-to-end ]] || told=$(head -c 65536 "$work/told-to-end" 2>/dev/null)
for ((n = 0; n < 5; n++)); do
  [[ -d $run_dir ]] || break
  ((n == 0)) || sleep "$poll_seconds"
  why=$(rm -rf "$work" 2>&1; [[ ! -L $work ]] && mkdir -p "$work" 2>&1) && break
  say "the folder of job $SLURM_JOB_ID cannot be made: $why"
  ((n < 4)) || end_for "the folder of job $SLURM_JOB_ID cannot be made: $why (docs/problems.md, \"The disk is full\")"
done
[[ -z $told ]] || echo "$told" >"$work/told-to-end"
