"""Ranks and nodes that die, stop or are sick."""
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import time

from harness import BIN, CLUSTER, STOP_AT, Run, Skipped, expect, output_of, processes_of, scenario, until
from slurm_fails import finds_a_sick_node


@scenario
def a_killed_rank_is_started_again(folder):
    run = Run(folder, "killed", 600)
    run.submit(2)
    run.wait_for_checkpoint()
    run.kill_rank(1)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["restart", "finish"], f"{run.launches()}")
    expect(run.launches()[0]["exit_code"] in (70, 71), f"{run.launches()}")


@scenario
def a_killed_first_rank_leaves_a_status_too(folder):
    run = Run(folder, "killed-first", 600)
    run.submit(2)
    run.wait_for_checkpoint()
    run.kill_rank(0)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["restart", "finish"], f"{run.launches()}")
    expect(run.launches()[0]["state"] == "failed" and run.launches()[0]["reason"], f"{run.launches()}")


@scenario
def a_stopped_rank_is_found_by_the_watchdog(folder):
    run = Run(folder, "stopped", 600)
    run.submit(2)
    run.wait_for_checkpoint()
    run.kill_rank(1, signal.SIGSTOP)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["restart", "finish"], f"{run.launches()}")
    expect("has not completed" in run.launches()[0]["reason"], f"{run.launches()[0]}")


@scenario
def a_rank_that_stops_in_any_phase_is_found(folder):
    limit = 15
    run = Run(folder, "phases", 600, {f"comm.{key}": limit for key in
                                     ("start_timeout_seconds", "timeout_seconds", "checkpoint_timeout_seconds")})
    train = folder / "stopping-train"
    train.write_text(f"""#!/bin/bash
places=([1]=MPI_Init_thread [2]=open [4]=fsync [5]=MPI_Finalize)
exec env LD_PRELOAD={STOP_AT} OCTET_STOP_FILE=tokens.bin "OCTET_STOP_AT=${{places[OCTET_LAUNCH]-}}" {BIN}/octet-train "$@"
""")
    train.chmod(0o755)
    run.submit_changed(2, {r"^octet_train=.*$": f"octet_train={train}"})
    until("a third launch", lambda: len(run.launches()) == 3, 120)
    run.wait_for_checkpoint()
    run.kill_rank(1, signal.SIGSTOP)
    run.wait_for_end(240)
    run.expect_finished()
    expect(run.actions() == ["restart"] * 4 + ["finish"], f"{run.launches()}")
    for launch, phase in zip(run.launches(), ["start", "start", "step", "(step|checkpoint)"]):
        expect(launch["exit_code"] == 71 and re.search(f" in phase {phase} ", launch["reason"]), f"{phase}: {launch}")
    expect("MPI_Finalize has not ended within 10 s" in run.log(), f"what was done stays done, and the end has a name\n{run.log()}")


@scenario
def a_dead_node_is_replaced_by_a_spare(folder):
    run = Run(folder, "spare", 1500)
    run.submit(2, "--spares", 1)
    run.wait_for_checkpoint()
    victim = run.launches()[0]["hosts"]
    node = output_of("scontrol", "show", "hostnames", victim).split()[1]
    output_of(CLUSTER, "kill", node)
    try:
        run.wait_for_end()
    finally:
        output_of(CLUSTER, "revive", node)
    run.expect_finished()
    hosts = output_of("scontrol", "show", "hostnames", run.launches()[-1]["hosts"]).split()
    expect(node not in hosts and len(hosts) == 2, f"{run.launches()}")
    expect(run.launches()[-1]["job"] == run.launches()[0]["job"], "within the allocation")


def dead_node_requeues(folder, name, which, *options):
    run = Run(folder, name, 1500)
    run.submit(2, *options)
    run.wait_for_checkpoint()
    node = output_of("scontrol", "show", "hostnames", run.launches()[0]["hosts"]).split()[which]
    output_of(CLUSTER, "kill", node)
    try:
        run.wait_for_end(240)
    finally:
        output_of(CLUSTER, "revive", node)
    run.expect_finished()
    hosts = output_of("scontrol", "show", "hostnames", run.launches()[-1]["hosts"]).split()
    expect(node not in hosts, f"{run.launches()}")
    expect(run.actions()[0] in ("requeue", "restart"), f"it counts as a launch that failed: {run.launches()}")
    expect("cancelled" not in run.log() + json.dumps(run.launches()), f"nobody cancelled it:\n{run.log()}")


@scenario
def a_dead_node_without_a_spare_requeues(folder):
    dead_node_requeues(folder, "requeued", 1)


@scenario
def the_death_of_the_scripts_own_node_requeues(folder):
    dead_node_requeues(folder, "own-node", 0)


@scenario
def the_death_of_the_scripts_own_node_requeues_in_spite_of_spares(folder):
    dead_node_requeues(folder, "own-node-spares", 0, "--spares", 1)


