"""Chains, and jobs that are added to them."""
from harness import Run, expect, output_of, scenario
from slurm_fails import finds_a_sick_node


def two_chains(folder, name, steps):
    """One job runs, and three wait: one of its chain, and two that were added by the directory's name."""
    run = Run(folder, name, steps)
    run.submit(2, "--chain", 2)
    run.wait_for_step(5)
    run.add(2, "--chain", 2)
    return run


def expect_one_job(run, action):
    expect([(launch["job"], launch["action"]) for launch in run.launches()] == [(run.jobs[0], action)], f"{run.launches()}")
    states = [run.state_of(job) for job in run.jobs[1:]]
    expect(states == ["CANCELLED"] * 3, f"{states}\n{run.log()}")


@scenario
def a_chain_that_was_added_ends_with_the_finished_run(folder):
    run = two_chains(folder, "added-finish", 600)
    run.wait_for_end()
    run.expect_finished()
    expect_one_job(run, "finish")


@scenario
def a_chain_that_was_added_ends_with_the_stopped_run(folder):
    run = two_chains(folder, "added-stop", 1000000)
    (run.dir / "stop").touch()
    run.wait_for_end()
    expect(run.status().get("exit_code") == 75, f"{run.status()}")
    expect_one_job(run, "stop")


@scenario
def a_job_with_more_steps_goes_on_after_the_others(folder):
    run = Run(folder, "added-steps", 400)
    run.submit(2, "--chain", 2)
    (more,) = run.add(2, "--train.steps", 600)
    run.steps = 600
    run.wait_for_end(240)
    run.expect_finished()
    expect([launch["job"] for launch in run.launches()] == [run.jobs[0], more], f"{run.launches()}\n{run.log()}")
    expect(run.state_of(run.jobs[1]) == "CANCELLED", "that one had nothing to do")


@scenario
def the_rest_of_a_chain_avoids_a_sick_node(folder):
    """Which an idle one is given first, again and again; no job more than the chain has is submitted for it."""
    run = Run(folder, "chain-sick", 40)
    run.submit_changed(2, finds_a_sick_node(folder))
    run.jobs.append(output_of("sbatch", "--parsable", run.dir / "job.sh").strip())
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["exclude", "finish"], f"{run.launches()}\n{run.log()}")
    expect([launch["job"] for launch in run.launches()] == run.jobs, f"{run.launches()}")
    node = (folder / "sick").read_text().strip()
    hosts = output_of("scontrol", "show", "hostnames", run.launches()[-1]["hosts"]).split()
    expect(node not in hosts and len(hosts) == 2, f"{node}: {hosts}")
    expect("goes on as job" not in run.log(), run.log())
