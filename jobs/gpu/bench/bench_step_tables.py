"""Tables of training steps, and of where the time of a block goes."""

import functools
import re

import bench_rows
from bench_measured import block_seconds, percent, ratio, seconds_of, step_entries, table, together, torch_seconds
from bench_rows import MODELS, PRECISIONS, STACKS, TOKENS

# fp8 over bf16 and tokens/s a GPU in bf16 and fp8, as published for PyTorch FSDP2 with torchao float8 on 128 to 512
# H100 (PyTorch blog, 2024-11-25), sequence 8192.
PUBLISHED = {"1.8b": (1.18, 29000, 35000), "8b": (1.28, 8000, 10000), "70b": (1.50, 956, 1430),
             "405b-tp4": (1.52, 149, 227)}
VARIANT = re.compile(r"(?P<default>step/.*-blocks(/\d+-micro-batches)?(/bf16-gradients)?)/(?P<which>graphs|heuristic|fast|beside)"
                     r"(-(?P<value>\w+))?(/multiprocessors-(?P<multiprocessors>\d+))?(/gemms-(?P<gemms>\w+))?$")
OPTIONS = {"graphs": "cuda.graphs {}", "heuristic": "cuda.gemm and cuda.attention heuristic", "fast": "float8.fast_accumulate {}",
           "beside": "optimizer.beside_forward {}"}


NOTE = ("A time is that of one block and one sequence, found from stacks of 1 block and of the number given; for 1.8b it is that of "
        "the whole model and one sequence. tokens/s is what one GPU would reach with all blocks of the model (for 405b-tp4 with "
        "a quarter of each block, as on each of its four GPUs), without embedding, head and communication; for 1.8b it is that of "
        "the whole model. MFU is measured against the dense bf16 peak for float8 too, so it can exceed 100 %.\n\n")


def recipe_steps(m):
    """Of each stack a block in every recipe, against tensorwise and bf16 of the same program."""
    rows = []
    for model in STACKS:
        labels = PRECISIONS + [bench_rows.label_of("float8", r) for r in bench_rows.RECIPES]
        found = together(m, {label: functools.partial(block_seconds, m, "octet", model, label) for label in labels})
        seconds = {label: entry and entry["seconds"] for label, entry in found.items()}
        for recipe in bench_rows.RECIPES:
            mine = seconds[bench_rows.label_of("float8", recipe)]
            if mine:
                rows.append([model, recipe, f"{mine * 1e3:.2f}", ratio(seconds["float8"], mine), ratio(seconds["bf16"], mine)])
    if not rows:
        return ""
    head = ["model", "recipe", "ms", "speed relative to tensorwise", "speed relative to bf16"]
    return "### Training step of the other recipes, Octet, one block\n\n" + table(head, rows) + "\n"


def gibibytes(entry):
    return f"{entry['memory'] / 2**30:.1f}" if entry and entry["memory"] else "-"


def steps(m, micro_batches):
    speed, gains = [], []
    for model in ["1.8b"] + STACKS:
        entries = step_entries(m, model, micro_batches)
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
                         [ratio(torch and torch["seconds"], octet and octet["seconds"])])
        gain = lambda by: ratio(*(entries[by, p] and entries[by, p]["seconds"] for p in PRECISIONS))
        published = PUBLISHED[model]
        gains.append([model, gain("octet"), gain("torch"), published[0], f"{published[1]:,} to {published[2]:,}"])
    if not speed:
        return ""
    several = f", {micro_batches} micro-batches a step" if micro_batches > 1 else ""
    text = f"### Training step, sequence {TOKENS}{several}\n\n"
    text += table(["model", "precision", "blocks", "ms, Octet", "ms, PyTorch", "tokens/s, Octet", "tokens/s, PyTorch",
                   "MFU of the bf16 peak, Octet", "MFU of the bf16 peak, PyTorch", "GiB, Octet", "GiB, PyTorch", "Octet / PyTorch"], speed)
    text += "\n" + (NOTE if micro_batches == 1 else "")
    return text + table(["model", "float8 / bf16, Octet", "float8 / bf16, PyTorch", "published gain",
                         "published tokens/s a GPU, bf16 to float8"], gains) + "\n"


def narrow_gradients(m):
    """Of each stack a block, and the 1.8B model whole, with weights' gradients in bf16, beside the same with fp32 and
    PyTorch's, which are bf16."""
    rows = []
    for precision in reversed(PRECISIONS):
        for model in [*STACKS, "1.8b"]:
            if not any(row.startswith(f"step/{model}/{precision}/") and row.endswith("-blocks/bf16-gradients") for _, row in m.results):
                continue
            narrow, wide, torch = together(m, {name: functools.partial(seconds_of, m, by, model, precision, **options)
                                               for name, by, options in (("narrow", "octet", {"gradients": "bf16"}),
                                                                         ("wide", "octet", {}), ("torch", "torch", {}))}).values()
            if not narrow:
                continue
            ms = lambda e: f"{e['seconds'] * 1e3:.2f}" if e else "-"
            rows.append([model, precision, ms(narrow), ms(wide), ms(torch), gibibytes(narrow), gibibytes(wide),
                         ratio(wide and wide["seconds"], narrow["seconds"], 3), ratio(torch and torch["seconds"], narrow["seconds"])])
    if not rows:
        return ""
    return "### Training step with gradients of weights in bf16, one block\n\n" + table(
        ["model", "precision", "ms", "ms, gradients in fp32", "ms, PyTorch", "GiB", "GiB, gradients in fp32",
         "speed relative to fp32", "Octet / PyTorch"], rows) + "\n`parallel.gradient_wire: bf16`, one micro-batch a step." + (
            " 1.8b is the whole model.\n\n" if any(row[0] == "1.8b" for row in rows) else "\n\n")


