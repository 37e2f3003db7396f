"""The rows of jobs/gpu/bench.sh: what is timed, at which sizes, and what each must do at least (FLOPs, bytes).

A row is a dict: "row" names it by what it does and its sizes, so that models with the same shape share it; "op" and the
sizes are what octet-bench-gpu and torch_gpu.py read; "flops" and "bytes" are the floors' numerators.
"""

TOKENS = 8192  # sequence length of every model row, one sequence a step

# The shape of one rank: 405B with tensor parallelism 4 keeps a quarter of the heads and of the feed-forward.
MODELS = {
    "8b": dict(dim=4096, layers=32, heads=32, kv_heads=8, head_dim=128, ffn_dim=14336, vocab_size=128256),
    "70b": dict(dim=8192, layers=80, heads=64, kv_heads=8, head_dim=128, ffn_dim=28672, vocab_size=128256),
    "405b-tp4": dict(dim=16384, layers=126, heads=32, kv_heads=2, head_dim=128, ffn_dim=13312, vocab_size=128256),
    "1.8b": dict(dim=2048, layers=24, heads=16, kv_heads=8, head_dim=128, ffn_dim=7168, vocab_size=128256),
}
STACKS = ["8b", "70b", "405b-tp4"]  # measured as blocks alone; 1.8b fits whole
TENSOR_PARALLEL = {"405b-tp4": 4}
SQUARES = [1024, 2048, 4096, 8192, 16384]
FORMS = ["forward", "grad_input", "grad_weight"]
MODES = ["bf16", "fp8", "fp8_casts"]
# GEMMs of the other recipes of float8, Octet's alone. delayed has fp8's product; the weight's gradient of gw_hp
# (rowwise_with_gw_hp) is bf16's and its forward rowwise's.
RECIPE_MODES = {"forward": ["delayed_casts", "rowwise", "rowwise_casts", "blockwise", "blockwise_casts"],
                "grad_input": ["delayed_casts", "rowwise", "rowwise_casts", "gw_hp", "gw_hp_casts", "blockwise",
                               "blockwise_casts"],
                "grad_weight": ["delayed_casts", "rowwise", "rowwise_casts", "blockwise", "blockwise_casts"]}
PRECISIONS = ["bf16", "float8"]
RECIPES = ["rowwise", "rowwise_with_gw_hp", "delayed", "blockwise"]  # beside tensorwise, which is float8
# Steps of a row: the first ones load, choose plans and warm the chip.
WARMUP, STEPS = 3, 8


def q_dim(m):
    return m["heads"] * m["head_dim"]


def kv_dim(m):
    return m["kv_heads"] * m["head_dim"]


def linears(m):
    """(name, outputs, inputs) of the seven linears of a block."""
    return [("wq", q_dim(m), m["dim"]), ("wk", kv_dim(m), m["dim"]), ("wv", kv_dim(m), m["dim"]),
            ("wo", m["dim"], q_dim(m)), ("w1", m["ffn_dim"], m["dim"]), ("w3", m["ffn_dim"], m["dim"]),
            ("w2", m["dim"], m["ffn_dim"])]


def block_parameters(m):
    return sum(o * i for _, o, i in linears(m)) + 2 * m["dim"]


def block_flops(m, seq=TOKENS):
    """Of a training step, a token: 6 a parameter, and attention over the full square, as octet-train counts."""
    return 6 * block_parameters(m) + 12 * q_dim(m) * seq


def model_flops(m, seq=TOKENS):
    """The same of the whole model: blocks, last norm, output head; not the embedding, which is a look-up."""
    return m["layers"] * block_flops(m, seq) + 6 * (m["vocab_size"] * m["dim"] + m["dim"])


# --- kernels, one row a shape ----------------------------------------------------------------------------------------


def copy():
    n = 1 << 30
    return dict(row="copy", op="copy", n=n, bytes=2 * n, flops=0)


