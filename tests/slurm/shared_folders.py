"""A file system that is gone on one node, and a run directory that two want."""
import os
import re
import signal
import subprocess
import time

from harness import BIN, Run, Skipped, expect, output_of, scenario, until


# --- a file system that is gone


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


# --- a run directory that is moved


@scenario
def a_run_directory_that_is_moved_under_its_job_is_told(folder):
    run = Run(folder, "moved", 100000)
    jobs = run.submit(2, "--chain", 2)
    run.wait_for_checkpoint()
    there, run.dir = run.dir, run.folder / "elsewhere"
    there.rename(run.dir)
    until("the first job has ended", lambda: run.state_of(jobs[0]) == "FAILED", 90)
    told = [line for line in run.log().splitlines() if f"the run directory is no longer at {there}: it was moved" in line]
    expect(len(told) == 1 and "octet submit DIR" in told[0], run.log())
    complaints = [line for line in run.log().splitlines() if "octet job after" in line or "No such file" in line]
    expect(not [line for line in complaints if "view.h5" not in line], run.log())  # which may just be written
    run.jobs = jobs[1:]
    run.wait_for_end()  # Slurm cannot open its output
    expect(not there.exists(), f"made anew: {sorted(there.rglob('*'))}")
    steps = len(run.losses())
    text = output_of(BIN / "octet", "submit", run.dir, "--cluster", "local", "--nodes", 2)
    run.jobs = re.findall(r"^submitted (\d+) on", text, re.M)
    run.wait_for_step(steps + 20)
    (run.dir / "stop").touch()
    run.wait_for_end()
    expect(run.status()["exit_code"] == 75 and run.status()["restarts"] == 1, f"{run.status()}\n{run.log()}")
    run.losses()
    expect(not there.exists(), f"made anew: {sorted(there.rglob('*'))}")


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
