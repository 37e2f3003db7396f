#!/usr/bin/env python3
"""Runs on a real Slurm of virtual nodes: what octet submit's jobs do when all goes well, and when it does not.

Usage: tests/slurm/scenarios.py [NAME...] [--list] [--keep] [--report FILE]
Starts a cluster of its own (slurm/virtual-cluster.sh) and ends it. Scenarios run beside each other. The report has the
counts in GoogleTest's form.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from harness import (BIN, CLUSTER, ROOT, Run, close, expect, free_ports, output_of, prepare_data, processes_of, remove,
                     same_bits, until)


STOP_AT = BIN.parent / "tests/liboctet-stop-at.so"  # tests/jobs/stop_at.cpp


class Skipped(Exception):
    """This machine cannot show it."""


SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


# --- all goes well


@scenario
def trains_as_under_mpiexec(folder):
    run = Run(folder, "four", 40)
    run.submit(4)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["finish"], f"{run.launches()}")
    same = Run(folder, "four-mpiexec", 40)
    same.mpiexec(4)
    same_bits(run.losses(), same.losses(), "srun and mpiexec")


@scenario
def the_quickstarts_run_trains_as_under_mpiexec(folder):
    """configs/runs/english-5m.yaml on four nodes, for a few steps."""
    run, same = Run(folder, "quickstart", 5), Run(folder, "quickstart-mpiexec", 5)
    for r in (run, same):
        r.config = ROOT / "configs/runs/english-5m.yaml"
    options = ["--data.train", folder / "tokens", "--train.steps", 5, "--schedule.warmup_steps", 1,
               "--schedule.decay_steps", 2, "--train.validate_every", 0]
    run.submit(4, *options, "--run.dir", run.dir)
    run.wait_for_end()
    run.expect_finished()
    same.mpiexec(4, *map(str, options), "--run.dir", same.dir)
    same_bits(run.losses(), same.losses(), "srun and mpiexec")


@scenario
def a_run_directory_has_every_character_that_a_job_can_take(folder):
    """All that print but the slash; sbatch cannot take double quotes and backslashes in a line of a script."""
    name = "".join(map(chr, range(32, 127))).replace("/", "")
    run = Run(folder, "characters", 10)
    run.dir = run.folder / name
    refused = subprocess.run([BIN / "octet", "submit", run.config, "--cluster", run.cluster, "--nodes", "1", "--run.dir", run.dir],
                             capture_output=True, text=True)
    expect(refused.returncode == 64 and "run.dir = " in refused.stderr and "a double quote or a backslash" in refused.stderr, refused.stdout + refused.stderr)
    expect(not run.dir.exists(), "a refused run has a directory")
    run.dir = run.folder / name.replace('"', "").replace("\\", "")
    run.submit(2, "--run.dir", run.dir)
    run.wait_for_end()
    run.expect_finished()
    expect(sorted(p.name for p in run.folder.iterdir()) == sorted([run.dir.name, run.config.name, "tiny.yaml"]),
           f"{list(run.folder.iterdir())}")


def restarts_on_other_sizes(folder, name, settings, cluster, sizes):
    """On as many nodes as `sizes` says, one after the other."""
    whole = Run(folder, f"{name}-whole", 90, settings)
    whole.mpiexec(4)
    run = Run(folder, name, 90, settings)
    run.cluster = cluster
    for nodes, stop_at in zip(sizes, (15, 45, None)):
        run.submit(nodes)
        if stop_at:
            run.wait_for_step(stop_at)
            (run.dir / "stop").touch()
        run.wait_for_end()
        if stop_at:
            expect(run.status().get("exit_code") == 75, f"{name}: {run.status()}\n{run.log()}")
    run.expect_finished()
    close(run.losses(), whole.losses(), 2e-5, name)


@scenario
def goes_on_with_2_and_3_of_4_nodes(folder):
    restarts_on_other_sizes(folder, "resized", {}, "local", (4, 2, 3))


def two_ranks_a_node(folder):
    """A profile of such a cluster."""
    text = (ROOT / "configs/clusters/local.yaml").read_text()
    profile = folder / "two-ranks-a-node.yaml"
    profile.write_text(re.sub("ranks_per_node: 1", "ranks_per_node: 2", re.sub("cores: 1 ", "cores: 2 ", text)))
    return profile


@scenario
def goes_on_with_other_sizes_under_tensor_parallelism(folder):
    restarts_on_other_sizes(folder, "resized-tp", {"parallel.tp": 2}, two_ranks_a_node(folder), (2, 1, 3))


@scenario
def ranks_of_a_node_know_each_other(folder):
    """By which they take its GPUs one after the other. The virtual nodes are one machine, and have names."""
    run = Run(folder, "neighbours", 20)
    run.cluster = two_ranks_a_node(folder)
    run.submit(2)
    run.wait_for_end()
    run.expect_finished()
    expect(re.search(r"4 rank\(s\) on 2 per node, node v\d+", run.log()), run.log())


@scenario
def a_chain_ends_with_the_run(folder):
    run = Run(folder, "chain", 800)
    jobs = run.submit(2, "--chain", 4)
    expect(len(jobs) == 4, f"{jobs}")
    for link in (0, 1):  # each ends early, as if its time were over and the queue long
        run.wait_for_step(60 + 100 * link)
        before = len(run.launches())
        output_of("scancel", "--signal=USR1", "--batch", jobs[link])
        until("the next link", lambda n=before: len(run.launches()) > n, 60)
    run.wait_for_end()
    run.expect_finished()
    expect([launch["job"] for launch in run.launches()] == jobs[:3], f"{run.launches()}")
    expect(run.state_of(jobs[3]) == "CANCELLED", "a link that has nothing to do is cancelled")


@scenario
def passes_over_the_data_are_counted_across_starts(folder):
    """More than data.max_passes: told at submit and in each job, and a pass begins once, whichever start comes to it."""
    few = folder / "few.txt"
    few.write_text("".join(f"{i} is a number.\n" for i in range(120)))
    output_of(BIN / "octet", "prepare", "--input", few, "--output", folder / "few")
    samples = (few.stat().st_size + 1 - 1) // 32
    settings = {"data.train": folder / "few", "data.validation_fraction": 0, "checkpoint.interval": '"10 steps"'}
    run = Run(folder, "passes", 60, settings)
    told = subprocess.run([BIN / "octet", "submit", run.config, "--cluster", "local", "--nodes", "2", "--dry-run"],
                          capture_output=True, text=True, timeout=120, check=True).stderr
    warning = f"few.bin: 60 steps ask for {60 * 12 * 32} tokens of it, and {samples * 32} are there to train on"
    expect(warning in told and "more than data.max_passes = 4" in told, told)
    run.submit(2)
    run.wait_for_step(25)
    (run.dir / "stop").touch()
    run.wait_for_end()
    run.submit(3)
    run.wait_for_end()
    run.expect_finished()
    expect(run.log().count(warning) == 2, f"the warning of each start\n{run.log()}")
    for line in run.metrics():
        expect(abs(line["passes"][0] - line["step"] * 12 / samples) < 1e-9, f"{line}")
    begun = [int(n) for n in re.findall(r"data: pass (\d+) over \S+few.bin begins in step", run.log())]
    expect(begun == list(range(2, (60 * 12 - 1) // samples + 2)), f"{begun} of {samples} samples a pass")


# --- what a login shell leaves

# srun takes each of them before what Slurm or the script say.
LEAKED = {"SLURM_CPU_BIND": "map_cpu:99", "SLURM_MPI_TYPE": "none", "SLURM_EXPORT_ENV": "NONE",
          "SLURM_STDOUTMODE": "none", "SLURM_STDERRMODE": "none", "SLURM_MEM_PER_CPU": "1", "SLURM_DISTRIBUTION": "cyclic",
          "SLURM_HINT": "nomultithread", "SLURM_TASK_PROLOG": "/bin/false", "SRUN_CPUS_PER_TASK": "9", "PMI_SIZE": "7",
          "SQUEUE_STATES": "FAILED", "SCANCEL_STATE": "PENDING"}


@scenario
def variables_of_the_login_shell_change_nothing(folder):
    """Octet submit leaves out those of sbatch and of srun; one of NCCL's, and an option with a space, reach the job."""
    run = Run(folder, "leaked", 40)
    (job,) = run.submit(2, "--cluster.slurm.options", "[--comment=my comment]", SBATCH_ARRAY_INX="1-2",
                        SBATCH_EXPORT="NONE", SBATCH_OUTPUT="/dev/null", SBATCH_NO_REQUEUE="1", SLURM_HOSTFILE="/nowhere",
                        NCCL_IB_DISABLE="1", **LEAKED)
    expect(" Comment=my comment" in output_of("scontrol", "show", "job", job), output_of("scontrol", "show", "job", job))
    run.wait_for_end()
    run.expect_finished()
    told = re.search(r"environment of v\S+: NCCL_IB_DISABLE = 1: warning: .*", run.log())
    expect(told, f"the leak is not in the log\n{run.log()}")
    expect(list(run.dir.glob("job/*/preflight/*.env")), "each node explains its environment")


