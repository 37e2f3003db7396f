#!/usr/bin/env bash
# A real Slurm of several virtual nodes on this machine, to try job scripts and for the tests: munged, slurmctld and one
# slurmd a node, a leaf/spine topology, and two partitions of which one is preempted. Nothing of the system's own Slurm
# is read or changed.
# Usage: slurm/virtual-cluster.sh start [--nodes N] [--affinity] [--owner PID | --keep]
#        slurm/virtual-cluster.sh stop | end | status | env | kill NODE | revive NODE
#   start         starts it (default 4 nodes, v1 to v4, two a leaf) and waits until the nodes are idle
#   --affinity    TaskPlugin=task/affinity, and nodes with the CPUs that this machine has (otherwise each has 4)
#   --owner PID   the process whose cluster it is, by default the one that calls this script, such as your shell: when it
#                 is gone, jobs and daemons end and the folder is removed. Slurm's daemons run under slurm/owned.py.
#   --keep        it is nobody's, and stays until it is stopped
#   stop          ends its jobs and daemons, and removes its folder
#   end           the same, but jobs are killed at once
#   status        nodes and jobs
#   env           what a shell needs to use it:  eval "$(slurm/virtual-cluster.sh env)"
#   kill NODE     the node dies: its slurmd, its step daemons and all that runs on it, by SIGKILL
#   revive NODE   the node comes back
# Partitions: main (default), and low, whose jobs main preempts by requeue after a grace time of 15 s.
# Its folder is $OCTET_CLUSTER, by default /tmp/octet-cluster-$UID; ports from $OCTET_CLUSTER_PORT (17000) on.
# Needs python3, and Debian's slurmctld, slurmd, slurm-client and munge (jobs/install-packages.sh --tests installs them).
set -euo pipefail

folder=${OCTET_CLUSTER:-/tmp/octet-cluster-$UID}
port=${OCTET_CLUSTER_PORT:-17000}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export SLURM_CONF=$folder/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

fail() { echo "virtual-cluster.sh: $1" >&2 && exit "${2:-70}"; }
usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && exit; }

# The name of the folder can be guessed, and what another user has put there would be run.
check_folder() {
  [[ ! -L $folder ]] || fail "$folder is a symbolic link; name a folder in OCTET_CLUSTER" 64
  [[ ! -e $folder || -O $folder ]] || fail "$folder is not yours; name another folder in OCTET_CLUSTER" 64
}

# CPUs of a node: made up, or those of this machine, which is what can be bound to.
cpus_of_nodes() {
  if (($1)); then slurmd -C 2>/dev/null | grep -oE '(CPUs|Boards|SocketsPerBoard|CoresPerSocket|ThreadsPerCore)=[0-9]+' | paste -sd ' '
  else echo 'CPUs=4'; fi
}

write_config() {
  local nodes=$1 affinity=$2 leaf first last cpus plugin=none
  cpus=$(cpus_of_nodes "$affinity")
  ((!affinity)) || plugin=affinity
  # No other user may have access: munge would take their job for one of the user whose daemons these are.
  mkdir -p "$(dirname "$folder")"
  mkdir -m 700 "$folder" || fail "$folder cannot be made, or somebody has made it meanwhile"
  mkdir "$folder"/{state,log}
  cat >"$SLURM_CONF" <<CONF
ClusterName=virtual
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
# A requeued job starts again after cred_expire and about 30 s; Slurm's default is 120 s.
AuthInfo=socket=$folder/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/$plugin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=20
KillWait=10
InactiveLimit=0
MinJobAge=600
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
TopologyPlugin=topology/tree
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=v[1-$nodes] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] $cpus RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=low Nodes=ALL MaxTime=INFINITE DefaultTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=15
CONF
  for ((leaf = 0, first = 1; first <= nodes; leaf++, first = last + 1)); do
    last=$((first + 1 > nodes ? nodes : first + 1))
    echo "SwitchName=leaf$leaf Nodes=v[$first-$last]"
  done >"$folder/topology.conf"
  echo "SwitchName=spine Switches=leaf[0-$((leaf - 1))]" >>"$folder/topology.conf"
}

# The daemons, all in the foreground below this process, which slurm/owned.py ends with all that came of it. Reads which
# nodes to start from a pipe.
daemons() {
  local node
  munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/log/munged.log" --seed-file="$folder/munge.seed" >"$folder/log/munged.out" 2>&1 &
  await "munged's socket" test -S "$folder/munge.socket"
  slurmctld -D -f "$SLURM_CONF" >"$folder/log/slurmctld.out" 2>&1 &
  exec 3<>"$folder/control" # open for writing too: a pipe without a writer ends
  # OCTET's jobs are one machine's: their processes inherit what the daemon was started with.
  while read -r node <&3; do env -u SLURM_CONF slurmd -D -f "$SLURM_CONF" -N "$node" >"$folder/log/$node.out" 2>&1 3<&- & done
}

# await WHAT COMMAND...: until it succeeds, for 30 s.
await() {
  local n
  for ((n = 0; n < 150; n++)); do ! "${@:2}" 2>/dev/null || return 0; sleep 0.2; done
  fail "not there within 30 s: $1; see $folder/log"
}

