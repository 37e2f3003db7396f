"""What docs/run-directories.md and docs/checkpoints.md promise of every start, however it was interrupted. Each check
returns what is wrong with an ended start, a text for each."""
import dataclasses
import re
import signal

from interruptions import KILLING, STOPPING, Plan
from run_directory import Log, RunDirectory
from settings import Settings

ENDED_EARLY = r"SIGTERM|SIGINT|SIGUSR1|max_wall_time|stop"  # reasons of exit code 75
STEPS_TO_HEAR = 5  # a request that comes so many steps before the end stops the run
UNSAVED = {130, 143}  # told to end while it started, with nothing saved yet
DOCUMENTED = {0, 64, 70, 71, 75, 76, 77} | UNSAVED  # of runs that save


@dataclasses.dataclass
class Ended:
    """An ended start, and what stood in the directory before it."""
    plan: Plan
    settings: Settings
    directory: RunDirectory
    code: int | None  # of mpiexec; None: it hung
    log: Log
    before: set = dataclasses.field(default_factory=set)  # steps of the committed checkpoints
    damaged: set = dataclasses.field(default_factory=set)  # those of them that the trial damaged
    still_damaged: set = dataclasses.field(default_factory=set)  # afterwards, under their names
    lines_before: list = dataclasses.field(default_factory=list)  # of metrics.jsonl
    status: dict | None = None  # that this start wrote
    left: list = dataclasses.field(default_factory=list)  # ranks that outlived mpiexec
    second: tuple | None = None  # code and log of a second start beside it

    @property
    def state(self):
        return (self.status or {}).get("state")

    @property
    def over(self):
        """Whether its work was done, however its processes went then."""
        return self.state in ("finished", "stopped")


def code_tells(ended):
    """Whether mpiexec's code is Octet's. Hydra has codes of its own where it was itself signalled, where it ends ranks
    after one was killed, and where ranks die of different signals, whose numbers it combines."""
    return ended.plan.kind not in KILLING | {"freeze", "signal launcher"}


def died_of_signals(code):
    return code is not None and (code < 0 or 0 < code < 32)


def check_end(ended):
    """No hang, and nobody is left."""
    if ended.code is None:
        yield "it hangs"
    if ended.left:
        yield f"ranks {ended.left} outlived mpiexec, which ended with {ended.code}"


def expected_codes(ended):
    plan = ended.plan
    if plan.kind in STOPPING:
        if plan.void:
            return {0}
        heard = plan.last_step is not None and ended.settings.steps - plan.last_step >= STEPS_TO_HEAR
        told = plan.kind in ("signal all", "signal one") and plan.number != signal.SIGUSR1
        unsaved = {128 + plan.number} if told and not ended.before - ended.damaged else set()
        return ({75} if heard else {0, 75}) | unsaved
    return {"write refused": {0, 64, 70}, "second start": {0, 64}}.get(plan.kind, {0})


def check_code(ended):
    if ended.code is None or not code_tells(ended) or ended.code in expected_codes(ended):
        return
    if ended.plan.kind in STOPPING and died_of_signals(ended.code) and (ended.plan.early or ended.over):
        return  # before the program could take it, or after all was done
    yield f"exit code {ended.code}, expected one of {sorted(expected_codes(ended))}"


def check_status(ended):
    """status.json fits the code, and gives a reason."""
    status, code = ended.status, ended.code if code_tells(ended) else None
    if ended.code == 0 and ended.plan.kind not in ("second start", "signal launcher") and ended.state != "finished":
        yield f"exit code 0, and status.json says {status}"
    if ended.code in (0, 75) and ended.plan.kind == "signal launcher" and not ended.over:
        yield f"mpiexec ended with {ended.code} after a signal, and status.json says {status}"
    if code in {75} | UNSAVED and ended.state != "stopped":
        yield f"exit code {code}, and status.json says {status}"
    refused = ended.plan.kind == "write refused" and ended.plan.rank == 0  # which may not be able to write it
    if code in (70, 71, 76, 77) and ended.state != "failed" and not refused:
        yield f"exit code {code}, and status.json says {status}"
    if ended.plan.kind == "freeze" and ended.state == "running":
        yield "a rank stood still, and status.json still says running"
    if not status or ended.state == "running":
        return
    told = status["exit_code"]
    stopped = {75} if status.get("checkpoint") else UNSAVED
    fitting = {"finished": {0}, "stopped": stopped, "failed": DOCUMENTED - {0, 75} - UNSAVED}.get(ended.state, set())
    other = code in DOCUMENTED and code != told and ended.plan.kind != "second start" and not refused
    if told not in fitting or other:
        yield f"exit code {code}, and status.json has state {ended.state} with exit_code {told}"
    if not status["reason"]:
        yield f"status.json has state {ended.state} without a reason"
    if ended.state == "finished" and status["step"] != ended.settings.steps:
        yield f"finished at step {status['step']} of {ended.settings.steps}"
    if ended.state == "stopped":
        yield from _check_stopped(ended, status)