@scenario
def a_script_given_to_sbatch_by_hand_takes_nothing_from_the_shell(folder):
    run = Run(folder, "leaked-by-hand", 40)
    run.submit_changed(2, {}, **LEAKED)
    run.wait_for_end()
    run.expect_finished()
    told = Run(folder, "sbatch-told", 40)
    told.submit_changed(2, {}, SBATCH_SIGNAL="USR2@70")
    told.wait_for_end()
    expect(told.state_of(told.jobs[0]) == "FAILED" and not told.launches(), f"{told.launches()}\n{told.log()}")
    expect("sbatch took SBATCH_SIGNAL=USR2@70 before what this script says" in told.status().get("reason", ""),
           f"{told.status()}\n{told.log()}")


# --- commands of Slurm that fail or hang


def stand_ins(folder, mode):
    """A folder with squeue, scontrol and scancel, to be first in PATH. They do what the file `mode` there says: hang
    (also when they are told to end), fail, or what the real ones do."""
    place = folder / "stand-ins"
    place.mkdir()
    (place / "mode").write_text(mode)
    for name in ("squeue", "scontrol", "scancel"):
        (place / name).write_text(
            f'#!/bin/bash\necho "{name} $*" >>{place}/calls\ncase $(<{place}/mode) in\n  hang) trap "" TERM; sleep 1000 & wait; wait ;;\n'
            f'  fail) echo "{name}: error: Unable to contact slurm controller (connect failure)" >&2; exit 1 ;;\n'
            f'  *) exec "{shutil.which(name)}" "$@" ;;\nesac\n')
        (place / name).chmod(0o755)
    return place


