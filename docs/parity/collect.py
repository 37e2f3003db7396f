#!/usr/bin/env python3
"""Makes the tables of docs/parity from run directories, and keeps what they need in docs/parity/metrics.

Usage: docs/parity/collect.py [OUTPUT | --check]
  OUTPUT   the folder that docs/parity/run.sh filled: its finished runs are copied to metrics/NAME-seedN.csv.
           Without it the tables are made from the metrics that are there.
  --check  says which rows of the tables docs/parity/README.md does not have, and ends with 1 where there are some.
Prints the tables as Markdown and draws docs/parity/recipes.svg (gnuplot). Those of bits per byte come from evaluated.csv,
which was copied from what docs/parity/evaluate.sh printed."""

import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
METRICS = HERE / "metrics"
EVALUATED = HERE / "evaluated.csv"  # bits per byte with the interval, and the difference from bf16 with its own
WINDOW = 20  # steps over which training losses are averaged: one batch's is noisy
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # 97.5 % quantile of t, by the number of seeds

TABLES = {
    "recipes": ("bf16", ["bf16_reordered", "tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"]),
    # Its own bf16, since both ran on another kind of processor than the runs above.
    "blockwise": ("bf16_beside_blockwise", ["blockwise"]),
    # On one H100, whose tensor cores multiply fp8.
    "gpu": ("gpu-bf16", ["gpu-bf16_again", "gpu-tensorwise", "gpu-tensorwise_fast_all", "gpu-rowwise", "gpu-rowwise_with_gw_hp",
                         "gpu-delayed", "gpu-blockwise"]),
    "accumulators": ("short-bf16", ["sums-fp32", "sums-hopper", "sums-hopper_fast", "sums-hopper_slow"]),
}


def copy(output):
    METRICS.mkdir(exist_ok=True)
    for run in sorted(output.iterdir()):
        status = run / "status.json"
        if not status.exists() or json.loads(status.read_text())["state"] != "finished":
            continue
        rows = {}
        for line in (run / "metrics.jsonl").read_text().splitlines():
            row = json.loads(line)
            if "loss" in row or "validation_loss" in row:
                rows.setdefault(row["step"], {}).update(row)
        with open(METRICS / f"{run.name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["step", "loss", "validation_loss"])
            for step, row in sorted(rows.items()):
                writer.writerow([step, f"{row['loss']:.5f}" if "loss" in row else "",
                                 f"{row['validation_loss']:.5f}" if "validation_loss" in row else ""])


def read(name):
    """{seed: [(step, loss, validation loss or None)]}"""
    runs = {}
    for path in sorted(METRICS.glob(f"{name}-seed*.csv")):
        with open(path) as file:
            rows = [(int(r["step"]), float(r["loss"]), float(r["validation_loss"]) if r["validation_loss"] else None)
                    for r in csv.DictReader(file)]
        runs[int(path.stem.rsplit("seed", 1)[1])] = rows
    return runs


def final(rows):
    return [v for _, _, v in rows if v is not None][-1]


def smooth(rows):
    losses = [loss for _, loss, _ in rows]
    return [statistics.fmean(losses[i - WINDOW:i]) for i in range(WINDOW, len(losses) + 1)]


def largest_gap(rows, reference):
    """Of windows of training losses, with its sign, and the step at which its window ends."""
    gaps = [a - b for a, b in zip(smooth(rows), smooth(reference))]
    at = max(range(len(gaps)), key=lambda i: abs(gaps[i]))
    return gaps[at], at + WINDOW


def table(reference_name, names):
    reference = read(reference_name)
    if not reference:
        return None
    finals = [final(rows) for rows in reference.values()]
    lines = [f"`{reference_name}`: validation loss at the end " + ", ".join(f"{v:.4f}" for v in finals) +
             (f"; standard deviation between seeds {statistics.stdev(finals):.4f}" if len(finals) > 1 else ""), "",
             "| run | difference of the last validation loss, by seed | mean ± 95 % interval | largest gap of training loss |",
             "|---|---|---|---|"]
    for name in names:
        runs = {seed: rows for seed, rows in read(name).items() if seed in reference}
        if not runs:
            continue
        gaps = [largest_gap(rows, reference[seed]) for seed, rows in runs.items()]
        gap, step = max(gaps, key=lambda g: abs(g[0]))
        differences = [final(rows) - final(reference[seed]) for seed, rows in runs.items()]
        if len(differences) in STUDENT:
            half = STUDENT[len(differences)] * statistics.stdev(differences) / math.sqrt(len(differences))
            mean = f"{statistics.fmean(differences):+.4f} ± {half:.4f}"
        else:
            mean = f"{statistics.fmean(differences):+.4f}"
        where = f" (step {step})" if gap else ""
        lines.append(f"| `{name}` | " + ", ".join(f"{d:+.4f}" for d in differences) + f" | {mean} | {gap:+.4f}{where} |")
    return "\n".join(lines)


def evaluated(table_name):
    """Rows of a table of bits per byte: a run, and for each column (a seed, a processor) what was measured of it."""
    with open(EVALUATED) as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == table_name]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    shown = lambda row, key: f"{row[key]} [{row[key + '_low']}, {row[key + '_high']}]" if row and row[key] else ""
    lines = []
    for run in dict.fromkeys(row["run"] for row in rows):
        of = {row["column"]: row for row in rows if row["run"] == run}
        cells = [f"`{run}`"] + [shown(of.get(c), key) for c in columns for key in ("bits", "difference")]
        lines.append(("| " + " | ".join(cells) + " |").replace("  ", " "))
    return "\n".join(lines)