def updates_beside(m):
    """Of each stack a block with the update beside the next forward pass, beside the same without and PyTorch's."""
    rows = []
    kinds = [(gradients, precision, model) for gradients in (None, "bf16") for precision in reversed(PRECISIONS) for model in STACKS]
    for gradients, precision, model in kinds:
        for n in (None, *bench_rows.MULTIPROCESSORS):
            mine = block_seconds(m, "octet", model, precision, gradients=gradients, beside="true", multiprocessors=n)
            if not mine:
                continue
            without = block_seconds(m, "octet", model, precision, gradients=gradients, build=mine["build"])
            torch = torch_seconds(m, mine, model, precision)
            rows.append([model, precision, gradients or "fp32", n or "default"] +
                        [f"{e['seconds'] * 1e3:.2f}" if e else "-" for e in (mine, without, torch)] +
                        [ratio(without and without["seconds"], mine["seconds"], 3), ratio(torch and torch["seconds"], mine["seconds"])])
    if not rows:
        return ""
    return "### Training step with the update beside the next forward pass, one block\n\n" + table(
        ["model", "precision", "gradients of weights", "multiprocessors", "ms", "ms, not beside", "ms, PyTorch",
         "speed relative to not beside", "Octet / PyTorch"], rows) + "\n`optimizer.beside_forward: true`, one micro-batch a step. " + (
             "What is compared is of the same build. A time is what one more block of a deep stack costs: the first "
             "block's update has nothing to hide behind, and a stack of one block is slower than without.\n\n")


def variants(m):
    """Steps with another value of one option beside the same step with its default, of the same build: it is a matter of
    a few percent, and two calls may have met different cards."""
    rows, choosing = [], []
    for (by, name, build), result in m.of_build.items():
        found = VARIANT.match(name)
        choosing.append(result.get("choice_seconds", 0))
        beside = found and found["which"] == "beside"
        if by != "octet" or not found or not (beside or result is m.results[by, name]):
            continue
        default = m.get(by, found["default"], build)
        if beside and default is None:
            continue
        option = OPTIONS[found["which"]].format(found["value"])
        option += f", beside_multiprocessors {found['multiprocessors']}" if found["multiprocessors"] else ""
        option += f", beside_gemms {found['gemms']}" if found["gemms"] else ""
        mine, without = m.get(by, name, build)["seconds"], default and default["seconds"]
        rows.append([found["default"].removeprefix("step/"), option, f"{mine * 1e3:.2f}", f"{without * 1e3:.2f}" if without else "-",
                     ratio(without, mine, 3)])
    if not rows:
        return ""
    text = "### Training step with other options, Octet, the whole step\n\n"
    text += table(["step", "option", "ms", "ms, default", "speed relative to the default"], rows)
    return text + (f"\nBy default, algorithms are timed before the first step, which took {max(choosing):.1f} s at most and is "
                   "in no step's time.\n\n" if any(choosing) else "\n")


def where(m, model, precision, recipe, micro_batches, gradients=None):
    parts, missing = {}, False
    for label, row, count in m.block_ops(MODELS[model], precision, micro_batches, recipe, gradients):
        seconds, floor = m.op_seconds(row), m.floor(row)
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
    label = bench_rows.label_of(precision, recipe)
    whole = block_seconds(m, "octet", model, label, micro_batches, gradients)
    if whole:
        rows.append(["a block of the training step", f"{whole['seconds'] * 1e3:.3f}", percent(whole["seconds"], total),
                     "", ratio(floors, whole["seconds"])])
    several = f", {micro_batches} micro-batches a step" if micro_batches > 1 else ""
    several += f", gradients in {gradients}" if gradients else ""
    return f"#### {model}, {label}{several}\n\n" + table(["part", "ms", "of all", "floor, ms", "floor / time"], rows) + "\n"


def where_all(m):
    text = "".join(where(m, model, precision, recipe, micro_batches, gradients) for model in STACKS
                   for precision, recipe in bench_rows.TIMED_BLOCKS
                   for micro_batches, gradients in ((1, None), (1, "bf16"), (4, None)))
    if not text:
        return ""
    return ("### Where the time of a block goes\n\nEach operation is timed alone at its shape; its floor is the larger of "
            "FLOPs over peak and bytes over the copy's rate. A table is of one block and one sequence, with the sequence's share of "
            "what is done once a step: the optimizer and the casts of weights.\n\n" + text)
