"""The rows of jobs/gpu/bench.sh: what is timed, at which sizes, and what each must do at least (FLOPs, bytes).

A row is a dict: "row" names it by what it does and its sizes, so that models with the same shape share it; "op" and the
sizes are what octet-bench-gpu and torch_gpu.py read; "flops" and "bytes" are the floors' numerators.
"""

from bench_ops import *  # noqa: F401,F403
from bench_steps import *  # noqa: F401,F403


def unique(rows):
    return list({row["row"]: row for row in rows}.values())


def gemm_rows():
    rows = []
    for model in STACKS:
        for _, o, i in linears(MODELS[model]):
            rows += [linear_gemm(o, i, form, mode) for form in FORMS for mode in MODES]
    return unique(rows + [gemm(n, n, n, "forward", mode) for n in SQUARES for mode in MODES])


def fast_gemm_rows():
    """Gradients of an 8B block with fast accumulation: Octet's alone, beside its rows without."""
    return unique([linear_gemm(o, i, form, "fp8", fast=True) for _, o, i in linears(MODELS["8b"])
                   for form in ("grad_input", "grad_weight")])


def narrow_gemm_rows():
    """Gradients of weights that are left in bf16, as PyTorch's are: Octet's alone, since PyTorch's rows are of them."""
    return unique([linear_gemm(o, i, "grad_weight", mode, gradient="bf16") for model in STACKS
                   for _, o, i in linears(MODELS[model]) for mode in ("bf16", "fp8")])


LEFT = 132 - 16  # multiprocessors of an H100 that an update beside a forward pass leaves its GEMMs


def room_gemm_rows():
    """Forward products of algorithms that are chosen for what an update beside them leaves, alone on the GPU: Octet's alone."""
    return unique([linear_gemm(o, i, "forward", mode, multiprocessors=LEFT) for model in STACKS
                   for _, o, i in linears(MODELS[model]) for mode in ("bf16", "fp8")])


def ways_rows():
    """Of the products that were the furthest behind PyTorch's on the H100, and others of an 8B block: Octet's alone."""
    wq, w1, w2 = ((o, i) for name, o, i in linears(MODELS["8b"]) if name in ("wq", "w1", "w2"))
    rows = [linear_gemm(*of, form, mode) for mode in ("fp8", "bf16") for of, form in
            ((w1, "forward"), (w1, "grad_input"), (w1, "grad_weight"), (w2, "forward"), (wq, "grad_weight"))]
    rows += [linear_gemm(*w1, "grad_weight", "fp8", add=True), gemm(8192, 8192, 8192, "forward", "fp8")]
    return [ways_of(row) for row in rows]


def adding_gemm_rows():
    """Those of the where-the-time-goes tables that add to what is there: Octet's alone."""
    return unique([row for model in STACKS for precision in PRECISIONS
                   for _, row, _ in block_ops(MODELS[model], precision, 2) if "beta" in row])


def recipe_gemm_rows():
    """The casts of the recipes in front of the product, and the product where its scales are others than fp8's."""
    rows = [linear_gemm(o, i, form, mode) for model in STACKS for _, o, i in linears(MODELS[model])
            for form in FORMS for mode in RECIPE_MODES[form]]
    return unique(rows + [gemm(n, n, n, "forward", mode) for n in SQUARES for mode in RECIPE_MODES["forward"]])


def recipe_kernel_rows():
    """Casts of the recipes with several scales a tensor: inputs and weights in one form at a time, output gradients in both.
    A weight of blockwise is cast in one form for the forward pass, and in both where backward keeps it. The cast of
    delayed is tensorwise's, `cast`; its own are two kernels over all casts of a model."""
    rows = []
    for model in STACKS:
        m = MODELS[model]
        for columns in (m["dim"], m["ffn_dim"]):
            rows += [quantize_rowwise(columns, form) for form in ("row", "column", "both")]
            rows += [quantize_vectors(columns, form) for form in ("row", "column", "both")]
        rows += [quantize_rowwise(m["dim"], form, m["ffn_dim"]) for form in ("row", "column")]  # w1, w3
        rows += [quantize_blocks(m["ffn_dim"], m["dim"], form) for form in ("row", "column", "both")]
        casts = 18 * m["layers"]  # of 4 inputs, 7 weights and 7 output gradients
        rows += [record_amax(casts), delayed_scales(casts, 1024)]
    return unique(rows)


