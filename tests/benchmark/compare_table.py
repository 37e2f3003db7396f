#!/usr/bin/env python3
"""Helper of compare_torch.sh: one JSON line from a run's metrics.jsonl, and the Markdown table from all lines."""

import argparse
import collections
import json
import statistics


def from_metrics(a):
    with open(a.from_metrics) as file:
        rows = [json.loads(line) for line in file]
    rows = [r for r in rows if "tokens_per_second" in r]
    measured = rows[a.warmup:]
    if not measured:
        raise SystemExit(f"{a.from_metrics}: {len(rows)} steps, none left after {a.warmup} of warm-up")
    median = lambda key: statistics.median(r[key] for r in measured)
    print(json.dumps({
        "framework": a.framework, "model": a.model, "precision": a.precision, "mode": a.mode,
        "tokens_per_second": median("tokens_per_second"), "median_step_seconds": median("step_seconds"),
        "memory_bytes": rows[-1]["memory_bytes"], "loss_first": rows[0]["loss"], "loss_last": rows[-1]["loss"]}))


def ratio(numerator, denominator):
    return f"{numerator / denominator:.2f}" if numerator and denominator else "-"


def mebibytes(row):
    return f"{row['memory_bytes'] / 2**20:,.0f}" if "memory_bytes" in row else "-"


def table(path):
    runs = collections.defaultdict(list)  # by (model, framework, precision, mode)
    with open(path) as file:
        for line in file:
            r = json.loads(line)
            runs[r["model"], r["framework"], r["precision"], r["mode"]].append(r)
    speed = {key: statistics.median(r["tokens_per_second"] for r in rows) for key, rows in runs.items()}

    for model in dict.fromkeys(key[0] for key in runs):
        mine = {key[1:]: value for key, value in speed.items() if key[0] == model}
        best = max((v for k, v in mine.items() if k[0].startswith("torch")), default=None)
        print(f"### {model}\n")
        print("| program | precision | how | tokens/s, median (lowest to highest) | ratio to the best PyTorch "
              "| MiB a rank | loss first, last |")
        print("|---|---|---|---|---|---|---|")
        for (framework, precision, mode), value in sorted(mine.items(), key=lambda item: -item[1]):
            rows = runs[model, framework, precision, mode]
            speeds = [r["tokens_per_second"] for r in rows]
            print(f"| {framework} | {precision} | {mode} | {value:,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f}) "
                  f"| {ratio(value, best)} | {mebibytes(rows[0])} "
                  f"| {rows[0]['loss_first']:.4f}, {rows[0]['loss_last']:.4f} |")
        print()
        summary(model, runs, mine, best)


def paired(model, runs, precision, above, below):
    """Ratio of two modes of Octet, whose runs of a round follow each other: median (lowest to highest) of the rounds'
    ratios, since a machine that changes its speed moves both runs of a round."""
    def rounds(mode):
        return [r["tokens_per_second"] for (m, f, p, how), rows in runs.items() for r in rows
                if m == model and f.startswith("octet") and p == precision and how.endswith(", " + mode)]

    ratios = [a / b for a, b in zip(rounds(above), rounds(below))]
    if not ratios:
        return None
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def summary(model, runs, mine, best):
    def octet(precision, ranks):
        found = [v for (f, p, m), v in mine.items()
                 if f.startswith("octet") and p == precision and m.startswith(ranks) and "," not in m]
        return found[0] if found else None

    torch_bf16 = max((v for (f, p, _), v in mine.items() if f.startswith("torch") and p.startswith("bf16")), default=None)
    bf16, float8 = octet("bf16", "1 x"), octet("float8", "1 x")
    lines = []
    if bf16:
        lines += [("Octet bf16 / best PyTorch bf16", ratio(bf16, torch_bf16), "1.3"),
                  ("Octet bf16 / best PyTorch of any dtype", ratio(bf16, best), "1.0"),
                  ("Octet float8 / Octet bf16", ratio(float8, bf16), "0.85"),
                  ("Octet bf16, 2 ranks / 1 rank with the same threads in all", ratio(octet("bf16", "2 x"), bf16), "0.85")]
    for above, below in (("tp 2", "dp_shard 2"), ("recompute full", "recompute none"), ("recompute ffn", "recompute none")):
        for precision in ("bf16", "float8"):
            measured = paired(model, runs, precision, above, below)
            if measured:
                lines.append((f"Octet {precision}, {above} / {below}", measured, ""))
    print("| ratio of tokens/s | measured | aim |")
    print("|---|---|---|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", metavar="RESULTS")
    parser.add_argument("--from-metrics", metavar="METRICS")
    parser.add_argument("--warmup", type=int, default=0)
    for key in ("model", "precision", "mode", "framework"):
        parser.add_argument("--" + key)
    a = parser.parse_args()
    table(a.table) if a.table else from_metrics(a)


if __name__ == "__main__":
    main()
