"""Markdown tables of the results of jobs/gpu/bench.sh, for docs/gpu-results.md."""

import os
import re

import bench_aims
import bench_gemm_tables
import bench_rows
import bench_step_tables
from bench_measured import Measured, percent, ratio, table
from bench_rows import MODELS


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


# --- attention, kernels ----------------------------------------------------------------------------------------


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


def documents(m):
    """Against the same row without documents, of whose work they leave the share that the squares of lengths have."""
    rows = []
    for lengths in bench_rows.DOCUMENTS:
        for direction in ("forward", "backward"):
            times = [m.seconds("octet", bench_rows.attention(MODELS["8b"], direction, documents=lengths, by=by)["row"])
                     for by in (None, "cudnn")]
            whole = m.seconds("octet", bench_rows.attention(MODELS["8b"], direction)["row"])
            if any(times):
                shown = [cell for s in times for cell in (f"{s * 1e6:,.0f}" if s else "-", ratio(s, whole, 3))]
                rows.append([lengths, direction, f"{bench_rows.share_of_squares(lengths):.3f}"] + shown)
    if not rows:
        return ""
    return ("### Attention within documents, 8b, rows of 8,192 tokens\n\n" + table(
        ["lengths", "direction", "share of the squares", "us, our kernels", "of the time without documents", "us, cuDNN",
         "of the time without documents"], rows) + "\nMixed: 64, 128, 256, 512 and 1,600 tokens, and four times that, "
        "again and again. Without documents cuDNN computes.\n\n")


def kernels(m):
    rows = []
    for row in bench_rows.kernel_rows() + bench_rows.few_multiprocessors_rows() + bench_rows.former_kernel_rows():
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


def failures(m):
    if not m.errors:
        return ""
    rows = [[by, row, error.splitlines()[0][:120].replace("|", "/")] for (by, row), error in m.errors.items()]
    return "### Rows that failed\n\n" + table(["program", "row", "error"], rows)


def render(results):
    m = Measured(results)
    steps, gemm = bench_step_tables, bench_gemm_tables
    parts = [header(m, results) + "\n", m.table(bench_aims.table_of), m.table(steps.steps, 1), m.table(steps.steps, 4),
             m.table(steps.narrow_gradients), m.table(steps.updates_beside),
             m.table(steps.variants), m.table(steps.recipe_steps), m.table(gemm.gemms), m.table(gemm.ways),
             m.table(gemm.fast_gemms), m.table(gemm.room_gemms), m.table(gemm.recipe_gemms), m.table(attentions), m.table(documents), m.table(kernels),
             m.table(steps.where_all), failures(m)]
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