start_daemons() {
  local -a remove=()
  (($1 == 0)) || remove=(--remove "$folder")
  head -c 1024 /dev/urandom >"$folder/munge.key" && chmod 600 "$folder/munge.key"
  mkfifo "$folder/control"
  # In a session of its own, so that no signal from the terminal reaches it: it ends when its owner has ended.
  setsid "$here/owned.py" --owner "$1" --grace 1 "${remove[@]}" "$here/virtual-cluster.sh" daemons \
    </dev/null >"$folder/log/owned.out" 2>&1 &
  echo $! >"$folder/owned.pid"
}

start_node() { echo "$1" >"$folder/control"; }
answers() { timeout 5 scontrol ping 2>/dev/null | grep -q 'is UP'; }

start() {
  local nodes=4 affinity=0 owner=$PPID n
  while (($#)); do
    case $1 in
      --nodes)
        [[ ${2:-} =~ ^[1-9][0-9]?$ ]] || fail "--nodes ${2:-}: expected 1 to 99" 64
        nodes=$2 && shift
        ;;
      --owner)
        { [[ ${2:-} =~ ^[1-9][0-9]*$ ]] && kill -0 "$2" 2>/dev/null; } || fail "--owner ${2:-}: expected the number of a process" 64
        owner=$2 && shift
        ;;
      --keep) owner=0 ;;
      --affinity) affinity=1 ;;
      -h | --help) usage ;;
      *) fail "unknown option $1 (see --help)" 64 ;;
    esac
    shift
  done
  for n in munged slurmctld slurmd scontrol python3; do
    command -v "$n" >/dev/null || fail "$n is not installed; jobs/install-packages.sh --tests installs it"
  done
  [[ ! -e $folder ]] || fail "$folder exists: a cluster runs already, or was not stopped; stop it first"
  write_config "$nodes" "$affinity"
  trap end_daemons EXIT # what did not come up whole
  start_daemons "$owner"
  await slurmctld answers
  for ((n = 1; n <= nodes; n++)); do start_node "v$n"; done
  for ((n = 0; n < 60; n++)); do
    [[ $(sinfo --noheader --Node --partition=main --states=idle --format=%N 2>/dev/null | wc -l) == "$nodes" ]] && break
    sleep 0.5
  done
  ((n < 60)) || fail "the nodes did not become idle within 30 s; see $folder/log"
  trap - EXIT
  sinfo
  echo "eval \"\$(slurm/virtual-cluster.sh env)\" lets this shell use it."
}

# processes NODE: what belongs to it, by the node's log that its daemons hold open and by Slurm's name of the node.
processes() {
  local file pid
  {
    grep -lzxs "SLURMD_NODENAME=$1" /proc/[0-9]*/environ | xargs -r grep -lzxs "SLURM_CONF=$SLURM_CONF" || true
    find /proc/[0-9]*/fd -lname "$folder/log/$1.log" 2>/dev/null || true
  } | while read -r file; do
    pid=${file#/proc/} pid=${pid%%/*}
    [[ $pid == "$$" || $pid == "$BASHPID" ]] || echo "$pid"
  done | sort -rnu
}

kill_node() {
  local -a pids
  mapfile -t pids < <(processes "$1")
  ((${#pids[@]} != 0)) || return 0
  # As when the power fails: nobody sees another die. An srun has a child, which ends srun's step when that is gone, so
  # children go first.
  kill -STOP "${pids[@]}" 2>/dev/null || true
  kill -KILL "${pids[@]}" 2>/dev/null || true
}

revive_node() {
  start_node "$1"
  scontrol update "NodeName=$1" State=RESUME 2>/dev/null || true
}

end_daemons() {
  local pid n
  pid=$(cat "$folder/owned.pid" 2>/dev/null) || return 0
  # The number may be another process's by now.
  tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$here/owned.py" || return 0
  kill "$pid" 2>/dev/null || return 0
  for ((n = 0; n < 150; n++)); do kill -0 "$pid" 2>/dev/null && sleep 0.1 || return 0; done
}

stop() {
  local n
  [[ -e $SLURM_CONF ]] || { echo "virtual-cluster.sh: no cluster in $folder" && return 0; }
  timeout 10 scancel --user="$(id -un)" 2>/dev/null || true
  for ((n = 0; n < 15; n++)); do
    [[ -n $(timeout 5 squeue --noheader 2>/dev/null) ]] || break
    sleep 1
  done
  end
}

end() {
  end_daemons
  rm -rf "$folder"
}

# Whether so many words may follow the command.
case ${1:-} in
  -h | --help) usage ;;
  kill | revive) (($# == 2)) || fail "$1 needs a node, such as v2, and nothing else (see --help)" 64 ;;
  stop | end | status | env) (($# == 1)) || fail "$1: '$2' is one word too many (see --help)" 64 ;;
  start | daemons) ;; # the latter is for this script itself
  *) fail "'${1:-}', expected start, stop, end, status, env, kill or revive (see --help)" 64 ;;
esac
check_folder
case $1 in
  start) shift && start "$@" ;;
  stop) stop ;;
  end) end ;;
  status) sinfo --Node --long && squeue --long ;;
  daemons) daemons ;;
  env)
    [[ -e $SLURM_CONF ]] || fail "no cluster in $folder; start it first" 64
    echo "export SLURM_CONF=$SLURM_CONF"
    ;;
  kill | revive)
    [[ -e $folder/log/$2.log ]] || fail "no node $2 in $folder" 64
    "$1_node" "$2"
    ;;
esac
