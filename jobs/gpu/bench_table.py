"""Markdown tables of the results of jobs/gpu/bench.sh, for docs/gpu-results.md."""

import os
import re

import bench_rows
from bench_rows import FORMS, MODELS, PRECISIONS, STACKS, TOKENS

# fp8 over bf16 and tokens/s a GPU in bf16 and fp8, as published for PyTorch FSDP2 with torchao float8 on 128 to 512
# H100 (PyTorch blog, 2024-11-25), sequence 8192.
PUBLISHED = {"1.8b": (1.18, 29000, 35000), "8b": (1.28, 8000, 10000), "70b": (1.50, 956, 1430),
             "405b-tp4": (1.52, 149, 227)}


def ratio(a, b, digits=2):
    return f"{a / b:.{digits}f}" if a and b else "-"


def percent(a, b):
    return f"{100 * a / b:.0f} %" if a and b else "-"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


class Measured:
    """The last result of each (program, row); of several devices, that of the last line."""

    def __init__(self, results):
        self.device = results[-1]["device"]
        self.results = {(r["by"], r["row"]): r for r in results if r["device"] == self.device and "error" not in r}
        self.errors = {(r["by"], r["row"]): r["error"] for r in results if r["device"] == self.device and "error" in r}
        for key in self.results:
            self.errors.pop(key, None)
        # As octet-bench-gpu gave them: dense, in FLOP/s, from the table that octet-train has.
        self.bf16_peak, self.fp8_peak = next((r["peaks"] for r in reversed(results) if r["device"] == self.device
                                              and r.get("peaks")), (None, None))
        self.commits = set()
        copy = self.get("octet", "copy")
        self.copy = copy["bytes"] / copy["seconds"] if copy else None

    def get(self, by, row):
        found = self.results.get((by, row))
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

    def floor(self, row):
        """Seconds that FLOPs and bytes allow; None where peak or copy rate is not known."""
        peak = self.fp8_peak if row.get("mode", "bf16") != "bf16" else self.bf16_peak
        if peak is None or self.copy is None:
            return None
        return max(row["flops"] / peak, row["bytes"] / self.copy)


def copies(m):
    """The rate that fractions are of, and by which way; PyTorch's beside it."""
    text = ""
    for by, label in (("octet", ""), ("torch", "PyTorch's ")):
        row = m.get(by, "copy")
        if row:
            text += f"; {label}copy {row['bytes'] / row['seconds'] / 1e9:,.0f} GB/s (bytes read and written"
            text += f"; fastest: {row['way']})" if "way" in row else ")"
    return text


def libraries_by(results, by):
    """{library: {version: {path: rows}}} of a program's rows."""
    found = {}
    for result in results:
        for name, library in (result.get("libraries") or {}).items() if result["by"] == by else ():
            paths = found.setdefault(name, {}).setdefault(library["version"], {})
            paths[library["path"]] = paths.get(library["path"], 0) + 1
    return found


def libraries(results):
    """What each program had loaded, once for all of its rows, and where the two differ."""
    programs = {label: libraries_by(results, by) for label, by in (("Octet", "octet"), ("PyTorch", "torch"))}
    if not any(programs.values()):
        return "\nWhich CUDA libraries the programs had loaded was not recorded.\n"
    rows = []
    for name in sorted(set().union(*programs.values())):
        cells = {label: [f"{version} `{path}` ({count} rows)" for version, paths in sorted(found.get(name, {}).items())
                         for path, count in sorted(paths.items())] for label, found in programs.items()}
        versions = [set(found[name]) for found in programs.values() if name in found]
        differ = "**yes**" if len(set().union(*versions)) > 1 else "no" if len(versions) > 1 else "-"
        rows.append([name] + ["<br>".join(cells[label]) or "not loaded" for label in programs] + [differ])
    text = "\n" + table(["library loaded", *(f"{label}'s rows" for label in programs), "versions differ"], rows)
    return text + ("\nTimes of rows whose libraries differ compare the libraries too.\n" if any(row[-1] == "**yes**" for row in rows) else "")


def header(m, results):
    mine = [r for r in results if r["device"] == m.device]
    unique = lambda key: ", ".join(sorted({str(r[key]) for r in mine if key in r}))
    dates = sorted(r["date"][:10] for r in mine)
    text = f"{m.device}, driver {unique('driver') or 'not recorded'}, commit {unique('commit')}, " + " to ".join(
        dict.fromkeys((dates[0], dates[-1])))
    torch = unique("torch")
    text += f"; PyTorch {torch}" if torch else ""
    text += copies(m)
    if m.bf16_peak:
        text += f"; dense peaks {m.bf16_peak / 1e12:,.0f} TFLOP/s in bf16, {m.fp8_peak / 1e12:,.0f} in fp8"
    text += "\n" + libraries(mine)
    commands = "".join(f"    {run}\n" for run in dict.fromkeys(r["run"] for r in mine if "run" in r))
    return text + (f"\nMeasured by\n\n{commands}" if commands else "")


