#!/usr/bin/env bash
# A real Slurm of several virtual nodes on this machine, to try job scripts and for the tests: munged, slurmctld and one
# slurmd a node, a leaf/spine topology, and two partitions of which one is preempted. Nothing of the system's own Slurm
# is read or changed.
# Usage: slurm/virtual-cluster.sh start [--nodes N] | stop | status | env | kill NODE | revive NODE
#   start         starts it (default 4 nodes, v1 to v4, two a leaf) and waits until the nodes are idle
#   stop          ends its jobs and daemons, and removes its folder
#   status        nodes and jobs
#   env           what a shell needs to use it:  eval "$(slurm/virtual-cluster.sh env)"
#   kill NODE     the node dies: its slurmd, its step daemons and all that runs on it, by SIGKILL
#   revive NODE   the node comes back
# Partitions: main (default), and low, whose jobs main preempts by requeue after a grace time of 15 s.
# Its folder is $OCTET_CLUSTER, by default /tmp/octet-cluster-$UID; ports from $OCTET_CLUSTER_PORT (17000) on.
# Needs Debian's slurmctld, slurmd, slurm-client and munge (jobs/install-packages.sh --tests installs them).
set -euo pipefail

folder=${OCTET_CLUSTER:-/tmp/octet-cluster-$UID}
port=${OCTET_CLUSTER_PORT:-17000}
export SLURM_CONF=$folder/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

fail() { echo "virtual-cluster.sh: $1" >&2 && exit "${2:-70}"; }

write_config() {
  local nodes=$1 leaf first last
  mkdir -p "$folder"/{state,log} && chmod 755 "$folder"
  cat >"$SLURM_CONF" <<CONF
ClusterName=virtual
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
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
TaskPlugin=task/none
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
NodeName=v[1-$nodes] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=low Nodes=ALL MaxTime=INFINITE DefaultTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=15
CONF
  for ((leaf = 0, first = 1; first <= nodes; leaf++, first = last + 1)); do
    last=$((first + 1 > nodes ? nodes : first + 1))
    echo "SwitchName=leaf$leaf Nodes=v[$first-$last]"
  done >"$folder/topology.conf"
  echo "SwitchName=spine Switches=leaf[0-$((leaf - 1))]" >>"$folder/topology.conf"
}

start_munge() {
  head -c 1024 /dev/urandom >"$folder/munge.key" && chmod 600 "$folder/munge.key"
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/log/munged.log" --seed-file="$folder/munge.seed" >"$folder/log/munged.out" 2>&1 ||
    fail "munged did not start; see $folder/log/munged.log and munged.out"
}

# OCTET's jobs are one machine's: their processes inherit what the daemon was started with.
start_node() { env -u SLURM_CONF slurmd -f "$SLURM_CONF" -N "$1" || fail "slurmd of $1 did not start; see $folder/log/$1.log"; }

nodes_of() { sed -n 's/^NodeName=v\[1-\([0-9]*\)\].*/\1/p' "$SLURM_CONF"; }

start() {
  local nodes=4 n
  while (($#)); do
    case $1 in
      --nodes) [[ ${2:-} =~ ^[1-9][0-9]?$ ]] || fail "--nodes ${2:-}: expected 1 to 99" 64 ;;
      *) fail "unknown option $1" 64 ;;
    esac
    nodes=$2 && shift 2
  done
  for n in munged slurmctld slurmd scontrol; do
    command -v "$n" >/dev/null || fail "$n is not installed; jobs/install-packages.sh --tests installs it"
  done
  [[ ! -e $folder ]] || fail "$folder exists: a cluster runs already, or was not stopped; stop it first"
  write_config "$nodes"
  start_munge
  slurmctld -f "$SLURM_CONF" || fail "slurmctld did not start; see $folder/log/slurmctld.log"
  for ((n = 1; n <= nodes; n++)); do start_node "v$n"; done
  for ((n = 0; n < 60; n++)); do
    [[ $(sinfo --noheader --Node --partition=main --states=idle --format=%N 2>/dev/null | wc -l) == "$nodes" ]] && break
    sleep 0.5
  done
  ((n < 60)) || fail "the nodes did not become idle within 30 s; see $folder/log"
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
  done | sort -u
}

kill_node() {
  local -a pids
  [[ -e $folder/log/${1:?}.log ]] || fail "no node $1 in $folder" 64
  mapfile -t pids < <(processes "$1")
  ((${#pids[@]} == 0)) || kill -KILL "${pids[@]}" 2>/dev/null || true
}

revive_node() {
  start_node "$1"
  scontrol update "NodeName=$1" State=RESUME 2>/dev/null || true
}

end_daemon() {
  local pid n
  [[ -e $1 ]] || return 0
  pid=$(<"$1")
  kill "$pid" 2>/dev/null || return 0
  for ((n = 0; n < 50; n++)); do kill -0 "$pid" 2>/dev/null && sleep 0.1 || return 0; done
  kill -KILL "$pid" 2>/dev/null || true
}

stop() {
  local n
  [[ -e $SLURM_CONF ]] || { echo "virtual-cluster.sh: no cluster in $folder" && return 0; }
  timeout 10 scancel --user="$(id -un)" 2>/dev/null || true
  for ((n = 0; n < 15; n++)); do
    [[ -n $(timeout 5 squeue --noheader 2>/dev/null) ]] || break
    sleep 1
  done
  for n in $(seq "$(nodes_of)"); do kill_node "v$n"; done
  end_daemon "$folder/slurmctld.pid"
  end_daemon "$folder/munged.pid"
  rm -rf "$folder"
}

case ${1:-} in
  start) shift && start "$@" ;;
  stop) stop ;;
  status) sinfo --Node --long && squeue --long ;;
  env) echo "export SLURM_CONF=$SLURM_CONF" ;;
  kill) kill_node "${2:?which node?}" ;;
  revive) revive_node "${2:?which node?}" ;;
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" ;;
  *) fail "expected start, stop, status, env, kill or revive (see --help)" 64 ;;
esac