def missing_rows(texts):
    """Rows that the page does not have."""
    page = (HERE / "README.md").read_text(encoding="utf-8")
    return [line for text in texts for line in text.splitlines() if line.startswith("| `") and line not in page.splitlines()]


def draw():
    """Gaps to bf16 of the smoothed training loss, a panel a recipe, a line a seed."""
    beside = {name: reference for table in ("recipes", "blockwise") for reference in TABLES[table][:1]
              for name in TABLES[table][1]}
    names = [name for name in beside if read(name)]
    if not names:
        return
    script = [f"set terminal svg size 1000,{180 * len(names) + 40} font 'Sans,12' background 'white'",
              f"set output '{HERE / 'recipes.svg'}'", f"set multiplot layout {len(names)},1 title "
              f"'Training loss minus that of bf16, mean of {WINDOW} steps; a line a seed'", "set grid lc rgb '#dddddd'",
              "set border 3", "set tics nomirror", "set yrange [-0.03:0.03]", "set key off"]
    for name in names:
        lines = []
        reference = read(beside[name])
        for seed, rows in sorted(read(name).items()):
            if seed not in reference:
                continue
            gaps = [a - b for a, b in zip(smooth(rows), smooth(reference[seed]))]
            block = f"$d{len(script)}_{seed}"
            script.append(f"{block} << E\n" + "\n".join(f"{i + WINDOW} {g:.5f}" for i, g in enumerate(gaps)) + "\nE")
            lines.append(f"{block} using 1:2 with lines lw 1.3")
        script += [f"set ylabel '{name}' noenhanced", "plot 0 lc rgb '#666666', " + ", ".join(lines)]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(__doc__)
        return
    check = words == ["--check"]
    if words and not check:
        if len(words) > 1 or not pathlib.Path(words[0]).is_dir():
            print(f"collect.py: '{' '.join(words)}', expected the folder of the runs, --check or nothing (see --help)", file=sys.stderr)
            raise SystemExit(64)
        copy(pathlib.Path(words[0]))
    texts = {name: table(reference, names) for name, (reference, names) in TABLES.items()}
    texts |= {f"bits per byte, {name}": evaluated(name) for name in ("60-steps", "gpu")}
    if check:
        missing = missing_rows(text for text in texts.values() if text)
        print("\n".join(f"docs/parity/README.md: has no row {line}" for line in missing), end="\n" if missing else "")
        raise SystemExit(1 if missing else 0)
    for name, text in texts.items():
        if text:
            print(f"## {name}\n\n{text}\n")
    draw()


if __name__ == "__main__":
    main()
