"""What ends with its owner, cores and containers: what is around a job on its machine."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from harness import BIN, CLUSTER, ROOT, Run, Skipped, expect, free_ports, output_of, processes_of, scenario, until


# --- what ends with the process


def cluster_apart(folder):
    """The environment of a cluster beside that of the scenarios."""
    return {**os.environ, "OCTET_CLUSTER": f"{folder}/cluster", "SLURM_CONF": f"{folder}/cluster/slurm.conf",
            "OCTET_CLUSTER_PORT": str(free_ports(20))}


def expect_all_gone(folder):
    until(f"nothing of {folder} runs: {processes_of(folder)}", lambda: not processes_of(folder), 30)


@contextlib.contextmanager
def started(*command, **options):
    """A process that is killed where it has not ended by itself."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@scenario
def a_virtual_cluster_ends_with_its_owner(folder):
    up = folder / "up"
    # A job whose processes have left their session.
    owner = (f"{CLUSTER} start --nodes 2 && sbatch --nodes=2 --output=/dev/null --wrap 'srun setsid --wait sleep 1001' && "
             f"touch {up}; exec sleep 1000")
    with started("bash", "-c", owner, env=cluster_apart(folder)) as shell:
        until("the cluster is up", up.exists, 60)
        until("the job runs", lambda: list(processes_of(folder).values()).count("sleep 1001") >= 2, 30)
        names = " ".join(processes_of(folder).values())
        for name in ("munged", "slurmctld", "slurmd", "slurmstepd"):
            expect(name in names, f"no {name}: {names}")
        shell.kill()
        expect_all_gone(folder / "cluster")
        until("its folder is gone", lambda: not (folder / "cluster").exists(), 10)


@scenario
def scenarios_that_are_ended_leave_nothing_behind(_):
    for number in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory(prefix="octet-ended-") as inner, \
             started(ROOT / "tests/slurm/scenarios.py", "the_lead_is_that_of_the_last_checkpoint",
                     env={**os.environ, "TMPDIR": inner}) as run:
            until("its ranks run", lambda i=inner: any("octet-train" in words for words in processes_of(i).values()), 60)
            run.send_signal(number)
            run.wait(30)
            expect_all_gone(inner)
            left = list(pathlib.Path(inner).glob("octet-slurm-*"))
            expect(number == signal.SIGKILL or not left, f"{left}")


# --- cores


@scenario
def ranks_bind_themselves_to_their_share_of_the_jobs_cores(folder):
    """On a cluster with task/affinity, to which the script gives no masks."""
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        raise Skipped("there is one core")
    profile = folder / "affinity.yaml"
    text = (ROOT / "configs/clusters/local.yaml").read_text()
    for pattern, line in {"ranks_per_node: 1": "ranks_per_node: 2", "cores: 1 ": f"cores: {cpus // 2 * 2} ", "bind: off ": "bind: cores "}.items():
        text, count = re.subn(pattern, line, text)
        expect(count == 1, f"local.yaml: {count} lines match {pattern}")
    profile.write_text(text)
    environment = cluster_apart(folder)
    output_of(CLUSTER, "start", "--nodes", 1, "--affinity", "--owner", os.getpid(), env=environment)
    try:
        run = Run(folder, "cores", 100000)
        run.cluster = profile
        run.submit(1, **environment)
        run.wait_for_step(5)
        masks = {rank: re.search(r"Cpus_allowed_list:\s*(\S+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)
                 for (_, rank), pid in run.ranks().items()}
        (run.dir / "stop").touch()
        until("the run has stopped", lambda: run.status().get("exit_code") == 75, 60)
    finally:
        output_of(CLUSTER, "end", env=environment)
    table = (run.dir / "bindings.txt").read_text()
    told = {int(rank): cpus for rank, cpus in re.findall(r"^rank (\d+) on v1: CPUs (\S+) \(\d+ core", table, re.M)}
    expect(told == masks and len(set(told.values())) == 2, f"{told}, {masks}\n{table}\n{run.log()}")
    expect(f"cores: rank 0 on v1: CPUs {told[0]} (" in run.log(), run.log())


# --- containers


# A program that stands for apptainer: it runs the command in the image, a folder, which is made a root of its own; what
# the system needs is mounted from this machine, and of the rest what --bind says.
APPTAINER = r"""#!/bin/bash
set -euo pipefail
echo "$*" >>@PLACE@/calls
[[ $1 == exec ]] && shift
declare -a binds=()
pwd=/
while [[ $1 == --* ]]; do
  case $1 in
    --bind) binds+=("$2") && shift 2 ;;
    --pwd) pwd=$2 && shift 2 ;;
    *) echo "apptainer: unknown flag: $1" >&2 && exit 255 ;;
  esac
done
image=$1 && shift
root=$(mktemp -d @PLACE@/root.XXXXXX)
export image root pwd
exec @UNSHARE@ bash -c '
  set -euo pipefail
  mount -t tmpfs none "$root"
  cp -r "$image"/. "$root"
  for name in usr bin sbin lib lib64 etc proc sys dev; do
    [[ -e /$name ]] || continue
    mkdir -p "$root/$name" && mount --rbind "/$name" "$root/$name"
  done
  while [[ $1 != -- ]]; do
    IFS=: read -r from to _ <<<"$1"
    mkdir -p "$root$to" && mount --rbind "$from" "$root$to"
    shift
  done
  shift
  export PATH=/opt/octet/bin:/usr/bin:/bin:/usr/sbin:/sbin
  exec chroot "$root" /bin/bash -c "cd \"\$1\" && shift && exec \"\$@\"" in "$pwd" "$@"
' in "${binds[@]}" -- "$@"
"""


# Apptainer without its setuid program has a user namespace for each process that it starts; the ranks of a node share one
# of pyxis.
UNSHARE = {"apptainer": "unshare --user --map-root-user --mount", "pyxis": "unshare --mount"}


# srun as the plugin pyxis makes it.
PYXIS = r"""#!/bin/bash
options=() container=(@PLACE@/apptainer exec) image=''
while [[ ${1-} == --* ]]; do
  case $1 in
    --container-image=*) image=${1#*=} ;;
    --container-workdir=*) container+=(--pwd "${1#*=}") ;;
    --container-mounts=*) IFS=, read -ra mounts <<<"${1#*=}" && for mount in "${mounts[@]}"; do container+=(--bind "$mount"); done ;;
    *) options+=("$1") ;;
  esac
  shift
done
[[ -n $image ]] || exec @SRUN@ "${options[@]}" "$@"
exec @SRUN@ "${options[@]}" "${container[@]}" "$image" "$@"
"""


def bring_libraries(program, image):
    """An image has every library of its programs. The stand-in takes the system's from this machine; the others (Arrow's, of this
    build) stand where the program looks for them."""
    for library in re.findall(r"=> (/\S+)", output_of("ldd", program)):
        if not library.startswith(("/usr/", "/lib")):
            place = image / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)


