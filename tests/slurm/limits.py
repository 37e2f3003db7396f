"""Time limits, and what Slurm takes back."""
import pathlib

from harness import BIN, STOP_AT, Run, expect, output_of, same_bits, scenario, until


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


def wait_until_it_is_back(job):
    """In the queue, or running again, since it waits there for seconds only. A requeue undoes what cancels it before."""
    until("Slurm has put it back", lambda: "Restarts=0" not in output_of("scontrol", "show", "job", job), 60)


@scenario
def a_job_that_slurm_ends_at_its_limit_comes_back(folder):
    """As one does whose ranks did not end in time after the signal, which nobody gets here."""
    run = Run(folder, "over-limit", 1000000)
    run.submit_changed(2, {r"^#SBATCH --signal=.*$": "#SBATCH --comment=none", r"^#SBATCH --time=.*$": "#SBATCH --time=1"})
    (job,) = run.jobs
    until("an end at the limit", lambda: run.actions()[:1] == ["requeue"], 150)
    wait_until_it_is_back(job)
    output_of("scancel", job)
    run.wait_for_end()
    expect("Slurm refused" not in run.log(), run.log())


@scenario
def the_lead_is_that_of_the_last_checkpoint(folder):
    # Checkpoints are said to take so long that the script's own clock, not Slurm's signal, must end the launch; the run
    # has more steps than it can take until then.
    run = Run(folder, "lead", 1000000)
    run.submit_changed(2, {r"^#SBATCH --time=.*$": "#SBATCH --time=10", r"^min_lead_seconds=.*$": "min_lead_seconds=590"})
    until("a requeue", lambda: "requeue" in run.actions(), 60)
    expect(run.launches()[0]["reason"] == "SIGUSR1", f"{run.launches()}")
    wait_until_it_is_back(run.jobs[0])
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


def submit_slow_start(run, how):
    """Its ranks open the data as `how` says (tests/jobs/stop_at.cpp); returns when the run is there. A job that octet submit
    sends later has the usual ranks."""
    train = run.folder / "slow-train"
    train.write_text(f'#!/bin/bash\nexec env LD_PRELOAD={STOP_AT} OCTET_STOP_FILE=tokens.idx OCTET_STOP_AT={how} {BIN}/octet-train "$@"\n')
    train.chmod(0o755)
    run.submit_changed(2, {r"^octet_train=.*$": f"octet_train={train}"})
    until("a run that owns its directory", (run.dir / "owner.json").exists, 60)


@scenario
def a_job_that_is_cancelled_while_its_run_starts_ends_without_a_step(folder):
    """Rank 1 stands still until Slurm lets it go on, as it does with all that it tells to end."""
    run = Run(folder, "cancelled-starting", 30)
    submit_slow_start(run, "open")
    until("rank 1 stands still", lambda: any(
        rank == 1 and pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T")
        for (_, rank), pid in run.ranks().items()), 60)
    output_of("scancel", *run.jobs)
    run.wait_for_end()
    status = run.status()
    expect(status.get("state") == "stopped" and status["step"] == 0 and "cancelled" in status["reason"], f"{status}\n{run.log()}")
    (launch,) = run.launches()
    expect((launch["action"], launch["reason"], launch["exit_code"]) == ("stop", "the job was cancelled; SIGTERM", 143), f"{launch}\n{run.log()}")
    run.submit(2, what=run.dir)
    run.wait_for_end()
    run.expect_finished()


@scenario
def a_job_that_is_cancelled_while_its_run_hangs_is_no_lost_one(folder):
    """Slurm kills its script with it, most times before that can say how it ended; then the next one ends its launch."""
    run = Run(folder, "cancelled-hanging", 30)
    submit_slow_start(run, "open_hangs")
    (job,) = run.jobs
    output_of("scancel", job)
    run.wait_for_end()
    told = f"job {job} was cancelled at "
    text = output_of(BIN / "octet", "submit", "status", run.dir)
    expect(told in text and " lost at step " not in text, text)
    run.submit(2, what=run.dir)
    run.wait_for_end()
    run.expect_finished()
    launch = run.launches()[0]
    expect(launch["state"] == "stopped" and launch["action"] == "stop" and launch["ended"], f"{launch}")
    expect(told in launch["reason"] and "killed before they could save anything" in launch["reason"], f"{launch}")
