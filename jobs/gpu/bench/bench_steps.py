"""Rows of training steps, and the ops of a block of one. bench_rows.py says what a row is."""

import math

from bench_ops import *  # noqa: F403

# (precision, recipe) of the blocks that are taken apart into their ops.
TIMED_BLOCKS = [("bf16", None), ("float8", None), ("float8", "delayed")]
# A row's steps last about so many seconds at RATE, the first of them to warm the chip, as many for both programs. At its
# power limit a GPU's clock goes up and down over several steps, and is lower on a chip that is hot; one of PyTorch's rows
# begins on a chip that has cooled down while it compiled. A mean over many of these swings is the same to 1 % when it is
# taken again; one of a second and a half is not. The last step is not counted: where updates run beside the next forward
# pass, it has two.
WARMUP_SECONDS, SECONDS, RATE = 2.0, 5.0, 700e12
FEWEST_WARMUP, FEWEST = 3, 8
LEARNING_RATE = 1e-6  # of both programs: numbers stay what they are, over as many steps as a row has


def block_ops(m, precision, micro_batches=1, recipe=None, gradients=None, left=True):
    """(label, row, count) of a block's forward and backward and of its weights' part of a step, for one of the step's
    micro-batches: what is done once a step counts as its share. `recipe`: of float8, tensorwise (None) or delayed.
    `gradients`: bf16 is what the weights' are in then, in steps of one micro-batch, in place of fp32. What moves less than a
    megabyte is left out. `left`: AdamW leaves the weights in 8 bits, as it has done since ead6b49; before, a cast made both
    forms of them. tests/checks/block_ops_test.py holds this against the program's dry run."""
    ops, once = [], 1 / micro_batches
    add = lambda label, row, count=1: ops.append((label, row, count))
    dim, ffn, q, kv = m["dim"], m["ffn_dim"], q_dim(m), kv_dim(m)
    float8, delayed = precision == "float8", recipe == "delayed"
    for name, o, i in linears(m):
        of = lambda form, added: linear_gemm(o, i, form, "fp8" if float8 else "bf16", added)
        add("GEMM forward", of("forward", False))
        # The gradient of an input that several linears read is summed by their GEMMs, in the order w1, w3 and wq, wk,
        # wv; weight gradients are from the second micro-batch on.
        add("GEMM grad_input", of("grad_input", name in ("wk", "wv", "w3")))
        add("GEMM grad_weight", linear_gemm(o, i, "grad_weight", "fp8" if float8 else "bf16", gradient=gradients), once)
        if micro_batches > 1:
            add("GEMM grad_weight", of("grad_weight", True), 1 - once)
    add("attention forward", attention(m, "forward"))
    add("attention backward", attention(m, "backward"))
    add("RMSNorm", add_rmsnorm(dim, delayed, measures=float8 and not delayed), 2)
    add("RMSNorm backward", rmsnorm_backward(dim, delayed), 2)
    add("RoPE", rope(m))
    add("RoPE", rope(m, delayed))
    add("SwiGLU", swiglu_forward(m, delayed))
    add("SwiGLU backward", swiglu_backward(m, delayed, twice=float8 and not delayed))
    if float8:
        if delayed:
            # The others write the 8-bit forms themselves where the scale is there before; norms not the transposed.
            add("casts of inputs", cast(q, both=True, how="measures"))
            add("casts of output gradients", cast(kv, "e5m2", both=True, how="measures"))
            add("transposes of what norms wrote", transpose(TOKENS, dim), 4)
        else:
            add("abs-max of attention's outputs", stats(q))
            add("abs-max of attention's outputs", stats(kv))
            add("casts of inputs", cast(dim, both=True, how="normed"), 2)
            for columns in (q, ffn):
                add("casts of inputs", cast(columns, both=True))
            for columns in (dim, dim, q, kv, kv):  # of w2, wo, wq, wk, wv
                add("casts of output gradients", cast(columns, "e5m2", both=True))
        for _, o, i in linears(m):
            if left:
                add("transposes of weights", transpose(o, i), once)
            else:
                add("casts of weights", cast_weight(o, i), once)
    for _, o, i in linears(m):
        add("gradient norm", sum_of_squares(o * i, gradients), once)
        add("AdamW", adamw(o * i, gradients, rounded=not float8, float8=float8 and left), once)
    return ops


# --- training steps --------------------------------------------------------------------------------------------------


