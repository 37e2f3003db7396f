"""What jobs do when all goes well, and what a login shell leaves in their environment."""
import re
import subprocess

from harness import BIN, ROOT, Run, close, expect, output_of, same_bits, scenario, until


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
    """All that print but the slash; with a backslash in --output sbatch leaves %j as it stands."""
    name = "".join(map(chr, range(32, 127))).replace("/", "")
    run = Run(folder, "characters", 10)
    run.dir = run.folder / name
    refused = subprocess.run([BIN / "octet", "submit", run.config, "--cluster", run.cluster, "--nodes", "1", "--run.dir", run.dir],
                             capture_output=True, text=True)
    expect(refused.returncode == 64 and "run.dir = " in refused.stderr and "has a backslash" in refused.stderr, refused.stdout + refused.stderr)
    expect(not run.dir.exists(), "a refused run has a directory")
    run.dir = run.folder / name.replace("\\", "")
    (job,) = run.submit(2, "--run.dir", run.dir, "--hold")
    expect(f" {job} PENDING" in output_of(BIN / "octet", "submit", "status", run.dir), "a job of the run is not in its status")
    expect(f"cancelled {job}\n" == output_of(BIN / "octet", "submit", "cancel", run.dir), "a job of the run is not cancelled")
    run.submit(2, "--run.dir", run.dir, "--chain", 2)
    run.wait_for_end()
    run.expect_finished()
    expect(run.state_of(run.jobs[1]) == "CANCELLED", f"the chain's end is not cancelled: {run.state_of(run.jobs[1])}")
    expect(sorted(p.name for p in run.folder.iterdir()) == sorted([run.dir.name, run.config.name, "tiny.yaml"]),
           f"{list(run.folder.iterdir())}")


def restarts_on_other_sizes(folder, name, settings, cluster, sizes):
    """On as many nodes as `sizes` says, one after the other."""
    whole = Run(folder, f"{name}-whole", 300, settings)
    whole.mpiexec(4)
    run = Run(folder, name, 300, settings)
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