def environment_with(place):
    return {"PATH": f"{place}:{os.environ['PATH']}", "OCTET_TEST_SLURM_SECONDS": "1", "OCTET_TEST_POLL_SECONDS": "3"}


def a_rank_dies_while_slurm_is_silent(folder, mode):
    run, place = Run(folder, mode, 600), stand_ins(folder, mode)
    run.submit(2, "--spares", 1, **environment_with(place))
    run.wait_for_checkpoint()
    run.kill_rank(1)
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["restart", "finish"], f"{run.launches()}")
    expect(len({launch["hosts"] for launch in run.launches()}) == 1, f"all nodes are known: {run.launches()}")
    calls = (place / "calls").read_text()
    for words in ("squeue --noheader --jobs", "scontrol show job", "scontrol show topology", "scontrol show node"):
        expect(words in calls, f"it has not been tried: {words}\n{calls}")


@scenario
def commands_of_slurm_that_hang_end_no_run(folder):
    a_rank_dies_while_slurm_is_silent(folder, "hang")


@scenario
def commands_of_slurm_that_fail_end_no_run(folder):
    a_rank_dies_while_slurm_is_silent(folder, "fail")


@scenario
def the_time_limit_is_met_while_slurm_is_silent(folder):
    """The ranks hear of it through their srun; a requeue is asked for until Slurm does it."""
    run, place = Run(folder, "silent-limit", 3000), stand_ins(folder, "fail")
    (job,) = run.submit(2, **environment_with(place))
    run.wait_for_checkpoint()
    for mode in ("fail", "hang"):
        (place / "mode").write_text(mode)
        if mode == "fail":
            output_of("scancel", "--signal=USR1", "--batch", job)
            until("a requeue is decided", lambda: run.actions() == ["requeue"], 60)
        before = run.log().count("scontrol did not do its work")
        until(f"another try, {mode}", lambda n=before: run.log().count("scontrol did not do its work") > n, 30)
    expect(run.status()["exit_code"] == 75 and run.status()["reason"] == "SIGUSR1", f"{run.status()}")
    expect(run.state_of(job) == "RUNNING", "the allocation is still there")
    (place / "mode").write_text("real")
    until("a second launch", lambda: len(run.launches()) > 1, 120)
    run.wait_for_step(run.status()["step"] + 3)
    (run.dir / "stop").touch()
    run.wait_for_end()
    expect({launch["job"] for launch in run.launches()} == {job}, f"a requeue keeps the job's id: {run.launches()}")
    run.losses()