@scenario
def a_spare_takes_over_after_slurm_has_let_the_dead_node_go(folder):
    run = Run(folder, "spare-later", 100000)  # it ends by its stop file, however fast steps are
    run.submit(2, "--spares", 1)
    run.wait_for_checkpoint()
    node = output_of("scontrol", "show", "hostnames", run.launches()[0]["hosts"]).split()[1]
    output_of(CLUSTER, "kill", node)
    try:
        until("a second launch", lambda: len(run.launches()) > 1, 120)
        until("Slurm has let it go", lambda: node not in run.nodes(), 90)
        steps = len(run.metrics())
        run.wait_for_step(steps + 25)  # a checkpoint since
        run.kill_rank(1)
        until("a third launch", lambda: len(run.launches()) > 2, 120)
        run.wait_for_step(len(run.metrics()) + 5)
        (run.dir / "stop").touch()
        run.wait_for_end()
    finally:
        output_of(CLUSTER, "revive", node)
    expect(run.status().get("exit_code") == 75, f"{run.status()}\n{run.log()}")
    run.losses()
    expect({launch["job"] for launch in run.launches()} == set(run.jobs), f"within the allocation: {run.launches()}")


def watched_from(run):
    """The nodes from which a task watches the script's node."""
    found = set()
    for pid, words in processes_of(run.dir).items():
        if re.match(r"\S*bash -c trap : USR1;", words):
            with contextlib.suppress(OSError):
                found.update(re.findall(r"\0SLURMD_NODENAME=(\w+)\0", pathlib.Path(f"/proc/{pid}/environ").read_text()))
    return sorted(found)


@scenario
def the_task_that_watches_the_scripts_node_is_replaced(folder):
    run = Run(folder, "watched", 100000)
    run.submit(2, "--spares", 1)
    run.wait_for_checkpoint()
    nodes = run.nodes()
    until("the last node watches", lambda: watched_from(run) == [nodes[-1]], 60)
    output_of(CLUSTER, "kill", nodes[-1])
    try:
        until("Slurm has let it go", lambda: nodes[-1] not in run.nodes(), 90)
        run.kill_rank(1)
        until("a second launch", lambda: len(run.launches()) > 1, 120)
        until("another watches", lambda: watched_from(run) == [nodes[-2]], 60)
        (run.dir / "stop").touch()
        run.wait_for_end()
    finally:
        output_of(CLUSTER, "revive", nodes[-1])


@scenario
def a_finished_run_goes_on_with_more_steps(folder):
    run = Run(folder, "more", 20)
    run.submit(2)
    run.wait_for_end()
    run.expect_finished()
    run.submit(2, "--train.steps", 40)
    run.steps = 40
    run.wait_for_end()
    run.expect_finished()


@scenario
def a_node_that_fails_the_preflight_is_left_out(folder):
    run = Run(folder, "preflight", 60)
    run.submit_changed(2, finds_a_sick_node(folder), "--spares", 1)
    run.wait_for_end()
    run.expect_finished()
    node = (folder / "sick").read_text().strip()
    hosts = output_of("scontrol", "show", "hostnames", run.launches()[-1]["hosts"]).split()
    expect(node not in hosts and len(hosts) == 2, f"{node}: {run.launches()}")


@scenario
def a_crash_loop_stops(folder):
    # A rank that dies before its first checkpoint, every time.
    run = Run(folder, "crash-loop", 50)
    killer = folder / "crashing-train"
    killer.write_text(f'#!/bin/bash\n[[ $PMI_RANK == 0 ]] || kill -9 $$\nexec {BIN}/octet-train "$@"\n')
    killer.chmod(0o755)
    run.submit_changed(2, {r"^octet_train=.*$": f"octet_train={killer}", r"^max_restarts=.*$": "max_restarts=2"})
    run.wait_for_end()
    expect(run.actions() == ["restart", "restart", "stop"], f"{run.actions()}\n{run.log()}")
    expect("crash loop" in run.status()["reason"], f"{run.status()}")


@scenario
def a_loss_that_is_not_finite_stops(folder):
    run = Run(folder, "nan", 50, {"optimizer.lr": "1e30", "optimizer.clip_norm": 0})
    run.submit(2)
    run.wait_for_end()
    expect(run.actions() == ["stop"] and run.status()["exit_code"] == 77, f"{run.launches()}\n{run.status()}")


