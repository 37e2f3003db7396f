"""What a run directory says after it was copied, and what is told where nothing can be written there."""
import contextlib
import json
import shutil
import subprocess

from harness import BIN, Run, Skipped, expect, output_of, scenario, until


def status_of(directory):
    return output_of(BIN / "octet", "submit", "status", directory)


@scenario
def a_copied_run_directory_is_a_run_of_its_own(folder):
    run = Run(folder, "copied", 20)
    run.submit(2)
    run.wait_for_end()
    run.expect_finished()
    original, (job,) = run.dir, run.jobs
    run.dir = run.folder / "copy"
    shutil.copytree(original, run.dir)
    text = status_of(run.dir)
    expect(f"copy     of {original}, whose jobs {job} stand" in text and "jobs     none of its own yet" in text, text)
    saved = f"saved    {run.dir}/checkpoints/step-000020"
    expect(saved in text, f"no {saved}\n{text}")
    run.submit(2, "--train.steps", 40, what=run.dir)
    run.steps = 40
    run.wait_for_end()
    run.expect_finished()
    expect(run.actions() == ["finish"] * 2, f"{run.launches()}")
    text = status_of(run.dir)
    expect(f"jobs     {run.jobs[0]}\n" in text and f"{run.dir}/checkpoints/step-000040" in text, text)
    expect(f"jobs     {job}\n" in status_of(original) and "copy " not in status_of(original), status_of(original))


@contextlib.contextmanager
def small_disk(folder):
    place = folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], capture_output=True).returncode:
        raise Skipped("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def fill(place):
    with open(place / "filler", "wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while filler.write(bytes(size)) == size:
                    pass


@scenario
def a_disk_that_is_full_when_a_job_begins_ends_it(folder):
    """Nothing that a node says of itself can be kept there: it would be taken for silent, and asked until the time limit."""
    with small_disk(folder) as place:
        run = Run(folder, "full-at-start", 3000, {"run.dir": place / "run"})
        run.dir = place / "run"
        run.submit(2, "--hold", OCTET_TEST_POLL_SECONDS="1")
        (run.dir / "status.json").write_text(json.dumps({"state": "stopped", "reason": "SIGUSR1", "exit_code": 75, "step": 7,
                                                         "steps": 3000}))
        fill(place)
        output_of("scontrol", "release", *run.jobs)
        run.wait_for_end(90)
        expect(run.state_of(run.jobs[0]) == "FAILED", run.state_of(run.jobs[0]))
        expect("No space left on device" in run.status().get("reason", ""), f"{run.status()}\n{run.log()}")
        expect(f"{run.jobs[0]} has failed and written nothing" in status_of(run.dir), status_of(run.dir))


@scenario
def a_program_that_is_away_for_a_moment_ends_no_job(folder):
    """As while a newer version is put in its place."""
    run = Run(folder, "away", 20)
    octet = folder / "octet"
    octet.write_text(f'#!/bin/bash\nexec {BIN}/octet "$@"\n')
    run.submit_changed(2, {r"^octet=.*$": f"octet={octet}"}, OCTET_TEST_POLL_SECONDS="3")
    until("it is asked in vain", lambda: "octet cannot be run; again in 3 s" in run.log(), 60)
    octet.chmod(0o755)
    run.wait_for_end()
    run.expect_finished()


@scenario
def a_job_whose_folder_cannot_be_made_says_why(folder):
    run = Run(folder, "no-folder", 20)
    run.submit(2, "--hold", OCTET_TEST_POLL_SECONDS="1")
    (run.dir / "job").touch()
    output_of("scontrol", "release", *run.jobs)
    run.wait_for_end()
    expect("cannot be made: " in run.status().get("reason", ""), f"{run.status()}\n{run.log()}")
    expect("was moved or removed" not in run.log(), run.log())


@scenario
def a_job_whose_output_cannot_be_opened_is_told_by_status(folder):
    run = Run(folder, "no-output", 20)
    (job,) = run.submit(2, "--hold")
    (run.dir / f"job-{job}.out").mkdir()
    output_of("scontrol", "release", job)
    until("Slurm has ended it", lambda: run.state_of(job) == "FAILED", 60)
    expect(f"{job} has failed and written nothing" in status_of(run.dir), status_of(run.dir))