# --- training steps --------------------------------------------------------------------------------------------------


def block_seconds(m, by, model, precision, micro_batches=1):
    """Seconds of a block of one sequence from the two heights of a stack, and the memory of the higher one."""
    prefix = f"step/{model}/{precision}/"
    suffix = f"-blocks/{micro_batches}-micro-batches" if micro_batches > 1 else "-blocks"
    heights = {}
    for program, row in m.results:
        middle = row[len(prefix):-len(suffix)]
        if program == by and row == prefix + middle + suffix and middle.isdigit():
            heights[int(middle)] = m.get(program, row)
    if len(heights) < 2:
        return None
    low, high = min(heights), max(heights)
    seconds = (heights[high]["seconds"] - heights[low]["seconds"]) / (high - low) / micro_batches
    return {"seconds": seconds, "memory": heights[high].get("memory_bytes"), "blocks": high}


def recipe_steps(m):
    """Of each stack a block in every recipe, against tensorwise and bf16 of the same program."""
    rows = []
    for model in STACKS:
        seconds = {label: (block_seconds(m, "octet", model, label) or {}).get("seconds")
                   for label in PRECISIONS + [bench_rows.label_of("float8", r) for r in bench_rows.RECIPES]}
        for recipe in bench_rows.RECIPES:
            mine = seconds[bench_rows.label_of("float8", recipe)]
            if mine:
                rows.append([model, recipe, f"{mine * 1e3:.2f}", ratio(seconds["float8"], mine), ratio(seconds["bf16"], mine)])
    if not rows:
        return ""
    head = ["model", "recipe", "ms", "speed, of tensorwise", "speed, of bf16"]
    return "### Training step of the other recipes, Octet, one block\n\n" + table(head, rows) + "\n"


def whole_seconds(m, by, model, precision, micro_batches):
    layers = MODELS[model]["layers"]
    found = m.get(by, bench_rows.step(model, precision, layers, micro_batches)["row"])
    if found is None:
        return None
    return {"seconds": found["seconds"] / micro_batches, "memory": found.get("memory_bytes"), "blocks": layers}


def step_entry(m, by, model, precision, micro_batches):
    """Seconds, FLOPs of them, and tokens/s of a GPU that has the whole model's blocks to do."""
    shape = MODELS[model]
    if model in STACKS:
        found = block_seconds(m, by, model, precision, micro_batches)
        flops, times = TOKENS * bench_rows.block_flops(shape), shape["layers"] * bench_rows.TENSOR_PARALLEL.get(model, 1)
    else:
        found = whole_seconds(m, by, model, precision, micro_batches)
        flops, times = TOKENS * bench_rows.model_flops(shape), 1
    if found is None or found["seconds"] <= 0:
        return None
    return {**found, "tokens": TOKENS / found["seconds"] / times, "rate": flops / found["seconds"]}


def gibibytes(entry):
    return f"{entry['memory'] / 2**30:.1f}" if entry and entry["memory"] else "-"


def steps(m, micro_batches):
    speed, gains = [], []
    for model in ["1.8b"] + STACKS:
        entries = {(by, p): step_entry(m, by, model, p, micro_batches) for by in ("octet", "torch") for p in PRECISIONS}
        if not any(entries.values()):
            continue
        show = lambda e, text: text(e) if e else "-"
        for p in PRECISIONS:
            octet, torch = entries["octet", p], entries["torch", p]
            speed.append([model, p, show(octet or torch, lambda e: e["blocks"])] +
                         [show(e, lambda e: f"{e['seconds'] * 1e3:.2f}") for e in (octet, torch)] +
                         [show(e, lambda e: f"{e['tokens']:,.0f}") for e in (octet, torch)] +
                         [percent(e and e["rate"], m.bf16_peak) for e in (octet, torch)] +
                         [gibibytes(octet), gibibytes(torch)] +
                         [ratio(torch and torch["seconds"], octet and octet["seconds"]), "1.10" if p == "float8" else "1.00"])
        gain = lambda by: ratio(*(entries[by, p] and entries[by, p]["seconds"] for p in PRECISIONS))
        published = PUBLISHED[model]
        gains.append([model, gain("octet"), gain("torch"), published[0], f"{published[1]:,} to {published[2]:,}"])
    if not speed:
        return ""
    several = f", {micro_batches} micro-batches a step" if micro_batches > 1 else ""
    text = f"### Training step, sequence {TOKENS}{several}\n\n"
    text += table(["model", "precision", "blocks", "ms, Octet", "ms, PyTorch", "tokens/s, Octet", "tokens/s, PyTorch",
                   "MFU, Octet", "MFU, PyTorch", "GiB, Octet", "GiB, PyTorch", "Octet / PyTorch", "aim"], speed)
    text += ("\nms: of one block and one sequence, from stacks of 1 and of so many blocks; 1.8b: of the whole model and one sequence. "
             "tokens/s: of the whole model's blocks on one GPU (405b-tp4: a quarter of each, on each of four), without "
             "embedding, head and communication; 1.8b: with all. MFU: against the dense bf16 peak, also for float8.\n\n")
    return text + table(["model", "float8 / bf16, Octet", "float8 / bf16, PyTorch", "published gain",
                         "published tokens/s a GPU, bf16 to float8"], gains) + "\n"