@scenario
def a_full_disk_stops_with_its_reason(folder):
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1300m", "tmpfs", str(small)], capture_output=True).returncode:
        raise Skipped("no file system can be mounted here")
    try:
        run = Run(folder, "full-disk", 3000, {"run.dir": small / "run", "train.log_every": 20})
        run.dir = small / "run"
        # The log is elsewhere: on the full disk it would end anywhere.
        run.submit_changed(2, {r"^#SBATCH --output=.*$": f"#SBATCH --output={folder}/job-%j.out"})
        run.wait_for_checkpoint()
        with open(small / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while filler.write(bytes(size)) == size:
                        pass
        run.wait_for_end()
        status = run.status()
        (path,) = folder.glob("job-*.out")
        log = path.read_text(errors="replace")
        # status.json may not find room for it.
        told = status.get("reason", "") + "".join(re.findall("stop: .*", log))
        expect(status.get("state") != "finished" and re.search("No space|free, but a checkpoint", told), f"{status}\n{log}")
        expect("saves are tried again at every interval" in log, f"the first save that failed ended the run\n{log}")
        expect(any((run.dir / "checkpoints").glob("step-*[0-9]")), f"the checkpoint that was there is gone: {status}")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


@scenario
def singletons_are_refused(folder):
    run = Run(folder, "singletons", 50)
    run.submit_changed(2, {r"^mpi=.*$": "mpi=none"})
    run.wait_for_end()
    expect(run.actions() == ["stop"] and "--mpi=pmi2" in run.status()["reason"], f"{run.status()}\n{run.log()}")


@scenario
def scancel_saves_and_does_not_come_back(folder):
    run = Run(folder, "cancelled", 3000)
    (job,) = run.submit(2)
    run.wait_for_step(10)
    output_of("scancel", job)
    run.wait_for_end()
    expect(run.state_of(job) == "CANCELLED", run.state_of(job))
    status = run.status()
    expect(status["state"] == "stopped" and status["exit_code"] == 75 and "cancelled" in status["reason"], f"{status}")
    expect(run.actions() == ["stop"], f"{run.launches()}")
    run.submit(2)
    run.wait_for_step(status["step"] + 3)
    output_of("scancel", *run.jobs)
    run.wait_for_end()
    run.losses()


def take_its_nodes(run):
    """A job of a partition that may; its id."""
    return output_of("sbatch", "--parsable", "--partition=main", "--exclusive", f"--nodelist={','.join(run.nodes())}", "--nodes=2",
                     "--output=/dev/null", "--time=2", "--wrap", "sleep 5").strip()


@scenario
def a_preempted_job_comes_back(folder):
    run = Run(folder, "preempted", 3000)
    run.submit_changed(2, {r"^#SBATCH --partition=.*$": "#SBATCH --partition=low"})
    run.wait_for_step(10)
    hog = take_its_nodes(run)
    until("the end of the first launch", lambda: run.actions()[:1] == ["wait"], 60)
    expect(run.launches()[0]["reason"] == "SIGTERM", f"{run.launches()}")
    until("a second launch", lambda: len(run.launches()) > 1, 120)
    expect(run.launches()[1]["job"] == run.launches()[0]["job"], "Slurm's requeue keeps the id")
    run.wait_for_step(run.status()["step"] + 3)
    output_of("scancel", hog, *run.jobs)
    run.wait_for_end()
    run.losses()


@scenario
def a_job_that_is_cancelled_within_its_grace_time_does_not_come_back(folder):
    run = Run(folder, "cancelled-in-grace", 100000, {"checkpoint.interval": '"100000 steps"', "comm.timeout_seconds": 60})
    # A rank stands still in the save that the preemption asks for, until the cancellation has it go on.
    train = folder / "stopping-train"
    train.write_text(f'#!/bin/bash\nexec env LD_PRELOAD={STOP_AT} OCTET_STOP_AT=fsync {BIN}/octet-train "$@"\n')
    train.chmod(0o755)
    run.submit_changed(2, {r"^#SBATCH --partition=.*$": "#SBATCH --partition=low", r"^octet_train=.*$": f"octet_train={train}"})
    run.wait_for_step(10)
    (job,) = run.jobs
    hog = take_its_nodes(run)
    until("the preemption", lambda: re.search(r" PreemptTime=\d", output_of("scontrol", "show", "job", job)), 60)
    time.sleep(5)
    output_of("scancel", job)
    run.wait_for_end()
    output_of("scancel", hog)
    expect(run.state_of(job) == "CANCELLED", run.state_of(job))
    expect(run.actions() == ["stop"] and "cancelled" in run.status()["reason"], f"{run.status()}\n{run.log()}")


@scenario
def a_job_that_is_cancelled_for_another_comes_back(folder):
    """Slurm itself puts none back in a partition like this one, which tells script and ranks at the same time."""
    partition = f"cancelled-{folder.name[-1]}"  # a second try has another one
    output_of("scontrol", "create", f"PartitionName={partition}", "Nodes=ALL", "State=UP", "PriorityTier=1", "PreemptMode=CANCEL", "GraceTime=0")
    run = Run(folder, "cancelled-for-another", 3000)
    run.submit_changed(2, {r"^#SBATCH --partition=.*$": f"#SBATCH --partition={partition}"})
    run.wait_for_step(10)
    hog = take_its_nodes(run)
    until("a second launch", lambda: len(run.launches()) > 1, 120)
    first, second = run.launches()[:2]
    expect(first["job"] == second["job"] and first["action"] == "wait", f"{run.launches()}\n{run.log()}")
    output_of("scancel", hog, *run.jobs)
    run.wait_for_end()
    run.losses()
