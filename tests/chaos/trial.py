"""A trial: a run that is never interrupted, and the same one interrupted again and again until it is finished."""
import pathlib
import random
import subprocess
import time

import end_checks
from damage import damage_newest
from interruptions import Plan, carry_out, draw_plan, wait_for
from run_directory import RunDirectory
from settings import draw_layout, draw_settings
from start_checks import Ended, check_start
from starts import Start, train_command

UNDISTURBED = 2  # starts that nobody interrupts, of which the first has to finish; the second comes to a finished run


class NotTried(Exception):
    """The run that nobody interrupts does not finish, or the program cannot be started."""


def prepare_data(programs, folder):
    text = pathlib.Path(folder) / "text.txt"
    text.write_text("".join(f"{i} is a number and {i * i % 997} is another.\n" for i in range(6000)))
    subprocess.run([programs.octet, "prepare", "--input", text, "--output", text.with_name("tokens")], check=True,
                   capture_output=True)


class Trial:
    def __init__(self, programs, seed, folder, say=print):
        self.programs, self.seed, self.say = programs, seed, say
        self.folder = pathlib.Path(folder)
        self.settings = draw_settings(random.Random(f"{seed} settings"))
        self.layout = self.settings.layout
        self.directory, self.reference = RunDirectory(self.folder / "run"), RunDirectory(self.folder / "reference")
        self.damaged_folders = {}  # inode by step
        self.exact_until = self.settings.steps
        self.violations, self.starts, self.kinds = [], 0, []
        self.rng = random.Random(f"{seed} starts")
        self.changes_layout = self.rng.random() < 0.4  # the others are compared to the bit until their end
        self.reference_seconds = 0.0
        model = "".join(f"{key}: {value}\n" for key, value in self.settings.model.items())
        (self.folder / "model.yaml").write_text(model)

    def command(self, directory, layout, options=None, fault=None):
        data = {"model": self.folder / "model.yaml", "data.train": self.folder.parent / "tokens"}
        options = {**self.settings.options, **data, **(options or {})}
        return train_command(self.programs, directory.path, layout, options, fault)

    def run(self):
        self.run_reference()
        for number in range(1, self.rng.randint(4, 8)):
            # A generator for each start: what is drawn does not depend on how the ones before went.
            self.interrupted_start(random.Random(f"{self.seed} start {number}"), number)
            if self.is_finished():
                break
        for _ in range(UNDISTURBED):
            before = self.metrics_bytes() if self.is_finished() else None
            self.start(Plan("none"))
            if before is not None:
                self.found(end_checks.check_started_again(before, self.metrics_bytes()))
        if self.is_finished():
            self.found(end_checks.check_finished(self.directory, self.reference, self.settings, self.exact_until,
                                                 self.programs.octet))
            self.say(f"  finished; to the bit up to step {self.exact_until} of {self.settings.steps}")
        return self.violations

    def run_reference(self):
        begin = time.monotonic()
        command = self.command(self.reference, self.layout, {"checkpoint.interval": "1000"})
        start = Start(command, self.folder / "reference.log")
        try:
            code = start.wait(self.reference)
        finally:
            start.end()
        self.reference_seconds = time.monotonic() - begin
        if code != 0:
            raise NotTried(f"the uninterrupted run ended with {code}: {start.log.text[-600:]}")

    def interrupted_start(self, rng, number):
        plan_rng, damage_rng, layout_rng = (random.Random(rng.random()) for _ in range(3))
        if number > 1 and damage_rng.random() < 0.4:
            damage = damage_newest(self.directory.checkpoints(), self.damaged(), damage_rng)
            if damage:
                step, way, path = damage
                self.damaged_folders[step] = self.directory.checkpoints()[step].stat().st_ino
                self.kinds.append(way)
                self.say(f"  {way} {path.relative_to(self.directory.path)}")
        if number > 1 and self.changes_layout and layout_rng.random() < 0.5:
            self.layout = draw_layout(layout_rng, self.layout)
            self.kinds.append("other layout")
            self.say(f"  other layout: {self.layout}")
        self.start(draw_plan(plan_rng, self.layout.ranks))

    def start(self, plan):
        """One start, interrupted as planned, and what is wrong with it."""
        self.starts += 1
        self.kinds.append(plan.kind)
        was_finished = self.is_finished()
        before, damaged, lines = set(self.directory.checkpoints()), self.damaged(), self.directory.metrics()
        log = self.folder / f"start-{self.starts}.log"
        fault = (plan.rank, plan.fault) if plan.fault else None
        start = Start(self.command(self.directory, self.layout, plan.options(), fault), log)
        second = None
        try:
            carry_out(plan, start, self.directory, self.reference_seconds)
            if plan.kind == "second start":
                second = self.second_start(plan, start)
            code = start.wait(self.directory)
            left = start.wait_for_ranks()
        finally:
            start.end()
        if start.log.says("HYDU_create_process"):
            raise NotTried(f"octet-train cannot be started (is it being built?): {start.log.text[-300:]}")
        if plan.kind == "stop file" and code != 75:  # it came too late, and would stop the next start
            (self.directory.path / "stop").unlink(missing_ok=True)
        # A run that has finished is left as it is.
        since = 0 if was_finished and start.log.says("; nothing was left to do") else start.began
        ended = Ended(plan, self.settings, self.directory, code, start.log, before, damaged, self.damaged(), lines,
                      self.directory.status(since), left, second)
        self.say(f"  start {self.starts}: {plan}: exit code {code}, {ended.state or 'no status'}, "
                 f"step {self.directory.last_step()}")
        self.found(check_start(ended))
        self.note_layout(ended)

    def damaged(self):
        """Steps of the checkpoints that were damaged here, and neither set aside nor written anew since."""
        return {step for step, folder in self.directory.checkpoints().items()
                if self.damaged_folders.get(step) == folder.stat().st_ino}

    def second_start(self, plan, start):
        """Its code and its log."""
        wait_for(plan, start, self.reference_seconds)
        second = Start(self.command(self.directory, self.layout), f"{start.log_path}.second")
        try:
            return second.wait(self.directory), second.log
        finally:
            second.end()

    def note_layout(self, ended):
        """From where on losses are those of another layout than the reference's."""
        logs = [ended.log, *([ended.second[1]] if ended.second else [])]
        if self.layout == self.settings.layout:
            return
        for log in logs:
            if log.resumed is not None:
                self.exact_until = min(self.exact_until, log.resumed)
            elif log.trained:
                self.exact_until = 0

    def found(self, texts):
        self.violations += [f"start {self.starts}: {text}" for text in texts]

    def is_finished(self):
        return (self.directory.status() or {}).get("state") == "finished"

    def metrics_bytes(self):
        path = self.directory.path / "metrics.jsonl"
        return path.read_bytes() if path.exists() else b""
