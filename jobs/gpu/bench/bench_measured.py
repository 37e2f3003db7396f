"""What jobs/gpu/bench.sh has measured, as its tables read it."""

import functools

import bench_rows
from bench_rows import MODELS, PRECISIONS, STACKS, TOKENS


def ratio(a, b, digits=2):
    return f"{a / b:.{digits}f}" if a and b else "-"


def percent(a, b):
    return f"{100 * a / b:.0f} %" if a and b else "-"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


class Measured:
    """The last result of each (program, row), and of each build; of several devices, those of the last line."""

    def __init__(self, results):
        self.device = results[-1]["device"]
        self.results = {(r["by"], r["row"]): r for r in results if r["device"] == self.device and "error" not in r}
        self.of_build = {(r["by"], r["row"], r["commit"]): r for r in results if r["device"] == self.device and "error" not in r}
        self.errors = {(r["by"], r["row"]): r["error"] for r in results if r["device"] == self.device and "error" in r}
        for key in self.results:
            self.errors.pop(key, None)
        # As octet-bench-gpu gave them: dense, in FLOP/s, from the table that octet-train has.
        self.bf16_peak, self.fp8_peak = next((r["peaks"] for r in reversed(results) if r["device"] == self.device
                                              and r.get("peaks")), (None, None))
        self.commits = set()
        copy = self.get("octet", "copy")
        self.copy = copy["bytes"] / copy["seconds"] if copy else None

    def get(self, by, row, build=None):
        """`build`: a commit, of which the result must be."""
        found = self.of_build.get((by, row, build)) if build else self.results.get((by, row))
        if found:
            self.commits.add(found.get("code", found["commit"]))
        return found

    def table(self, make, *arguments):
        """What `make` writes, and the builds where its rows are of several."""
        self.commits = set()
        text = make(self, *arguments)
        if text and len(self.commits) > 1:
            text += f"Rows of several builds: {'; '.join(sorted(self.commits))}.\n\n"
        return text

    def seconds(self, by, row):
        found = self.get(by, row)
        return found["seconds"] if found else None

    def op_seconds(self, row):
        """Of an op of Octet's; of one that was done in several launches when it was measured, theirs together."""
        if (seconds := self.seconds("octet", row["row"])) is not None:
            return seconds
        parts = [self.seconds("octet", part["row"]) for part in bench_rows.apart(row)]
        return sum(parts) if parts and all(parts) else None

    def block_ops(self, model, *options):
        """Those of the program; of before they were measured, those of its builds until then."""
        ops = bench_rows.block_ops(model, *options)
        if all(self.op_seconds(row) for _, row, _ in ops):
            return ops
        return bench_rows.block_ops(model, *options, left=False)

    def floor(self, row):
        """Seconds that FLOPs and bytes allow; None where peak or copy rate is not known."""
        peak = self.fp8_peak if row.get("mode", "bf16") != "bf16" else self.bf16_peak
        if peak is None or self.copy is None:
            return None
        return max(row["flops"] / peak, row["bytes"] / self.copy)


def block_seconds(m, by, model, precision, micro_batches=1, gradients=None, beside=None, multiprocessors=None, build=None):
    """Seconds of a block for one sequence, from the two heights of a stack in the last build that has both, and the
    memory of the higher one. `gradients`: bf16 takes the rows whose weight gradients are in bf16; `beside`: true takes
    those with the update beside the forward pass, on `multiprocessors` in place of the default; `build`: only rows of
    this commit."""
    prefix = f"step/{model}/{precision}/"
    suffix = f"-blocks/{micro_batches}-micro-batches" if micro_batches > 1 else "-blocks"
    suffix += f"/{gradients}-gradients" if gradients else ""
    suffix += f"/beside-{beside}" if beside else ""
    suffix += f"/multiprocessors-{multiprocessors}" if multiprocessors else ""
    heights = {}  # of each build, the last one last
    for program, row, of in m.of_build:
        middle = row[len(prefix):-len(suffix)]
        if program == by and row == prefix + middle + suffix and middle.isdigit() and build in (None, of):
            heights.setdefault(of, {})[int(middle)] = row
    both = [of for of, rows in heights.items() if len(rows) > 1]
    if not both:
        return None
    rows = heights[both[-1]]
    low, high = min(rows), max(rows)
    lower, higher = (m.get(by, rows[n], both[-1]) for n in (low, high))
    seconds = (higher["seconds"] - lower["seconds"]) / (high - low) / micro_batches
    return {"seconds": seconds, "memory": higher.get("memory_bytes"), "blocks": high, "build": both[-1]}


def together(m, found_by):
    """Entries that are compared should be of one build, since two calls may have met different cards. Takes them from
    the build that has most of them, the last of several; one that it lacks is taken from the last build that has it.
    `found_by`: {name: function of build (None: the last one that has it) that gives an entry or None}. Returns
    {name: entry}."""
    shown = set(m.commits)
    builds = dict.fromkeys(build for _, _, build in m.of_build)
    there = {build: sum(bool(find(build=build)) for find in found_by.values()) for build in builds}
    m.commits = shown  # without those that were only looked at
    fullest = max(reversed(there), key=there.get, default=None)  # the first of equals
    return {name: find(build=fullest) or find() for name, find in found_by.items()}


def whole_seconds(m, by, model, precision, micro_batches=1, build=None, **options):
    """The same of a model that is measured whole. `options`: of bench_rows.step."""
    layers = MODELS[model]["layers"]
    found = m.get(by, bench_rows.step(model, precision, layers, micro_batches, **options)["row"], build)
    if found is None:
        return None
    return {"seconds": found["seconds"] / micro_batches, "memory": found.get("memory_bytes"), "blocks": layers, "build": found["commit"]}


def seconds_of(m, by, model, *arguments, **options):
    """Of a block, or of the whole model where that is what is measured."""
    return (block_seconds if model in STACKS else whole_seconds)(m, by, model, *arguments, **options)


def torch_seconds(m, octet, model, precision, micro_batches=1):
    """PyTorch's to compare Octet's with: of the same build, which is of the same call or the same day, where there is
    one."""
    same = octet and seconds_of(m, "torch", model, precision, micro_batches, build=octet["build"])
    return same or seconds_of(m, "torch", model, precision, micro_batches)


def step_entries(m, model, micro_batches):
    """{(program, precision): its step, as step_entry has it}, to be compared with each other."""
    return together(m, {(by, p): functools.partial(step_entry, m, by, model, p, micro_batches)
                        for p in PRECISIONS for by in ("octet", "torch")})


def step_entry(m, by, model, precision, micro_batches, build=None):
    """Seconds, FLOPs of them, and tokens/s of a GPU that has the whole model's blocks to do."""
    shape = MODELS[model]
    if model in STACKS:
        found = block_seconds(m, by, model, precision, micro_batches, build=build)
        flops, times = TOKENS * bench_rows.block_flops(shape), shape["layers"] * bench_rows.TENSOR_PARALLEL.get(model, 1)
    else:
        found = whole_seconds(m, by, model, precision, micro_batches, build)
        flops, times = TOKENS * bench_rows.model_flops(shape), 1
    if found is None or found["seconds"] <= 0:
        return None
    return {**found, "tokens": TOKENS / found["seconds"] / times, "rate": flops / found["seconds"]}
