#!/usr/bin/env bash
# Four nodes in network namespaces, a switch between them, one pair of which talks over a slow link of its own, then a
# node whose link to the switch is slow: octet-commbench --pairs nodes names the link, the node, and nothing else.
# Usage: tests/tuning/slow_link.sh OCTET_COMMBENCH      Needs root, ip, tc with tbf, MPICH with UCX. Exit 77: cannot run.
set -euo pipefail
[[ $# == 1 && $1 != -* ]] || { echo 'usage: tests/tuning/slow_link.sh OCTET_COMMBENCH' >&2 && exit 64; }
commbench=$(readlink -f "$1")
nodes=4 subnet=10.77.0 name=octet$$
work=$(mktemp -d)

cannot() {
  echo "skipped: $*"
  exit 77
}
((EUID == 0)) || cannot 'network namespaces need root'
for tool in ip tc unshare mpiexec; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || cannot "no $tool (Debian: iproute2, util-linux, mpich)"
done
PATH=$PATH:/usr/sbin

remove() {
  local space
  for space in switch $(seq $nodes); do ip netns del "$name-$space" 2>/dev/null || true; done
  rm -rf "$work"
}
trap remove EXIT

in_node() { ip netns exec "$name-$1" "${@:2}"; }

# A switch with a veth to each node.
make_network() {
  local i
  ip netns add "$name-switch" || cannot 'no network namespaces here'
  ip -n "$name-switch" link add bridge type bridge || cannot 'no bridges here'
  ip -n "$name-switch" link set bridge up
  for i in $(seq $nodes); do
    ip netns add "$name-$i"
    ip -n "$name-$i" link set lo up
    ip -n "$name-switch" link add "port$i" type veth peer name eth0 netns "$name-$i"
    ip -n "$name-switch" link set "port$i" master bridge up
    ip -n "$name-$i" addr add "$subnet.$i/24" dev eth0
    ip -n "$name-$i" link set eth0 up
    shape 100mbit "$i" eth0
  done
}

# shape RATE NAMESPACE DEVICE: what leaves it. Healthy is 100mbit, so that bytes cost more than a busy machine's pauses.
shape() { in_node "$2" tc qdisc replace dev "$3" root tbf rate "$1" burst 16kb latency 300ms || cannot 'tc has no tbf here'; }

# Nodes 2 and 4 reach each other by a veth of their own, with the addresses that they have.
add_slow_link() {
  ip -n "$name-2" link add direct type veth peer name direct netns "$name-4"
  ip -n "$name-2" link set direct up
  ip -n "$name-4" link set direct up
  ip -n "$name-2" route add "$subnet.4/32" dev direct src "$subnet.2"
  ip -n "$name-4" route add "$subnet.2/32" dev direct src "$subnet.4"
  shape 10mbit 2 direct
  shape 10mbit 4 direct
}

# What hydra calls in place of ssh: options, the node's address, a command. Each node has its own name.
cat >"$work/launch" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
node=\${1##*.}
shift
exec ip netns exec "$name-\$node" unshare --uts sh -c "hostname node\$node && exec \$*"
END
chmod +x "$work/launch"

# pairs FILE: the sweep over TCP, from a launcher that is in the network of node 1. On a busy machine MPICH 4.0.2 over UCX's
# tcp now and then does not come back from MPI_Finalize: what counts is the file, which is written before.
pairs() {
  local hosts
  hosts=$(seq -s, -f "$subnet.%g" $nodes)
  in_node 1 unshare --uts sh -c 'hostname node1 && exec "$@"' sh \
    env -u MPIR_CVAR_CH3_INTERFACE_HOSTNAME OMP_NUM_THREADS=1 UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 \
    timeout 25 mpiexec -launcher ssh -launcher-exec "$work/launch" -localhost "$subnet.1" -hosts "$hosts" -ppn 1 -n $nodes \
    "$commbench" --pairs nodes --pair-size 128K --iterations 5 --row-seconds 2 --tolerance 2 --timeout 60 --output "$1" ||
    [[ -s $1 ]]
}

# expect FILE TEXT: these slow parts, without their factors, and no others.
expect() {
  local found
  found=$(python3 -c 'import json, sys
for part in json.load(open(sys.argv[1]))["pairs"]["slow"]: print(part["kind"], part["from"], part["to"])' "$1")
  [[ $found == "$2" ]] || { echo "found: ${found:-nothing}; expected: ${2:-nothing}" && exit 1; }
  echo "ok: ${2:-nothing is slow}"
}

make_network
pairs "$work/healthy.json"
expect "$work/healthy.json" ''
add_slow_link
pairs "$work/link.json"
expect "$work/link.json" 'link node2 node4'
ip -n "$name-2" link del direct
shape 10mbit 3 eth0
shape 10mbit switch port3
pairs "$work/node.json"
expect "$work/node.json" 'node node3 None'
