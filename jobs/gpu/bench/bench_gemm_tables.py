"""Tables of GEMMs."""

import statistics

import bench_rows
from bench_measured import percent, ratio, table
from bench_rows import FORMS, MODELS, STACKS


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
        "\n\"fp8 with casts\" is the abs-max, the scale and the cast of both bf16 operands, and the product. Octet stores "
        "grad_weight in fp32, PyTorch in bf16.\n\n" + choices(m))


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
        "\n\"With casts\" includes the casts of both bf16 operands; delayed knows its scales before, and needs no pass for an "
        "abs-max. gw_hp is rowwise_with_gw_hp: its forward is that of rowwise, and its gradient of the weight that of bf16. blockwise "
        "has scales of 1 x 128 by 128 x 128, and of 1 x 128 by 1 x 128 for the gradient of the weight.\n\n")


def choices(m):
    """What the timed choice is worth, of products that were launched both ways."""
    shares = []
    for label, form, of in gemm_shapes():
        for mode in ("bf16", "fp8"):
            ways = (m.get("octet", of(mode)["row"]) or {}).get("seconds_of_way", {})
            if ways.get("heuristic") and ways.get("timed"):
                shares.append(ways["heuristic"] / ways["timed"])
    if not shares:
        return ""
    return (f"The faster of the heuristic's algorithm and the timed one counts. The timed one is {statistics.median(shares):.3f} times "
            f"as fast in the median of {len(shares)} products, and {max(shares):.3f} times at most.\n\n")


def fast_gemms(m):
    rows = []
    for row in bench_rows.fast_gemm_rows():
        promoted, fast = (m.seconds("octet", name) for name in (row["row"].removesuffix("/fast"), row["row"]))
        if promoted and fast:
            rate = lambda s: f"{row['flops'] / s / 1e12:,.0f}"
            rows.append([f"{row['m']} x {row['n']} x {row['k']}", row["form"], rate(promoted), rate(fast), ratio(promoted, fast, 3)])
    if not rows:
        return ""
    return "### Gradients with fast accumulation, TFLOP/s, Octet\n\n" + table(
        ["m x n x k", "GEMM", "promoted", "fast", "fast / promoted"], rows) + "\n"


def room_gemms(m):
    rows = []
    for row in bench_rows.room_gemm_rows():
        whole, part = (m.seconds("octet", name) for name in (row["row"].rpartition("/")[0], row["row"]))
        if whole and part:
            rate = lambda s: f"{row['flops'] / s / 1e12:,.0f}"
            rows.append([f"{row['m']} x {row['n']} x {row['k']}", row["mode"], rate(whole), rate(part), ratio(whole, part, 3)])
    if not rows:
        return ""
    return f"### Forward GEMMs chosen for {bench_rows.LEFT} multiprocessors, TFLOP/s, Octet\n\n" + table(
        ["m x n x k", "operands", "chosen for all", f"chosen for {bench_rows.LEFT}", "speed relative to all"], rows) + (
        "\nTimed alone on the GPU, by the library's first proposal, as beside an update (`optimizer.beside_gemms`).\n\n")


def ways(m):
    """Each way of a product over the run's own, and PyTorch's."""
    found = [(row, m.get("octet", row["row"]), m.seconds("torch", row["row"].removesuffix("/ways")))
             for row in bench_rows.ways_rows()]
    found = [(row, result["seconds_of_way"], torch) for row, result, torch in found if result]
    if not found:
        return ""
    names = list(dict.fromkeys(name for _, of, _ in found for name in of))
    first = names[0]
    rows = [[row["row"].removeprefix("gemm/").removesuffix("/ways"), f"{1e6 * of[first]:.1f}"] +
            [ratio(of[first], of.get(name), 3) for name in names[1:]] + [ratio(of[first], torch, 3)] for row, of, torch in found]
    return "### Why a GEMM is slower than PyTorch's: one thing changed at a time\n\n" + table(
        ["GEMM", f"us, {first}"] + [f"{name}: times as fast" for name in names[1:]] + ["PyTorch: times as fast"], rows) + "\n"
