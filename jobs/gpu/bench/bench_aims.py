"""What a step near its limit is to reach on an H100, beside what was measured: the table of aims."""

import statistics

import bench_rows
from bench_measured import block_seconds, seconds_of, step_entries, table, torch_seconds
from bench_rows import MODELS, STACKS

# Octet's speed over PyTorch's, of one micro-batch a step: of a block, and of the whole 1.8B model.
SPEED = {"bf16": 1.10, "float8": 1.25}
SPEED_OF_1_8B = 1.22
# float8's speed over bf16's of a block, 4 micro-batches a step, so that each has a quarter of the optimizer.
GAIN = {"8b": 1.40, "70b": 1.60, "405b-tp4": 1.64}
GEMM = 1.0  # Octet's speed over PyTorch's, in the median
# Milliseconds of a micro-batch of 12 blocks of 8B, 4 a step.
BLOCKS, CASTS = 12, {None: 12.5, "delayed": 4.0}
CAST_LABELS = ("abs-max", "casts of", "transposes of")
RATE, CACHE = 0.85, 50e6  # of the copy's, of kernels that move more than the cache holds
DELAYED_SCALES = 10.0  # microseconds
START = 5.0  # seconds


class Aims:
    """Rows of the table. A figure is held to its aim as it is printed."""

    def __init__(self):
        self.rows = []

    def at_least(self, what, value, aim, note=""):
        self.add(what, value and round(value, 2), lambda x: f"{x:.2f}", f"{aim:.2f}", lambda x: x >= aim, note)

    def at_most(self, what, value, aim, unit, digits=1, note=""):
        self.add(what, value and round(value, digits), lambda x: f"{x:.{digits}f} {unit}", f"at most {aim:g} {unit}",
                 lambda x: x <= aim, note)

    def add(self, what, value, show, aim, holds, note):
        measured = "not measured" if value is None else show(value) + note
        self.rows.append([what, measured, aim, "-" if value is None else "yes" if holds(value) else "**no**"])


# With what a block, or the 1.8B model, is measured once more, where it was.
WITH = {"gradients in bf16": {"gradients": "bf16"}, "the update beside": {"beside": "true"},
        "both": {"gradients": "bf16", "beside": "true"}}


def speeds(m, aims):
    def over_torch(model, precision):
        entries = step_entries(m, model, 1)
        octet, torch = (entries[by, precision] for by in ("octet", "torch"))
        return torch["seconds"] / octet["seconds"] if octet and torch else None

    def add_with_options(model, precision, aim):
        for name, options in WITH.items():
            for n in (None, *bench_rows.MULTIPROCESSORS):
                octet = seconds_of(m, "octet", model, precision, **options, multiprocessors=n)
                torch = torch_seconds(m, octet, model, precision)
                if octet and torch:
                    on = f" on {n} multiprocessors" if n else ""
                    aims.at_least(f"the same with {name}{on} ({model}, {precision})", torch["seconds"] / octet["seconds"], aim)

    for precision in reversed(bench_rows.PRECISIONS):
        for model in STACKS:
            aims.at_least(f"a block of {model}, {precision}: speed relative to PyTorch", over_torch(model, precision), SPEED[precision])
            add_with_options(model, precision, SPEED[precision])
    aims.at_least("1.8b whole, float8: speed relative to PyTorch", over_torch("1.8b", "float8"), SPEED_OF_1_8B)
    add_with_options("1.8b", "float8", SPEED_OF_1_8B)


def gains(m, aims):
    for model in STACKS:
        entries = step_entries(m, model, 4)
        bf16, float8 = (entries["octet", p] for p in bench_rows.PRECISIONS)
        aims.at_least(f"a block of {model}, 4 micro-batches: speed of float8 relative to bf16",
                      bf16["seconds"] / float8["seconds"] if bf16 and float8 else None, GAIN[model])
        beside = [block_seconds(m, "octet", model, p, 4, beside="true") for p in bench_rows.PRECISIONS]
        if all(beside):
            aims.at_least(f"the same with the update beside, in both ({model})", beside[0]["seconds"] / beside[1]["seconds"], GAIN[model])


def gemm_ratios(m):
    """PyTorch's seconds over Octet's, by row: outputs of both are in bf16, so not of the weights' gradients."""
    rows = [bench_rows.linear_gemm(o, i, form, mode) for model in STACKS for _, o, i in bench_rows.linears(MODELS[model])
            for form in ("forward", "grad_input") for mode in ("bf16", "fp8")]
    both = {row["row"]: (m.seconds("torch", row["row"]), m.seconds("octet", row["row"])) for row in rows}
    return {name: torch / octet for name, (torch, octet) in both.items() if torch and octet}


def gemms(m, aims):
    found = gemm_ratios(m)
    median = statistics.median(found.values()) if found else None
    note = f" (median of {len(found)}; {min(found.values()):.2f} to {max(found.values()):.2f})" if found else ""
    aims.at_least("GEMM, forward and grad_input in bf16 and fp8: speed relative to PyTorch", median, GEMM, note)


def casts(m, aims):
    for recipe, aim in CASTS.items():
        ops = [(row, count) for label, row, count in m.block_ops(MODELS["8b"], "float8", 4, recipe)
               if label.startswith(CAST_LABELS)]
        seconds = [m.op_seconds(row) for row, _ in ops]
        total = BLOCKS * sum(s * count for s, (_, count) in zip(seconds, ops)) if all(seconds) else None
        aims.at_most(f"casts of {BLOCKS} blocks of 8b, {recipe or 'tensorwise'}, one micro-batch of 4", total and 1e3 * total,
                     aim, "ms")
    scales = m.seconds("octet", bench_rows.delayed_scales(18 * MODELS["8b"]["layers"], 1024)["row"])
    aims.at_most("delayed_scales of 8b's 576 casts, with record_amax", scales and 1e6 * scales, DELAYED_SCALES, "us")


def kernels(m, aims):
    """The slowest against the copy, of those whose data does not stay in the cache."""
    rates = {}
    for row in bench_rows.kernel_rows():
        seconds = m.seconds("octet", row["row"])
        if seconds and m.copy and row["bytes"] > CACHE and row["op"] not in ("copy", "fill_normal"):
            rates[row["row"].removeprefix("kernel/")] = row["bytes"] / seconds / m.copy
    slowest = min(rates, key=rates.get) if rates else None
    reached = sum(round(rate, 2) >= RATE for rate in rates.values())
    note = f" ({slowest}; {reached} of {len(rates)} reach it)" if rates else ""
    aims.at_least("memory-bound kernels that move over 50 MB: rate of the slowest relative to the copy", rates.get(slowest), RATE, note)


def start(m, aims):
    aims.at_most(f"a run of {BLOCKS} blocks of 8b with embedding and head: buffers and initial weights",
                 m.seconds("octet", bench_rows.start_row()["row"]), START, "s", digits=2)


def table_of(m):
    aims = Aims()
    for part in (speeds, gains, gemms, casts, kernels, start):
        part(m, aims)
    if all(row[1] == "not measured" for row in aims.rows):
        return ""
    return "### Aims\n\n" + table(["what", "measured", "aim", "reached"], aims.rows) + "\n"