def contained(folder, runtime):
    """The preflight, octet job and the ranks, two a node, which are started again after one was killed."""
    if subprocess.run([*UNSHARE[runtime].split(), "chroot", "/", "true"], capture_output=True).returncode:
        raise Skipped("no mount or user namespaces can be made here")
    image, place = folder / "octet.sif", folder / "apptainer"
    (image / "opt/octet/bin").mkdir(parents=True)
    place.mkdir()
    for program in ("octet", "octet-train"):
        shutil.copy(BIN / program, image / "opt/octet/bin")
    shutil.copytree(ROOT / "configs", image / "opt/octet/share/octet/configs")
    bring_libraries(BIN / "octet", image)
    (place / "apptainer").write_text(APPTAINER.replace("@PLACE@", str(place)).replace("@UNSHARE@", UNSHARE[runtime]))
    (place / "apptainer").chmod(0o755)
    if runtime == "pyxis":
        (place / "srun").write_text(PYXIS.replace("@PLACE@", str(place)).replace("@SRUN@", shutil.which("srun")))
        (place / "srun").chmod(0o755)
    home = folder / "home"  # from which it is submitted
    home.mkdir()
    run = Run(folder, "contained", 600, {"data.train": folder.parent / "tokens"})
    text = output_of(BIN / "octet", "submit", run.config, "--cluster", "local", "--nodes", 2, "--cluster.container.image", image,
                     "--cluster.container.runtime", runtime, "--cluster.launcher.preflight", "true",
                     "--cluster.launcher.ranks_per_node", 2, "--cluster.cpu.cores", 2, cwd=home,
                     env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"})
    run.jobs = re.findall(r"\d+", re.search(r"^submitted ([0-9, ]+) on", text, re.M).group(1))
    script = (run.dir / "job.sh").read_text()
    expect(str(BIN) not in script, f"the job knows the host's programs\n{script}")
    run.wait_for_checkpoint()
    for pid in run.ranks().values():
        root = pathlib.Path(f"/proc/{pid}/root")
        expect((root / "opt/octet/bin/octet-train").exists() and not (root / "srv").exists(), "the ranks are not in the container")
    run.kill_rank(1)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["restart", "finish"], f"{run.launches()}\n{run.log()}")
    calls = (place / "calls").read_text()
    for words in (" octet job before ", " octet job after ", "octet doctor --json ", " octet-train "):
        expect(words in calls, f"not in the container:{words}\n{calls}")
    reports = [json.loads(p.read_text()) for p in run.dir.glob("job/*/preflight/*.json")]
    expect(len(reports) == 2 and all(r["healthy"] for r in reports), f"{reports}")


@scenario
def a_run_in_a_container_has_octet_there_alone(folder):
    contained(folder, "apptainer")


@scenario
def a_run_in_a_container_of_pyxis_has_octet_there_alone(folder):
    contained(folder, "pyxis")