@scenario
def slurm_is_asked_no_more_often_than_the_interval_says(folder):
    run, place = Run(folder, "seldom", 3000), stand_ins(folder, "real")
    run.submit(2, "--spares", 1, **{**environment_with(place), "OCTET_TEST_POLL_SECONDS": "1000"})
    run.wait_for_step(10)
    asked = (place / "calls").read_text().splitlines()
    (run.dir / "stop").touch()
    run.wait_for_end()
    words = [call.split()[:3] for call in asked if call != "scontrol show config"]  # which the nodes' checks read
    expect(all(words.count(w) == 1 for w in words), f"each is asked once before a launch: {asked}")
    expect(not [w for w in words if w[0] == "scancel" or w[:3] == ["scontrol", "show", "node"]], f"{asked}")


def finds_a_sick_node(folder):
    """Changes of a script by which octet doctor finds that the node that the job gets first is sick, and the others not."""
    fake = folder / "octet-with-a-sick-node"
    fake.write_text(f'#!/bin/bash\nif [[ $1 == doctor ]]; then [[ $SLURMD_NODENAME != "$(cat {folder}/sick)" ]] || '
                    f'{{ echo \'{{"healthy": false}}\'; exit 76; }}; echo \'{{"healthy": true}}\'; exit 0; fi\n'
                    f'exec {BIN}/octet "$@"\n')
    fake.chmod(0o755)
    sick = f'[[ -e {folder}/sick ]] || echo "$SLURMD_NODENAME" >{folder}/sick'
    return {r"^octet=.*$": f"octet={fake}; {sick}", r"^octet_in_step=.*$": f"octet_in_step={fake}", r"^preflight=.*$": "preflight=1"}


@scenario
def a_successor_that_slurm_refuses_ends_the_job(folder):
    """A partition of as many nodes as the job has cannot leave one out: the job ends and says so."""
    run = Run(folder, "no-successor", 300)
    sbatch = folder / "bin/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f'#!/bin/bash\n[[ $* == *--exclude* ]] || exec {shutil.which("sbatch")} "$@"\n'
                      f'echo x >>{folder}/asked\n[[ $(wc -l <{folder}/asked) != 1 ]] || {{ echo "sbatch: error: Unable to contact slurm controller" >&2; exit 1; }}\n'
                      'echo "sbatch: error: Batch job submission failed: Requested node configuration is not available" >&2; exit 1\n')
    sbatch.chmod(0o755)
    run.submit_changed(2, finds_a_sick_node(folder),
                       PATH=f"{sbatch.parent}:{os.environ['PATH']}", OCTET_TEST_POLL_SECONDS="1")
    run.wait_for_end()
    expect((folder / "asked").read_text() == "x\nx\n", "asked again where there was no answer, and no more once there was")
    expect("Slurm refused: exclude" in run.log() and run.status()["exit_code"] == 70, f"{run.status()}\n{run.log()}")


# --- limits