def blocks_that_fit(m, memory, micro_batches=1):
    """Blocks of a stack that train in `memory` bytes: fp32 masters, gradients and moments, weights in bf16, and about
    what either program keeps from forward to backward; a fifth is left for scratch and libraries."""
    parameters = block_parameters(m)
    kept = 2 * TOKENS * (7 * m["dim"] + 2 * q_dim(m) + 2 * kv_dim(m) + 4 * m["ffn_dim"])
    one = 18 * parameters + kept
    return int((0.8 * memory - 4 * parameters) // one)


def label_of(precision, recipe=None):
    return f"{precision}-{recipe}" if recipe else precision


def step(model, precision, layers, micro_batches=1, recipe=None, graphs=None, plans="timed", fast=None, gradients=None,
         beside=None, multiprocessors=None, gemms=None):
    """A training step of one sequence a micro-batch: the blocks on a vocabulary of bytes, or the 1.8B model whole.
    `graphs`: a value of cuda.graphs in place of the default. `plans`: cuda.gemm and cuda.attention; timed is what auto
    is in a run of more than some hundred steps, and heuristic what it would be in the few of a row. `fast`: a value of
    float8.fast_accumulate in place of the default, and `gradients`, `beside`, `multiprocessors` and `gemms` are of
    parallel.gradient_wire and optimizer.beside_forward, beside_multiprocessors and beside_gemms."""
    m = MODELS[model]
    shape = dict(m, layers=layers)
    if model in STACKS:
        shape["vocab_size"] = 256
    suffix = f"/{micro_batches}-micro-batches" if micro_batches > 1 else ""
    suffix += f"/graphs-{graphs}" if graphs else ""
    suffix += f"/{plans}" if plans != "timed" else ""
    suffix += f"/fast-{fast}" if fast else ""
    suffix += f"/{gradients}-gradients" if gradients else ""
    suffix += f"/beside-{beside}" if beside else ""
    suffix += f"/multiprocessors-{multiprocessors}" if multiprocessors else ""
    suffix += f"/gemms-{gemms}" if gemms else ""
    flops = TOKENS * micro_batches * model_flops(shape)
    return dict(row=f"step/{model}/{label_of(precision, recipe)}/{layers}-blocks{suffix}", op="step", name=model, model=shape,
                precision=precision, recipe=recipe, graphs=graphs, plans=plans, fast=fast, gradients=gradients,
                beside=beside, multiprocessors=multiprocessors, gemms=gemms, seq_len=TOKENS, lr=LEARNING_RATE,
                micro_batches=micro_batches, warmup=max(FEWEST_WARMUP, math.ceil(WARMUP_SECONDS * RATE / flops)),
                steps=max(FEWEST, math.ceil(SECONDS * RATE / flops)) + 1, flops=flops, bytes=0)


def tallest(model, memory):
    """Blocks of the higher of the two stacks."""
    return min(max(blocks_that_fit(MODELS[model], memory), 2), MODELS[model]["layers"])


def step_rows(memory):
    """Most important first. 1 block and as many as fit: their difference is the time of a block, without embedding,
    head and what a step costs once. With several micro-batches the optimizer's share is as small as on a cluster."""
    rows = []
    for micro_batches in (1, 4):
        for model in STACKS:
            for precision in reversed(PRECISIONS):
                rows += [step(model, precision, n, micro_batches) for n in (1, tallest(model, memory))]
        rows += [step("1.8b", precision, MODELS["1.8b"]["layers"], micro_batches) for precision in reversed(PRECISIONS)]
    return rows


def recipe_step_rows(memory):
    """The stacks again in the other recipes of float8: Octet's alone, beside its tensorwise steps."""
    rows = []
    for model in STACKS:
        rows += [step(model, "float8", n, recipe=recipe) for recipe in RECIPES for n in (1, tallest(model, memory))]
    return rows


def choice_step_rows(memory):
    """The higher stacks of 8B and 70B again with another choice than the default: Octet's alone."""
    return [step("8b", "float8", tallest("8b", memory), fast="all"),
            *(step(model, precision, tallest(model, memory), plans="heuristic") for model in ("8b", "70b")
              for precision in reversed(PRECISIONS))]


def narrow_step(row):
    """The step of a row of step_rows with its weights' gradients in bf16, as PyTorch's are."""
    return step(row["name"], row["precision"], row["model"]["layers"], gradients="bf16")


def start_row():
    """Until a run of 12 blocks of 8B with embedding and head has its buffers and initial weights, 3.7e9 values; how
    long a sequence is does not matter to it."""
    layers = 12
    return dict(row=f"start/8b/{layers}-blocks", op="start", model=dict(MODELS["8b"], layers=layers), precision="bf16",
                recipe=None, graphs=None, plans="heuristic", fast=None, gradients=None,
                beside=None, multiprocessors=None, gemms=None, seq_len=1024, lr=LEARNING_RATE, micro_batches=1, flops=0, bytes=0)


def graph_step_rows(memory):
    """The smallest whole model with CUDA graphs and without, and the higher stack of 8B, where auto leaves them out, with:
    Octet's alone."""
    rows = [step("8b", precision, tallest("8b", memory), graphs="true") for precision in reversed(PRECISIONS)]
    return rows + [step("1.8b", precision, MODELS["1.8b"]["layers"], graphs=graphs) for precision in reversed(PRECISIONS)
                   for graphs in ("true", "false")]


def beside_step_rows(memory):
    """The stacks of one micro-batch again with the update beside the next forward pass, with gradients in fp32 and in
    bf16; the 1.8B model in float8 with them in bf16; the stacks of 70B with four micro-batches too; and the higher ones
    of 8B and 70B, with gradients in bf16, with it on other numbers of multiprocessors, and with GEMMs that are chosen for the whole GPU: Octet's alone."""
    rows = [step(model, precision, n, gradients=gradients, beside="true") for gradients in ("bf16", None)
            for model in STACKS for precision in reversed(PRECISIONS) for n in (1, tallest(model, memory))]
    rows.append(step("1.8b", "float8", MODELS["1.8b"]["layers"], gradients="bf16", beside="true"))
    rows += [step("70b", precision, n, 4, beside="true") for precision in reversed(PRECISIONS) for n in (1, tallest("70b", memory))]
    both = lambda model, precision, **choice: step(model, precision, tallest(model, memory), gradients="bf16", beside="true", **choice)
    for model in ("8b", "70b"):
        rows += [both(model, precision, multiprocessors=n) for precision in reversed(PRECISIONS) for n in (12, 20, 24)]
        rows.append(both(model, "float8", gemms="all"))
    return rows
