"""Time limits, and what Slurm takes back."""

from harness import BIN, Run, expect, output_of, same_bits, scenario, until


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