# --- GEMM, attention, kernels ----------------------------------------------------------------------------------------


def gemm_cells(m, row):
    """TFLOP/s and fraction of peak of both programs."""
    peak = m.fp8_peak if row["mode"] != "bf16" else m.bf16_peak
    cells = []
    for by in ("octet", "torch"):
        seconds = m.seconds(by, row["row"])
        cells.append(f"{row['flops'] / seconds / 1e12:,.0f} ({percent(row['flops'] / seconds, peak)})" if seconds else "-")
    return cells


def gemm_shapes():
    """(label, form, the row of a mode)."""
    shapes = [(f"square {n}", "forward", lambda mode, n=n: bench_rows.gemm(n, n, n, "forward", mode))
              for n in bench_rows.SQUARES]
    for model in STACKS:
        seen = {}
        for name, o, i in bench_rows.linears(MODELS[model]):
            seen.setdefault((o, i), []).append(name)
        for (o, i), names in seen.items():
            for form in FORMS:
                shapes.append((f"{model} {', '.join(names)}", form,
                               lambda mode, o=o, i=i, form=form: bench_rows.linear_gemm(o, i, form, mode)))
    return shapes


def gemms(m):
    rows = []
    for label, form, of in gemm_shapes():
        cells = [cell for mode in bench_rows.MODES for cell in gemm_cells(m, of(mode))]
        if any(cell != "-" for cell in cells):
            g = of("bf16")
            rows.append([label, form, f"{g['m']} x {g['n']} x {g['k']}"] + cells)
    if not rows:
        return ""
    head = ["linear", "GEMM", "m x n x k"] + [f"{mode}, {by}" for mode in ("bf16", "fp8", "fp8 with casts")
                                              for by in ("Octet", "PyTorch")]
    return "### GEMM, TFLOP/s (fraction of the peak of its format)\n\n" + table(head, rows) + (
        "\nfp8 with casts: the abs-max, scale and cast of both bf16 operands and the product. grad_weight is stored in "
        "fp32 by Octet and in bf16 by PyTorch.\n\n")


def recipe_gemms(m):
    modes = ["fp8", "fp8_casts"] + bench_rows.RECIPE_MODES["grad_input"]
    rows = []
    for label, form, of in gemm_shapes():
        cells = [gemm_cells(m, of(mode))[0] for mode in modes]
        if any(cell != "-" for cell in cells[2:]):
            g = of("fp8")
            rows.append([label, form, f"{g['m']} x {g['n']} x {g['k']}"] + cells)
    if not rows:
        return ""
    head = ["linear", "GEMM", "m x n x k", "one scale", "tensorwise with casts", "delayed with casts", "rowwise",
            "rowwise with casts", "gw_hp", "gw_hp with casts", "blockwise", "blockwise with casts"]
    return "### GEMM of the recipes, Octet, TFLOP/s (fraction of the fp8 peak)\n\n" + table(head, rows) + (
        "\nCasts: of both bf16 operands; delayed has its scales before, so no pass for an abs-max. gw_hp: rowwise_with_gw_hp, "
        "whose forward is rowwise's and whose gradient of the weight bf16's. blockwise: 1 x 128 by 128 x 128, its gradient of the "
        "weight 1 x 128 by 1 x 128.\n\n")


