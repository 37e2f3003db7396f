"""Ways to interrupt a start, and the moments. All that is random is drawn before the start, so that a seed draws the
same plan however fast the machine is."""
import dataclasses
import signal
import time

from starts import send

WEIGHTS = {  # how often each kind is drawn
    "none": 2, "kill one": 5, "kill all": 4, "kill launcher": 3, "signal all": 8, "signal one": 5, "signal launcher": 3,
    "signal then kill": 3, "pause": 4, "freeze": 2, "stop file": 3, "wall time": 2, "write refused": 9,
    "kill within a write": 7, "short write": 1, "second start": 3,
}
FAULTS = {"write refused": ["enospc", "erofs", "eio", "zero"], "kill within a write": ["kill", "torn"],
          "short write": ["short"]}
STOPPING = {"signal all", "signal one", "stop file", "wall time"}  # the run is asked to end early
KILLING = {"kill one", "kill all", "kill launcher", "signal then kill", "kill within a write"}
REQUESTS = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]

# Where a rank stands still for good, the others find it after so many seconds.
SHORT_TIMEOUTS = {"comm.timeout_seconds": 10, "comm.start_timeout_seconds": 25, "comm.checkpoint_timeout_seconds": 15}


@dataclasses.dataclass
class Plan:
    kind: str
    moment: str = "time"  # time, begin (of the training), save or commit
    part: float = 0.0  # of the time of the reference, for moment time
    nth: int = 1  # save or commit
    delay: float = 0.0  # seconds after the moment
    rank: int = 0
    number: int = signal.SIGTERM
    fault: str = ""  # OCTET_FAULT, of that rank
    pause: float = 0.0  # seconds
    wall_seconds: int = 0
    early: bool = False  # found out: the program had not said a word when it was interrupted
    void: bool = False  # found out: it had ended before
    last_step: int | None = None  # found out: the newest line of metrics.jsonl after a signal or the file stop

    def options(self):
        if self.kind == "freeze":
            return SHORT_TIMEOUTS
        return {"train.max_wall_time": f"0:00:{self.wall_seconds:02}"} if self.kind == "wall time" else {}

    def __str__(self):
        if self.kind in FAULTS:
            return f"{self.kind} ({self.fault} on rank {self.rank})"
        if self.kind == "wall time":
            return f"wall time of {self.wall_seconds} s"
        if self.kind == "none":
            return "not interrupted"
        where = f"{self.part:.2f} of the time" if self.moment == "time" else f"{self.moment} {self.nth}"
        which = f" by {signal.Signals(self.number).name}" if "signal" in self.kind else ""
        return f"{self.kind}{which} (rank {self.rank}) at {where} + {self.delay:.2f} s"


def draw_plan(rng, ranks):
    kinds = {kind: weight for kind, weight in WEIGHTS.items() if ranks > 1 or kind != "freeze"}
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    plan = Plan(kind, rng.choice(["time", "time", "begin", "save", "commit"]), rng.uniform(0, 1.1),
                rng.choice([1, 1, 2, 3]), rng.choice([0, 0.02, 0.1]) * rng.random(), rng.randrange(ranks),
                rng.choice(REQUESTS), pause=rng.uniform(0.05, 2), wall_seconds=rng.randint(1, 4))
    if kind in FAULTS:
        plan.fault = f"{rng.choice(FAULTS[kind])}:{int(10 ** rng.uniform(0, 2.5))}"
    if kind == "second start" and rng.random() < 0.4:
        plan.moment, plan.part = "time", 0.0
    return plan


def wait_for(plan, start, reference_seconds):
    words = {"begin": "run directory:", "save": ": started, training", "commit": ": committed,"}.get(plan.moment)
    limit = plan.part * reference_seconds if words is None else max(3.0, 3 * reference_seconds)
    count, deadline = 1 if plan.moment == "begin" else plan.nth, time.monotonic() + limit
    while start.lives() and time.monotonic() < deadline:
        if words and start.log.text.count(words) >= count:
            break
        time.sleep(0.005)
    time.sleep(plan.delay)


def _chosen(plan, ranks):
    """The processes that the plan means."""
    if plan.kind in ("kill all", "signal all", "signal then kill"):
        return list(ranks.values())
    return [ranks[plan.rank]] if plan.rank in ranks else []


def carry_out(plan, start, directory, reference_seconds):
    """Interrupts a start that goes on. A second start is the trial's, and faults come by themselves."""
    if plan.kind in ("none", "wall time", "second start") or plan.kind in FAULTS:
        return
    wait_for(plan, start, reference_seconds)
    plan.early = not start.log.text
    if plan.kind == "stop file":
        plan.void = not directory.path.is_dir()
        if not plan.void:
            (directory.path / "stop").touch()
    elif "launcher" in plan.kind:
        start.process.send_signal(signal.SIGKILL if plan.kind == "kill launcher" else plan.number)
    else:
        _interrupt_ranks(plan, _chosen(plan, start.ranks()))
    if plan.kind in STOPPING and not plan.void:
        plan.last_step = directory.last_step()


def _interrupt_ranks(plan, processes):
    plan.void = not processes
    first = {"pause": signal.SIGSTOP, "freeze": signal.SIGSTOP, "kill one": signal.SIGKILL, "kill all": signal.SIGKILL}
    for pid in processes:
        send(pid, first.get(plan.kind, plan.number))
    if plan.kind in ("pause", "signal then kill"):
        time.sleep(plan.pause if plan.kind == "pause" else plan.pause / 4)
        for pid in processes:
            send(pid, signal.SIGCONT if plan.kind == "pause" else signal.SIGKILL)