@scenario
def a_time_limit_is_met_with_a_checkpoint_and_a_requeue(folder):
    # More steps than the fastest machine takes in the two minutes that Slurm needs: the file `stop` ends the run.
    run, whole = Run(folder, "limit", 100000), Run(folder, "limit-whole", 100000)
    # Slurm looks at limits once a minute, and signals up to a minute early.
    run.submit_changed(2, {r"^#SBATCH --signal=.*$": "#SBATCH --signal=B:USR1@60", r"^#SBATCH --time=.*$": "#SBATCH --time=1"})
    (job,) = run.jobs
    until("a requeue", lambda: "requeue" in run.actions(), 120)
    first = run.launches()[0]
    expect(first["reason"] == "SIGUSR1" and first["exit_code"] == 75, f"{first}")
    until("a second launch", lambda: len(run.launches()) > 1, 120)
    output_of("scontrol", "update", f"JobId={job}", "TimeLimit=30")
    run.wait_for_step(run.status()["step"] + 20)
    (run.dir / "stop").touch()
    run.wait_for_end()
    expect(run.status().get("exit_code") == 75, f"{run.status()}\n{run.log()}")
    expect({launch["job"] for launch in run.launches()} == {job}, "a requeue keeps the job's id")
    steps = len(run.losses())
    whole.mpiexec_for(2, steps)
    same_bits(run.losses(), whole.losses()[:steps], "requeued and uninterrupted")


@scenario
def the_lead_is_that_of_the_last_checkpoint(folder):
    # Checkpoints are said to take so long that the script's own clock, not Slurm's signal, must end the launch; the run
    # has more steps than it can take until then.
    run = Run(folder, "lead", 1000000)
    run.submit_changed(2, {r"^#SBATCH --time=.*$": "#SBATCH --time=10", r"^min_lead_seconds=.*$": "min_lead_seconds=590"})
    until("a requeue", lambda: "requeue" in run.actions(), 60)
    expect(run.launches()[0]["reason"] == "SIGUSR1", f"{run.launches()}")
    until("Slurm has put it back", lambda: run.state_of(run.jobs[0]) == "PENDING", 60)  # a requeue undoes what cancels it before
    output_of("scancel", *run.jobs)
    run.wait_for_end()


@scenario
def a_signal_before_the_ranks_start_is_no_failed_launch(folder):
    run = Run(folder, "early-signal", 40)
    fake = folder / "octet-with-a-signal"
    # It comes when the launch is decided; the script hears it before it starts the ranks.
    fake.write_text(f'#!/bin/bash\n{BIN}/octet "$@"; code=$?\n'
                    f'[[ "$1 $2" != "job before" || -e {folder}/sent ]] || {{ touch {folder}/sent; '
                    f'scancel --signal=USR1 --batch "$SLURM_JOB_ID"; sleep 2; }}\nexit $code\n')
    fake.chmod(0o755)
    run.submit_changed(2, {r"^octet=.*$": f"octet={fake}"})
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["requeue", "finish"], f"{run.launches()}\n{run.log()}")
    expect(run.launches()[0]["reason"] == "SIGUSR1", f"{run.launches()}")