def _check_stopped(ended, status):
    if not re.search(ENDED_EARLY, status["reason"]):
        yield f"stopped for a reason that is not documented: {status['reason']}"
    if status["exit_code"] == 75 and not (ended.directory.path / status.get("checkpoint", "none")).is_dir():
        yield f"stopped with 75 without a checkpoint: {status}"


def check_reason(ended):
    """A failure is told in the log, and once in failure.txt."""
    if code_tells(ended) and ended.code in (64, 70, 71, 76, 77) and ended.plan.kind != "second start":
        if not ended.log.errors:
            yield f"exit code {ended.code} without an error in the log"
    if ended.state == "failed" and len(ended.directory.failures()) != 1 and ended.plan.kind != "write refused":
        yield f"failed, and failure.txt has {len(ended.directory.failures())} lines: {ended.directory.failures()[:3]}"
    if ended.plan.kind in ("none", "pause", "short write") and ended.code == 0:
        errors = [line for line in ended.log.errors if "is DAMAGED" not in line]
        if errors:
            yield f"finished with errors in the log: {errors[:3]}"
    if re.search(r"Segmentation fault|terminate called|Assertion .* failed|double free|corrupted", ended.log.text):
        yield "it crashed"


def check_resumption(ended):
    """It goes on from the newest whole checkpoint, and sets aside damaged ones."""
    whole = ended.before - ended.damaged
    resumed, newest = ended.log.resumed, max(whole, default=None)
    if resumed is None:
        if whole and (ended.log.says("BEGINNING AGAIN") or 1 in ended.log.trained):
            yield f"it began again, though checkpoints {sorted(whole)} are whole"
        return
    if resumed != newest and ended.plan.kind != "second start":
        yield f"it went on from step {resumed}; the newest whole checkpoint is {newest} of {sorted(ended.before)}"
    for step in sorted(step for step in ended.damaged & ended.before if step > resumed):
        if not ended.log.says(f"step-{step:06} is DAMAGED"):
            yield f"checkpoint {step} is damaged, and the log does not say so"
        if step not in ended.directory.set_aside() and ended.plan.kind not in KILLING | {"write refused"}:
            yield f"checkpoint {step} is damaged and was not set aside"


def check_checkpoints(ended):
    """What was announced is there unless the rules removed it; a finished run has no others."""
    now = set(ended.directory.checkpoints())
    announced = ended.log.committed | (ended.second[1].committed if ended.second else set())
    live = (ended.before - ended.damaged) | ((announced | now) - ended.still_damaged)
    lost = ended.settings.kept(live) - now
    if lost:
        yield f"checkpoints {sorted(lost)} are gone; there were {sorted(live)}, and there are {sorted(now)}"
    if ended.code == 0 and ended.plan.kind == "none" and not ended.log.says("old checkpoints stay"):
        extra = now - ended.settings.kept(now - ended.still_damaged) - ended.still_damaged
        if extra:
            yield f"checkpoints {sorted(extra)} were not removed; there are {sorted(now)}"


def same_line(line):
    return line.get("step"), line.get("time"), line.get("loss")


def check_metrics(ended):
    """A line of metrics.jsonl stays, or moves to metrics.discarded.jsonl; only the last may be torn."""
    lines, broken = ended.directory.lines("metrics.jsonl")
    there = {same_line(line) for line in lines + ended.directory.lines("metrics.discarded.jsonl")[0]}
    gone = [line["step"] for line in ended.lines_before if same_line(line) not in there]
    if gone:
        yield f"lines of steps {gone} vanished from metrics.jsonl"
    steps = [line["step"] for line in lines]
    if steps != list(range(1, len(steps) + 1)):
        yield f"metrics.jsonl has the steps {steps}"
    if broken and (len(broken) > 1 or ended.plan.kind not in KILLING | {"write refused"}):
        yield f"metrics.jsonl has lines that are no JSON: {broken[:2]}"


def check_owner(ended):
    """One owner at a time, who lets the directory go at a clean end."""
    owner = ended.directory.owner()
    if ended.code in {0, 75} | UNSAVED and code_tells(ended) and not (owner or {}).get("released"):
        yield f"it ended with {ended.code}, and owner.json is not released: {owner}"
    if not ended.second:
        return
    code, log = ended.second
    refused = [text for number, text in ((ended.code, ended.log), (code, log)) if number == 64]
    if sorted([ended.code or 0, code or 0]) not in ([0, 0], [0, 64]) or code is None:
        yield f"two starts at once ended with {ended.code} and {code}"
    if refused and not refused[0].says("another run is at work there"):
        yield "one of two starts at once was refused, and does not say why"
    if ended.log.trained and log.trained:
        yield "two starts at once both trained"


CHECKS = [check_end, check_code, check_status, check_reason, check_resumption, check_checkpoints, check_metrics,
          check_owner]


def check_start(ended):
    return [text for check in CHECKS for text in check(ended)]