def block_kernels(m, precision, recipe, left):
    return [row for gradients in (None, "bf16")
            for _, row, _ in block_ops(m, precision, recipe=recipe, gradients=gradients, left=left)
            if row["op"] not in ("gemm", "attention_forward", "attention_backward")]


def kernel_rows():
    rows = [copy()]
    for model in STACKS:
        for precision, recipe in TIMED_BLOCKS:
            rows += block_kernels(MODELS[model], precision, recipe, left=False)
        for _, o, i in linears(MODELS[model]):
            rows += apart(cast_weight(o, i)) + apart(adamw(o * i, rounded=True))
        for precision, recipe in TIMED_BLOCKS:
            rows += block_kernels(MODELS[model], precision, recipe, left=True)
    for model in ("8b", "70b"):
        m = MODELS[model]
        rows += [fill_normal(m["ffn_dim"] * m["dim"]), embedding_forward(m), embedding_backward(m, "add"), embedding_backward(m, "first"), cross_entropy(m)]
    return unique(rows + recipe_kernel_rows())


MULTIPROCESSORS = (8, 12, 16, 20, 24, 32)  # of an H100's 132, that an update beside a forward pass may take


def few_multiprocessors_rows():
    """AdamW of the largest weight of an 8B block on part of the GPU."""
    m = MODELS["8b"]
    return [adamw(m["ffn_dim"] * m["dim"], multiprocessors=n) for n in MULTIPROCESSORS]


def former_kernel_rows():
    """Rows of earlier commits, for tables of what was measured then: queries and keys were rotated one after the other,
    inputs of linears cast as stored and then transposed, norms' outputs cast from bf16 in tensorwise too, and gradients of
    gate and up by passes of their own; chunks of the head were 2,080 tokens."""
    def rope_of(m, heads):
        n = TOKENS * m["head_dim"]
        return kernel("rope", 4 * n * heads + 4 * n, seq=TOKENS, heads=heads, head_dim=m["head_dim"])

    rows = [rope_of(MODELS[model], MODELS[model][heads]) for model in STACKS for heads in ("heads", "kv_heads")]
    for model in STACKS:
        rows += [cast(MODELS[model]["dim"], both=True)]
        for columns in (MODELS[model]["dim"], MODELS[model]["ffn_dim"]):
            rows += [cast(columns), transpose(TOKENS, columns)]
        rows += [cast(MODELS[model]["ffn_dim"], "e5m2", both=True)]
    rows += [cross_entropy(MODELS["8b"], rows=2080)]
    return unique(rows)


def attention_rows():
    return unique([attention(m, d) for m in MODELS.values() for d in ("forward", "backward")])


def documents_rows():
    """Attention within documents, by our own kernels and by cuDNN's; one of 8,192 is the whole row, so that it shows what
    they cost beside attention without documents."""
    return [attention(MODELS["8b"], d, documents=lengths, by=by) for lengths in DOCUMENTS for by in (None, "cudnn")
            for d in ("forward", "backward")]


def groups(memory=80e9):
    """(group, program, rows), in the order in which they run. Both programs' rows of a kind stand next to each other,
    so that they meet the same machine; a group is one process."""
    out = [("kernels", "octet", kernel_rows() + few_multiprocessors_rows()), ("attention", "octet", attention_rows() + documents_rows()),
           ("attention", "torch", [copy()] + attention_rows()), ("gemm", "octet", gemm_rows()), ("gemm", "torch", gemm_rows()),
           ("gemm/more", "octet", ways_rows() + fast_gemm_rows() + narrow_gemm_rows() + room_gemm_rows() + adding_gemm_rows() +
            recipe_gemm_rows())]
    by_run = {}
    for row in step_rows(memory):
        by_run.setdefault((row["name"], row["precision"], row["micro_batches"]), []).append(row)
    for (name, precision, micro_batches), rows in by_run.items():
        label = f"step/{name}/{precision}" + (f"/{micro_batches}" if micro_batches > 1 else "")
        out += [(label, "octet", rows), (label, "torch", rows)]
        if micro_batches == 1:
            out.append((f"{label}/bf16-gradients", "octet", [narrow_step(row) for row in rows]))
    return out + [("step/choices", "octet", choice_step_rows(memory)), ("step/recipes", "octet", recipe_step_rows(memory)),
                  ("step/graphs", "octet", graph_step_rows(memory)), ("step/beside", "octet", beside_step_rows(memory)), ("start", "octet", [start_row()])]