# --- faults


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
    expect("in MPI_Finalize in phase end (comm.timeout_seconds)" in run.log(), f"what was done stays done, and the end has a name\n{run.log()}")


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
        run = Run(folder, "full-disk", 3000, {"run.dir": small / "run"})
        run.dir = small / "run"
        run.submit(2)
        run.wait_for_checkpoint()
        with open(small / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while filler.write(bytes(size)) == size:
                        pass
        run.wait_for_end()
        status = run.status()
        # Either may not find room for it: status.json, and the log of the job.
        told = status.get("reason", "") + "".join(re.findall("stop: .*", run.log()))
        expect(status.get("state") != "finished" and re.search("No space|free, but a checkpoint", told), f"{status}\n{run.log()}")
        # The log is on the full disk too, which may have room for the beginning of that line alone.
        cut = re.search(r"cannot be saved: [^\n]*\s*\Z", run.log())
        expect(cut or "saves are tried again at every interval" in run.log(), f"the first save that failed ended the run\n{run.log()}")
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


@scenario
def a_preempted_job_comes_back(folder):
    run = Run(folder, "preempted", 3000)
    run.submit_changed(2, {r"^#SBATCH --partition=.*$": "#SBATCH --partition=low"})
    run.wait_for_step(10)
    nodes = ",".join(run.nodes())
    hog = output_of("sbatch", "--parsable", "--partition=main", "--exclusive", f"--nodelist={nodes}", "--nodes=2",
                    "--output=/dev/null", "--time=2", "--wrap", "sleep 5").strip()
    until("the end of the first launch", lambda: run.actions()[:1] == ["wait"], 60)
    expect(run.launches()[0]["reason"] == "SIGTERM", f"{run.launches()}")
    until("a second launch", lambda: len(run.launches()) > 1, 120)
    expect(run.launches()[1]["job"] == run.launches()[0]["job"], "Slurm's requeue keeps the id")
    run.wait_for_step(run.status()["step"] + 3)
    output_of("scancel", hog, *run.jobs)
    run.wait_for_end()
    run.losses()


# --- a file system that is gone on one node


def file_system_gone(folder, name, position):
    """On the node at that place of the first launch, from then on, for the training alone."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Skipped("no mount can be hidden here")
    disk = folder / name / "disk"
    run = Run(folder, name, 3000, {"run.dir": disk / "run"})
    run.dir = disk / "run"
    disk.mkdir()
    train = folder / "train"
    train.write_text(f'#!/bin/bash\nif [[ $SLURMD_NODENAME == "$(cat {folder}/sick 2>/dev/null)" ]]; then\n'
                     f'  exec unshare --mount bash -c \'mount -t tmpfs none "$0" && exec "$@"\' {disk} {BIN}/octet-train "$@"\n'
                     f'fi\nexec {BIN}/octet-train "$@"\n')
    train.chmod(0o755)
    run.submit_changed(2, {r"^octet_train=.*$": f"octet_train={train}"}, "--spares", 1)
    run.wait_for_checkpoint()
    node = output_of("scontrol", "show", "hostnames", run.launches()[0]["hosts"]).split()[position]
    (folder / "sick").write_text(node)
    run.kill_rank(1)
    until("a third launch", lambda: len(run.launches()) > 2, 120)
    second, third = run.launches()[1:3]
    expect(second["exit_code"] == 76 and f"leave out hosts {node}: cannot read " in second["reason"], f"{second}\n{run.log()}")
    expect(node not in output_of("scontrol", "show", "hostnames", third["hosts"]).split(), f"{third}")
    run.wait_for_step(len(run.metrics()) + 5)
    (run.dir / "stop").touch()
    run.wait_for_end()
    expect(run.status()["exit_code"] == 75 and run.status()["restarts"] >= 1, f"{run.status()}\n{run.log()}")
    expect(not list((run.dir / "checkpoints").glob("*damaged*")), "nothing is renamed")
    run.losses()


@scenario
def a_node_whose_file_system_is_gone_is_left_out(folder):
    file_system_gone(folder, "gone", 1)


@scenario
def the_node_of_rank_0_whose_file_system_is_gone_is_left_out(folder):
    file_system_gone(folder, "gone-of-rank-0", 0)


# --- one run, one owner


def status_text(run):
    return output_of(BIN / "octet", "submit", "status", run.dir)


@scenario
def a_second_start_beside_a_job_is_refused(folder):
    run = Run(folder, "two-starts", 100000)
    (job,) = run.submit(2)
    run.wait_for_checkpoint()
    elsewhere = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]  # where the owner's process cannot be seen, only its job
    for before in ([], elsewhere):
        with run.by_hand(2, before=before) as second:
            expect(second.wait(60) == 64, f"exit {second.returncode}\n{second.text()}")
            expect(re.search(rf"another run is at work there: process \d+ on .*, Slurm job {job} ", second.text()),
                   second.text())
    expect(f"Slurm job {job} " in status_text(run), status_text(run))
    # A job that does not wait for the first one, since it has another name.
    launches = run.launches()
    other = output_of("sbatch", "--parsable", "--job-name=another", "--dependency=", run.dir / "job.sh").strip()
    until("the other job has ended", lambda: run.state_of(other) == "FAILED", 60)
    expect("another run is at work in" in (run.dir / f"job-{other}.out").read_text(), run.log())
    expect(run.launches() == launches and run.status()["state"] == "running", f"{run.status()}")
    # Killed with its script: nobody can say how it ended but Slurm.
    run.kill_all(job)
    until("the job is over", lambda: run.state_of(job) == "FAILED", 60)
    expect(run.status()["state"] == "running" and " lost at step " in status_text(run), status_text(run))
    with run.by_hand(2, before=elsewhere) as third:
        until("a takeover", lambda: "Slurm says that its job is over" in third.text(), 60)
        run.wait_for_step(len(run.metrics()) + 5)
        (run.dir / "stop").touch()
        expect(third.wait(60) == 75, f"exit {third.returncode}\n{third.text()}")
    run.losses()


@scenario
def an_owner_that_wakes_up_leaves_the_run_to_the_one_that_followed(folder):
    run = Run(folder, "woken", 100000, {"comm.timeout_seconds": 600})
    patience = "4"  # seconds; minutes where nobody tests
    (job,) = run.submit_changed(2, {r"^octet=(.*)$": rf"export OCTET_TEST_OWNER_SECONDS={patience}\noctet=\1"})
    run.wait_for_checkpoint()
    ranks = run.ranks().values()
    expect(len(ranks) == 2, f"{run.ranks()}")
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(float(patience) + 1)
    with run.by_hand(2, OCTET_TEST_OWNER_SECONDS=patience) as second:
        until("a takeover", lambda: "it has not been heard of for too long" in second.text(), 60)
        until("a step of the second", lambda: run.metrics() and run.metrics()[-1]["restarts"] == 1, 60)
        for pid in ranks:
            os.kill(pid, signal.SIGCONT)
        until("the job has ended", lambda: run.state_of(job) == "FAILED", 90)
        expect("is another run's now: process" in run.log() and "another run is at work in" in run.log(), run.log())
        expect(run.status()["state"] == "running", f"the second's: {run.status()}")
        run.wait_for_step(len(run.metrics()) + 25)
        (run.dir / "stop").touch()
        expect(second.wait(60) == 75, f"exit {second.returncode}\n{second.text()}")
        expect(" E " not in second.text(), second.text())
    run.losses()


@scenario
def a_job_that_is_cancelled_while_it_waits_is_named(folder):
    run = Run(folder, "cancelled-pending", 50)
    (job,) = run.submit(2, "--hold")
    expect("was cancelled before it began" not in status_text(run), status_text(run))
    output_of("scancel", job)
    until("the job is cancelled", lambda: run.state_of(job) == "CANCELLED", 30)
    expect(f"{job} was cancelled before it began" in status_text(run), status_text(run))


# --- what ends with the process that asked for it


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
exec unshare --mount bash -c '
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


def contained(folder, runtime):
    """The preflight, octet job and the ranks, which are started again after one was killed."""
    if subprocess.run(["unshare", "--mount", "chroot", "/", "true"], capture_output=True).returncode:
        raise Skipped("no root of its own can be made here")
    image, place = folder / "octet.sif", folder / "apptainer"
    (image / "opt/octet/bin").mkdir(parents=True)
    place.mkdir()
    for program in ("octet", "octet-train"):
        shutil.copy(BIN / program, image / "opt/octet/bin")
    shutil.copytree(ROOT / "configs", image / "opt/octet/share/octet/configs")
    (place / "apptainer").write_text(APPTAINER.replace("@PLACE@", str(place)))
    (place / "apptainer").chmod(0o755)
    if runtime == "pyxis":
        (place / "srun").write_text(PYXIS.replace("@PLACE@", str(place)).replace("@SRUN@", shutil.which("srun")))
        (place / "srun").chmod(0o755)
    home = folder / "home"  # from which it is submitted
    home.mkdir()
    run = Run(folder, "contained", 600, {"data.train": folder.parent / "tokens"})
    text = output_of(BIN / "octet", "submit", run.config, "--cluster", "local", "--nodes", 2, "--cluster.container.image", image,
                     "--cluster.container.runtime", runtime, "--cluster.launcher.preflight", "true", cwd=home,
                     env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"})
    run.jobs = re.findall(r"\d+", re.search(r"^submitted ([0-9, ]+) on", text, re.M).group(1))
    script = (run.dir / "job.sh").read_text()
    expect(str(BIN) not in script, f"the job knows the host's programs\n{script}")
    run.wait_for_checkpoint()
    for pid in run.ranks().values():
        root = pathlib.Path(f"/proc/{pid}/root")
        expect((root / "opt/octet/bin/octet-train").exists() and not (root / "root").exists(), "the ranks are not in the container")
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


# --- running them


def traces_of(folder):
    """What tells why: the nodes and jobs of Slurm, the launches and the end of the log of every run."""
    text = ""
    for command in (["sinfo", "--Node", "--long"], ["squeue", "--all"], ["scontrol", "show", "jobs"]):
        text += "\n" + subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    for path in sorted([*folder.glob("**/job/launches.jsonl"), *folder.glob("**/job-*.out")]):
        text += f"\n{path.relative_to(folder)}:\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:]) + "\n"
    return text


def attempt(name, folder, trial):
    """(result, text, seconds) of one try, in a folder of its own."""
    start = time.monotonic()
    mine = pathlib.Path(folder) / (name if trial == 1 else f"{name}-{trial}")
    mine.mkdir()
    for suffix in (".bin", ".idx"):
        os.symlink(pathlib.Path(folder) / f"tokens{suffix}", mine / f"tokens{suffix}")
    try:
        SCENARIOS[name](mine)
        result, text = "passed", ""
    except Skipped as reason:
        result, text = "skipped", str(reason)
    except Exception:  # a scenario fails, the others go on
        result, text = "failed", traceback.format_exc() + traces_of(mine)
    return result, text, time.monotonic() - start


def attempts(name, folder):
    """A scenario that fails is tried once more, and both tries are told: processes are killed at moments that nobody
    chooses, beside other work on two cores."""
    for trial in (1, 2):
        result, text, seconds = attempt(name, folder, trial)
        print(f"{result:<8} {seconds:6.1f} s  {name}{'' if trial == 1 else ', second try'}", flush=True)
        if text:
            print("    " + text.replace("\n", "\n    "), flush=True)
        if result != "failed":
            break
    return {"name": name, "status": "RUN", "result": "SKIPPED" if result == "skipped" else "COMPLETED",
            **({"failures": [{"failure": text}]} if result == "failed" else {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave folder and cluster as they are")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--report")
    parser.add_argument("--gtest_output", help="json:FILE, as GoogleTest has it")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SCENARIOS))
        return 0
    names = options.names or list(SCENARIOS)
    unknown = [n for n in names if n not in SCENARIOS]
    if unknown:
        parser.error(f"unknown: {unknown}; --list")
    folder = tempfile.mkdtemp(prefix="octet-slurm-")
    os.environ.update(OCTET_CLUSTER=f"{folder}/cluster", OCTET_CLUSTER_PORT=str(free_ports(20)),
                      SLURM_CONF=f"{folder}/cluster/slurm.conf", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    results = []

    def end(number, _):  # the cluster ends with this process; scenarios are not waited for
        subprocess.run([CLUSTER, "end"], check=False)
        remove(folder)
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        print(output_of(CLUSTER, "start", "--nodes", 12), flush=True)
        prepare_data(folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda n: attempts(n, folder), names))
    finally:
        if options.keep:
            print(f"left in {folder}")
        else:
            subprocess.run([CLUSTER, "stop"], check=False)
            remove(folder)
    failed = sum("failures" in r for r in results)
    skipped = sum(r["result"] == "SKIPPED" for r in results)
    report = options.report or (options.gtest_output or "").removeprefix("json:")
    if report:
        pathlib.Path(report).write_text(json.dumps({"tests": len(results), "failures": failed, "testsuites": [
            {"name": "Slurm", "tests": len(results), "failures": failed, "testsuite": results}]}))
    print(f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or len(results) != len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
