"""Commands of Slurm that fail, hang or refuse."""
import getpass
import os
import shutil
import time

from harness import BIN, Run, expect, output_of, scenario, until


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
    for words in ("squeue --noheader --jobs", "scontrol show job", "scontrol show topology"):
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
        before = run.log().count("scontrol did not succeed")
        until(f"another try, {mode}", lambda n=before: run.log().count("scontrol did not succeed") > n, 30)
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
    expect(not [w for w in words if w[0] == "scancel"], f"{asked}")


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


def expect_that_it_came_back_without_a_node(run, folder, held):
    """A new job would have waited for the one that is held."""
    run.wait_for_end()
    run.expect_finished()
    expect(run.state_of(held) == "CANCELLED", "it has nothing left to do")
    expect(run.actions() == ["exclude", "finish"], f"{run.launches()}\n{run.log()}")
    expect({launch["job"] for launch in run.launches()} == set(run.jobs), f"a requeue keeps the job's id: {run.launches()}")
    hosts = output_of("scontrol", "show", "hostnames", run.launches()[-1]["hosts"]).split()
    expect((folder / "sick").read_text().strip() not in hosts and len(hosts) == 2, f"{run.launches()}")


@scenario
def a_sick_node_is_left_out_beside_a_held_job(folder):
    """For which a new job would wait, as it is submitted later. So it is where a job may submit none."""
    run = Run(folder, "held", 40)
    run.submit_changed(2, finds_a_sick_node(folder))
    held = output_of("sbatch", "--parsable", "--hold", run.dir / "job.sh").strip()
    expect_that_it_came_back_without_a_node(run, folder, held)


@scenario
def a_sick_node_is_left_out_beside_a_job_whose_reservation_has_ended(folder):
    """Slurm holds that job, in a state that squeue does not count as pending."""
    run = Run(folder, "reservation", 40)
    changes = finds_a_sick_node(folder)
    changes[r"^octet=.*$"] += f"; until [[ -e {folder}/has-ended ]]; do sleep 0.2; done"
    run.submit_changed(2, changes)
    end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 15))
    reservation = output_of("scontrol", "create", "reservation", "StartTime=now", f"EndTime={end}",
                            f"Users={getpass.getuser()}", "NodeCnt=2", "Flags=IGNORE_JOBS").split()[-1]
    held = output_of("sbatch", "--parsable", f"--reservation={reservation}", run.dir / "job.sh").strip()
    until("the job is held", lambda: run.state_of(held) == "RESV_DEL_HOLD")
    (folder / "has-ended").touch()
    expect_that_it_came_back_without_a_node(run, folder, held)
