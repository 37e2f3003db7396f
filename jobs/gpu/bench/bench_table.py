"""Markdown tables of the results of jobs/gpu/bench.sh, for docs/gpu-results.md and the pages in docs/gpu-results/."""

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


def values(mine, key):
    return ", ".join(sorted({str(r[key]) for r in mine if key in r}))


def dates_and_torch(mine):
    dates = sorted(r["date"][:10] for r in mine)
    torch = values(mine, "torch")
    return " to ".join(dict.fromkeys((dates[0], dates[-1]))) + (f"; PyTorch {torch}" if torch else "")


def header(m, results):
    mine = [r for r in results if r["device"] == m.device]
    text = f"{m.device}, driver {values(mine, 'driver') or 'not recorded'}, commit {values(mine, 'commit')}, "
    text += dates_and_torch(mine) + copies(m)
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
        ["lengths", "direction", "share of the squares", "us, our kernels", "time relative to no documents", "us, cuDNN",
         "time relative to no documents"], rows) + "\nIn a row 512-mixed, documents of 64, 128, 256, 512 and 1,600 tokens "
        "follow each other again and again; those of 2048-mixed are four times as long. The time without documents is cuDNN's.\n\n")


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
    return "### Memory-bound kernels\n\n" + table(["kernel", "MB it must move", "us", "GB/s", "rate relative to the copy (aim 0.85)"],
                                                  rows) + (
        "\ncross_entropy must move 6 bytes an element. On a GPU without clusters of blocks it asks for 10, as it did on every GPU "
        "up to dd20a42. quantize_rowwise must read its input once. For both forms together it reads it twice; up to dd20a42 it did "
        "so for one form too. embedding_backward/first zeroes the table, for the first micro-batch of a step; "
        "embedding_backward/add serves the other micro-batches.\n\n")


def failures(m):
    if not m.errors:
        return ""
    rows = [[by, row, error.splitlines()[0][:120].replace("|", "/")] for (by, row), error in m.errors.items()]
    return "### Rows that failed\n\n" + table(["program", "row", "error"], rows)


def summary(m):
    steps = bench_step_tables
    return [m.table(bench_aims.table_of), m.table(steps.steps, 1), m.table(steps.steps, 4), m.table(steps.narrow_gradients),
            m.table(steps.updates_beside), m.table(steps.variants), m.table(steps.recipe_steps)]


def details(m):
    gemm = bench_gemm_tables
    return [m.table(gemm.gemms), m.table(gemm.ways), m.table(gemm.fast_gemms), m.table(gemm.room_gemms),
            m.table(gemm.recipe_gemms), m.table(attentions), m.table(documents), m.table(kernels),
            m.table(bench_step_tables.where_all), failures(m)]


def render(results, part=None):
    """All tables, or one part of them: `summary` has the aims and the steps; `details` has what the programs had loaded, the
    commands, and the tables of single operations."""
    m = Measured(results)
    if part == "summary":
        mine = [r for r in results if r["device"] == m.device]
        parts = [f"{m.device}, {dates_and_torch(mine)}.\n\n"] + summary(m)
    else:
        parts = [header(m, results) + "\n"] + (summary(m) if part is None else []) + details(m)
    return "".join(parts).rstrip("\n")


# --- the page --------------------------------------------------------------------------------------------------------

# A page has all tables between these marks, or one part of them where the first mark names it, as "--table summary: begin".
BEGIN, END = "<!-- bench.sh --table: begin -->", "<!-- bench.sh --table: end -->"
PLACE = re.compile(rf"(<!-- bench\.sh --table(?: (summary|details))?: begin -->\n).*?(?={re.escape(END)}\n)", re.DOTALL)


def read_page(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def has_place(page):
    return os.path.exists(page) and PLACE.search(read_page(page)) is not None


def write_into(page, results):
    """Puts the tables between the page's marks, in the place of those that stand there."""
    whole = PLACE.sub(lambda place: f"{place[1]}\n{render(results, place[2])}\n\n", read_page(page))
    with open(page, "w", encoding="utf-8") as file:
        file.write(whole)