def attentions(m):
    rows = []
    for model, shape in MODELS.items():
        for direction in ("forward", "backward"):
            row = bench_rows.attention(shape, direction)
            octet, torch = (m.seconds(by, row["row"]) for by in ("octet", "torch"))
            if octet or torch:
                rate = lambda s: f"{row['flops'] / s / 1e12:,.0f} ({percent(row['flops'] / s, m.bf16_peak)})" if s else "-"
                rows.append([f"{model} {shape['heads']}:{shape['kv_heads']} heads", direction, rate(octet), rate(torch),
                             ratio(torch, octet)])
    if not rows:
        return ""
    head = ["model", "direction", "Octet", "PyTorch", "Octet / PyTorch"]
    return "### Causal attention, TFLOP/s (fraction of the bf16 peak)\n\n" + table(head, rows) + "\n"


def kernels(m):
    rows = []
    for row in bench_rows.kernel_rows() + bench_rows.former_kernel_rows():
        seconds = m.seconds("octet", row["row"])
        if seconds and row["op"] != "copy":
            rate = row["bytes"] / seconds
            rows.append([row["row"].removeprefix("kernel/"), f"{row['bytes'] / 1e6:,.1f}", f"{seconds * 1e6:,.1f}",
                         f"{rate / 1e9:,.0f}", ratio(rate, m.copy)])
    if not rows:
        return ""
    return "### Memory-bound kernels\n\n" + table(["kernel", "MB it must move", "us", "GB/s", "of the copy's rate (aim 0.85)"],
                                                  rows) + (
        "\ncross_entropy must move 6 bytes an element; where a GPU has no clusters of blocks it asks for 10, as all did up to "
        "dd20a42. quantize_rowwise must read once; both forms together read twice, and up to dd20a42 each alone did. "
        "embedding_backward: `first` zeroes the table, for the first micro-batch of a step; `add` is the others'.\n\n")


# --- where the time goes ---------------------------------------------------------------------------------------------


def where(m, model, precision, micro_batches):
    parts, missing = {}, False
    for label, row, count in bench_rows.block_ops(MODELS[model], precision, micro_batches):
        seconds, floor = m.seconds("octet", row["row"]), m.floor(row)
        missing = missing or seconds is None or floor is None
        part = parts.setdefault(label, [0, 0])
        part[0] += count * (seconds or 0)
        part[1] += count * (floor or 0)
    if missing:
        return ""
    total, floors = (sum(p[i] for p in parts.values()) for i in (0, 1))
    rows = [[label, f"{s * 1e3:.3f}", percent(s, total), f"{f * 1e3:.3f}", ratio(f, s)]
            for label, (s, f) in sorted(parts.items(), key=lambda item: -item[1][0])]
    rows.append(["all", f"{total * 1e3:.3f}", "100 %", f"{floors * 1e3:.3f}", ratio(floors, total)])
    whole = block_seconds(m, "octet", model, precision, micro_batches)
    if whole:
        rows.append(["a block of the training step", f"{whole['seconds'] * 1e3:.3f}", percent(whole["seconds"], total),
                     "", ratio(floors, whole["seconds"])])
    several = f", {micro_batches} micro-batches a step" if micro_batches > 1 else ""
    return f"#### {model}, {precision}{several}\n\n" + table(["part", "ms", "of all", "floor, ms", "floor / time"], rows) + "\n"


def where_all(m):
    text = "".join(where(m, model, precision, micro_batches) for model in STACKS for precision in PRECISIONS
                   for micro_batches in (1, 4))
    if not text:
        return ""
    return ("### Where the time of a block goes\n\nEach op timed alone at its shape; its floor is the larger of FLOPs over "
            "peak and bytes over the copy's rate. One block, one sequence, with the sequence's share of what is done once a "
            "step: the optimizer and the casts of weights.\n\n" + text)


def failures(m):
    if not m.errors:
        return ""
    rows = [[by, row, error.splitlines()[0][:120].replace("|", "/")] for (by, row), error in m.errors.items()]
    return "### Rows that failed\n\n" + table(["program", "row", "error"], rows)


def render(results):
    m = Measured(results)
    parts = [header(m, results) + "\n", m.table(steps, 1), m.table(steps, 4), m.table(recipe_steps), m.table(gemms), m.table(recipe_gemms), m.table(attentions),
             m.table(kernels), m.table(where_all), failures(m)]
    return "".join(parts).rstrip("\n")


# --- the page --------------------------------------------------------------------------------------------------------

BEGIN, END = "<!-- bench.sh --table: begin -->", "<!-- bench.sh --table: end -->"
PLACE = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)}\n)", re.DOTALL)


def read_page(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def has_place(page):
    return os.path.exists(page) and PLACE.search(read_page(page)) is not None


def write_into(page, text):
    """Puts the tables between the page's two marks, in the place of those that stand there."""
    whole = PLACE.sub(lambda _: f"\n{text}\n\n", read_page(page), count=1)
    with open(page, "w", encoding="utf-8") as file:
        file.write(whole)