def cast_bytes(m, n, k, form, mode):
    """What casting both operands from bf16 must move, in the one form that the product reads: a value is read, and
    written in 8 bits; it is read once more before that where its scale comes from the abs-max of all of the tensor.
    Scales of rows are written with their inverses, of those of vectors and blocks the inverses alone."""
    a, b = {"fp8_casts": (5, 5), "delayed_casts": (3, 3), "rowwise_casts": (3, 3), "gw_hp_casts": (3, 5),
            "blockwise_casts": (3, 3)}.get(mode, (0, 0))
    each = 4 if mode == "blockwise_casts" else 8
    return (a * m + b * n) * k + (each * scales(m, n, k, form, mode) if a else 0)


def vector_scales(kept, contracted):
    return kept * -(-contracted // 128)


def block_scales(kept, contracted):
    """Lines of a multiple of 4 (kernels/scale_layout.h)."""
    return -(-kept // 128) * (-(-contracted // 512) * 4)


def scales(m, n, k, form, mode):
    """Of rows and columns, vectors and blocks; those of whole tensors are too few to count."""
    if mode.startswith("blockwise"):
        return vector_scales(m, k) + (vector_scales if form == "grad_weight" else block_scales)(n, k)
    return m + n if mode.startswith("rowwise") else m if mode.startswith("gw_hp") else 0


def gemm(m, n, k, form, mode, add=False):
    """`add`: to what c holds (beta = 1), which is read, too."""
    width = 2 if mode == "bf16" else 1
    c = m * n * (4 if form == "grad_weight" else 2) * (2 if add else 1)
    return dict(row=f"gemm/{m}x{n}x{k}/{form}/{mode}" + ("/add" if add else ""), op="gemm", m=m, n=n, k=k, form=form,
                mode=mode, **({"beta": 1} if add else {}), flops=2 * m * n * k,
                bytes=width * (m + n) * k + c + 4 * scales(m, n, k, form, mode) + cast_bytes(m, n, k, form, mode))


def linear_gemm(outputs, inputs, form, mode, add=False, tokens=TOKENS):
    m, n, k = {"forward": (tokens, outputs, inputs), "grad_input": (tokens, inputs, outputs),
               "grad_weight": (outputs, inputs, tokens)}[form]
    return gemm(m, n, k, form, mode, add)


def attention(m, direction, seq=TOKENS, documents=None, by=None):
    """Causal FLOPs: half the square, or half the squares of documents of so many tokens, which `by` computes
    (cuda.document_attention, "own" if None); two products forward, five backward."""
    products = 2 if direction == "forward" else 5
    q, k = q_dim(m) * seq, kv_dim(m) * seq
    tensors = 2 * q + 2 * k if direction == "forward" else 4 * q + 4 * k
    within = {} if documents is None else {"documents": documents}
    if by is not None:
        within["document_attention"] = by
    return dict(row=f"attention/{m['heads']}:{m['kv_heads']}x{m['head_dim']}x{seq}/{direction}" +
                (f"/documents-{documents}" if within else "") + (f"/{by}" if by else ""),
                op=f"attention_{direction}", batch=1, seq=seq, heads=m["heads"], kv_heads=m["kv_heads"],
                head_dim=m["head_dim"], **within, flops=products * q * (documents or seq), bytes=2 * tensors + 4 * m["heads"] * seq)


def kernel(op, traffic, **sizes):
    name = "x".join(str(v) for k, v in sizes.items() if not isinstance(v, (bool, str)))
    kind = "/".join([str(v) for v in sizes.values() if isinstance(v, str)] + (["both"] if sizes.get("transposed") else []))
    return dict(row="/".join(["kernel", op] + ([kind] if kind else []) + [name]), op=op, **sizes, bytes=traffic, flops=0)


def stats(columns):
    return kernel("stats", 2 * TOKENS * columns, n=TOKENS * columns)


def cast(columns, to="e4m3", both=False):
    """bf16 to 8 bits; `both`: with the transposed copy, for the two GEMMs of a backward pass."""
    n = TOKENS * columns
    return kernel("cast", n * (4 if both else 3), rows=TOKENS, columns=columns, **{"from": "bf16", "to": to},
                  transposed=both)


def cast_weight(o, i):
    return kernel("cast", 5 * o * i, rows=o, columns=i, **{"from": "f32", "to": "e4m3"}, transposed=False)


def convert_weight(o, i):
    return kernel("convert", 6 * o * i, n=o * i)


def quantize_rowwise(columns, form, rows=TOKENS):
    """At least one read of bf16, and a byte a value for each form; the kernel reads twice, for the abs-maxes and for
    the casts. 8 bytes a row or column: the scale and its inverse."""
    n = rows * columns
    vectors = {"row": rows, "column": columns, "both": rows + columns}[form]
    return kernel("quantize_rowwise", n * (4 if form == "both" else 3) + 8 * vectors, form=form, rows=rows,
                  columns=columns)


def quantize_vectors(columns, form, rows=TOKENS):
    """One read of bf16, and for each form a byte a value and 4 for each 128 of them."""
    n, forms = rows * columns, 2 if form == "both" else 1
    return kernel("quantize_vectors", n * (2 + forms) + 4 * forms * n // 128, form=form, rows=rows, columns=columns)


def quantize_blocks(rows, columns, form):
    """Likewise, with a scale for 128 x 128 in the order of each form."""
    n, forms = rows * columns, 2 if form == "both" else 1
    written = {"row": block_scales(rows, columns), "column": block_scales(columns, rows)}
    floats = sum(written.values()) if form == "both" else written[form]
    return kernel("quantize_blocks", n * (2 + forms) + 4 * floats, form=form, rows=rows, columns=columns)


def record_amax(n):
    return kernel("record_amax", 12 * n, n=n)


def delayed_scales(n, length):
    """With the record_amax before it, of a step of one micro-batch."""
    return kernel("delayed_scales", (8 * length + 32) * n, n=n, length=length)


def transpose(rows, columns):
    return kernel("transpose", 2 * rows * columns, rows=rows, columns=columns)


def add_rmsnorm(dim):
    return kernel("add_rmsnorm", 8 * TOKENS * dim, rows=TOKENS, columns=dim)


def rmsnorm_backward(dim):
    return kernel("rmsnorm_backward", 8 * TOKENS * dim, rows=TOKENS, columns=dim)


def rope(m):
    """Queries and keys in one launch, which share the tables of cosines and sines."""
    half, heads = m["head_dim"] // 2, m["heads"] + m["kv_heads"]
    return kernel("rope", 4 * TOKENS * heads * m["head_dim"] + 8 * TOKENS * half, seq=TOKENS, heads=m["heads"],
                  kv_heads=m["kv_heads"], head_dim=m["head_dim"])


def swiglu_forward(m):
    n = TOKENS * m["ffn_dim"]
    return kernel("swiglu_forward", 6 * n, n=n)


def swiglu_backward(m):
    n = TOKENS * m["ffn_dim"]
    return kernel("swiglu_backward", 10 * n, n=n)


def adamw(n):
    return kernel("adamw", 28 * n, n=n)


def fill_normal(n):
    """Initial weights; it computes more than it writes."""
    return kernel("fill_normal", 4 * n, n=n)


def sum_of_squares(n):
    return kernel("sum_of_squares", 4 * n, n=n)


def embedding_forward(m):
    return kernel("embedding_forward", 4 * TOKENS * m["dim"] + 4 * TOKENS, rows=TOKENS, columns=m["dim"],
                  vocab=m["vocab_size"])


def embedding_backward(m, how):
    """The fp32 rows of the tokens that occur: "add" reads and writes each once; "first", the form of a step's first
    micro-batch, zeroes the whole table and writes them."""
    dim, vocab = m["dim"], m["vocab_size"]
    occurring = int(vocab * (1 - (1 - 1 / vocab) ** TOKENS)) * dim
    traffic = 8 * occurring if how == "add" else 4 * vocab * dim + 4 * occurring
    return kernel("embedding_backward", traffic + 2 * TOKENS * dim + 4 * TOKENS, how=how, rows=TOKENS, columns=dim,
                  vocab=vocab)


def cross_entropy(m, rows=2080):
    """A chunk of the head: as many rows as have 1 GiB of fp32 logits (Head::chunk_tokens). At least 6 bytes an element
    move, the logits once and their bf16 gradient: a row stays in the shared memory of a cluster of blocks."""
    return kernel("cross_entropy", rows * m["vocab_size"] * 6, rows=rows, vocab=m["vocab_size"])


# --- one block, op by op ---------------------------------------------------------------------------------------------


def block_ops(m, precision, micro_batches=1):
    """(label, row, count) of a block's forward and backward and of its weights' part of a step, for one of the step's
    micro-batches: what is done once a step counts as its share."""
    ops, once = [], 1 / micro_batches
    add = lambda label, row, count=1: ops.append((label, row, count))
    dim, ffn, q, kv = m["dim"], m["ffn_dim"], q_dim(m), kv_dim(m)
    float8 = precision == "float8"
    for name, o, i in linears(m):
        of = lambda form, added: linear_gemm(o, i, form, "fp8" if float8 else "bf16", added)
        add("GEMM forward", of("forward", False))
        # The gradient of an input that several linears read is summed by their GEMMs, in the order w1, w3 and wq, wk,
        # wv; weight gradients are from the second micro-batch on.
        add("GEMM grad_input", of("grad_input", name in ("wk", "wv", "w3")))
        add("GEMM grad_weight", of("grad_weight", False), once)
        if micro_batches > 1:
            add("GEMM grad_weight", of("grad_weight", True), 1 - once)
    add("attention forward", attention(m, "forward"))
    add("attention backward", attention(m, "backward"))
    add("RMSNorm", add_rmsnorm(dim), 2)
    add("RMSNorm backward", rmsnorm_backward(dim), 2)
    add("RoPE", rope(m), 2)
    add("SwiGLU", swiglu_forward(m))
    add("SwiGLU backward", swiglu_backward(m))
    if float8:
        add("abs-max of attention's outputs", stats(q))
        add("abs-max of attention's outputs", stats(kv))
        for columns in (dim, dim, q, ffn):
            add("casts of inputs", cast(columns))
            add("transposes of inputs", transpose(TOKENS, columns))
        for columns in (dim, dim, ffn, ffn, q, kv, kv):  # of w2, wo, w1, w3, wq, wk, wv
            add("casts of output gradients", cast(columns, "e5m2", both=True))
        for _, o, i in linears(m):
            add("transposes of weights", transpose(o, i))
            add("casts of weights", cast_weight(o, i), once)
    else:
        for _, o, i in linears(m):
            add("casts of weights", convert_weight(o, i), once)
    for _, o, i in linears(m):
        add("gradient norm", sum_of_squares(o * i), once)
        add("AdamW", adamw(o * i), once)
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


def step(model, precision, layers, micro_batches=1, recipe=None, graphs=None):
    """A training step of one sequence a micro-batch: the blocks on a vocabulary of bytes, or the 1.8B model whole.
    `graphs`: a value of cuda.graphs in place of the default."""
    m = MODELS[model]
    shape = dict(m, layers=layers)
    if model in STACKS:
        shape["vocab_size"] = 256
    suffix = f"/{micro_batches}-micro-batches" if micro_batches > 1 else ""
    suffix += f"/graphs-{graphs}" if graphs else ""
    return dict(row=f"step/{model}/{label_of(precision, recipe)}/{layers}-blocks{suffix}", op="step", name=model, model=shape,
                precision=precision, recipe=recipe, graphs=graphs, seq_len=TOKENS, micro_batches=micro_batches, warmup=WARMUP, steps=STEPS,
                flops=TOKENS * micro_batches * model_flops(shape), bytes=0)


def step_rows(memory):
    """Most important first. 1 block and as many as fit: their difference is the time of a block, without embedding,
    head and what a step costs once. With several micro-batches the optimizer's share is as small as on a cluster."""
    rows = []
    for micro_batches in (1, 4):
        for model in STACKS:
            for precision in reversed(PRECISIONS):
                most = min(max(blocks_that_fit(MODELS[model], memory), 2), MODELS[model]["layers"])
                rows += [step(model, precision, n, micro_batches) for n in (1, most)]
        rows += [step("1.8b", precision, MODELS["1.8b"]["layers"], micro_batches) for precision in reversed(PRECISIONS)]
    return rows


def recipe_step_rows(memory):
    """The stacks again in the other recipes of float8: Octet's alone, beside its tensorwise steps."""
    rows = []
    for model in STACKS:
        most = min(max(blocks_that_fit(MODELS[model], memory), 2), MODELS[model]["layers"])
        rows += [step(model, "float8", n, recipe=recipe) for recipe in RECIPES for n in (1, most)]
    return rows


def graph_step_rows():
    """The smallest whole model with CUDA graphs and without: Octet's alone."""
    return [step("1.8b", precision, MODELS["1.8b"]["layers"], graphs=graphs) for precision in reversed(PRECISIONS)
            for graphs in ("true", "false")]


# --- all of them -----------------------------------------------------------------------------------------------------


def unique(rows):
    return list({row["row"]: row for row in rows}.values())


def gemm_rows():
    rows = []
    for model in STACKS:
        for _, o, i in linears(MODELS[model]):
            rows += [linear_gemm(o, i, form, mode) for form in FORMS for mode in MODES]
    return unique(rows + [gemm(n, n, n, "forward", mode) for n in SQUARES for mode in MODES])


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


def kernel_rows():
    rows = [copy()]
    for model in STACKS:
        for precision in PRECISIONS:
            rows += [row for _, row, _ in block_ops(MODELS[model], precision) if row["op"] not in
                     ("gemm", "attention_forward", "attention_backward")]
    for model in ("8b", "70b"):
        m = MODELS[model]
        rows += [fill_normal(m["ffn_dim"] * m["dim"]), embedding_forward(m), embedding_backward(m, "add"), embedding_backward(m, "first"), cross_entropy(m)]
    return unique(rows + recipe_kernel_rows())


def former_kernel_rows():
    """Rows of earlier commits, for tables of what was measured then: queries and keys were rotated one after the other."""
    def rope_of(m, heads):
        n = TOKENS * m["head_dim"]
        return kernel("rope", 4 * n * heads + 4 * n, seq=TOKENS, heads=heads, head_dim=m["head_dim"])

    return unique([rope_of(MODELS[model], MODELS[model][heads]) for model in STACKS for heads in ("heads", "kv_heads")])


def attention_rows():
    return unique([attention(m, d) for m in MODELS.values() for d in ("forward", "backward")])


def documents_rows():
    """Attention within documents of these lengths, by our own kernels and by cuDNN's; one of 8,192 is the whole row, so
    that it shows what they cost beside attention without documents."""
    return [attention(MODELS["8b"], d, documents=length, by=by) for length in (512, 2048, 8192) for by in (None, "cudnn")
            for d in ("forward", "backward")]


def groups(memory=80e9):
    """(group, program, rows), in the order in which they run. Both programs' rows of a kind stand next to each other,
    so that they meet the same machine; a group is one process."""
    out = [("kernels", "octet", kernel_rows()), ("attention", "octet", attention_rows() + documents_rows()),
           ("attention", "torch", [copy()] + attention_rows()), ("gemm", "octet", gemm_rows() + adding_gemm_rows() + recipe_gemm_rows()),
           ("gemm", "torch", gemm_rows())]
    by_run = {}
    for row in step_rows(memory):
        by_run.setdefault((row["name"], row["precision"], row["micro_batches"]), []).append(row)
    for (name, precision, micro_batches), rows in by_run.items():
        label = f"step/{name}/{precision}" + (f"/{micro_batches}" if micro_batches > 1 else "")
        out += [(label, "octet", rows), (label, "torch", rows)]
    return out + [("step/recipes", "octet", recipe_step_rows(memory)), ("step/graphs", "octet", graph_step_rows())]
