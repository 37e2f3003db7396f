"""Models, and rows of single kernels: one a shape. bench_rows.py says what a row is."""

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
# Lengths of documents, again and again until a row is full, for attention within them. Mixed ones have the same mean.
DOCUMENTS = {"512": [512], "2048": [2048], "8192": [8192], "512-mixed": [64, 128, 256, 512, 1600],
             "2048-mixed": [256, 512, 1024, 2048, 6400]}
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


def gemm(m, n, k, form, mode, add=False, fast=False, gradient=None, multiprocessors=None):
    """`add`: the product is added to what c holds (beta = 1), so c is read too. `fast`: a gradient's GEMM with fast
    accumulation, which the forward GEMM in fp8 always has (float8.fast_accumulate all). `gradient`: bf16 stores a
    weight's gradient in bf16 in place of fp32 (parallel.gradient_wire). `multiprocessors`: for how many of the GPU's
    multiprocessors the algorithm is chosen, as beside an update (optimizer.beside_gemms)."""
    width = 2 if mode == "bf16" else 1
    c = m * n * (4 if form == "grad_weight" and not gradient else 2) * (2 if add else 1)
    suffix = ("/add" if add else "") + ("/fast" if fast else "") + (f"/{gradient}-gradients" if gradient else "")
    suffix += f"/{multiprocessors}-multiprocessors" if multiprocessors else ""
    return dict(row=f"gemm/{m}x{n}x{k}/{form}/{mode}" + suffix, op="gemm",
                m=m, n=n, k=k, form=form, mode=mode, **({"beta": 1} if add else {}), **({"fast": True} if fast else {}),
                **stored_in(gradient), **({"multiprocessors": multiprocessors} if multiprocessors else {}), flops=2 * m * n * k,
                bytes=width * (m + n) * k + c + 4 * scales(m, n, k, form, mode) + cast_bytes(m, n, k, form, mode))


def stored_in(gradient):
    return {"gradient": gradient} if gradient else {}


def linear_gemm(outputs, inputs, form, mode, add=False, tokens=TOKENS, fast=False, gradient=None, multiprocessors=None):
    m, n, k = {"forward": (tokens, outputs, inputs), "grad_input": (tokens, inputs, outputs),
               "grad_weight": (outputs, inputs, tokens)}[form]
    return gemm(m, n, k, form, mode, add, fast, gradient, multiprocessors)


def ways_of(row):
    """The same product in each way that may be why ours are slower than PyTorch's (tests/benchmark/gpu/gemm_ways.cpp):
    as a run makes it, and with one thing changed at a time. The row's time is that of the fastest."""
    return {**row, "row": row["row"] + "/ways", "op": "gemm_ways"}


def attention(m, direction, seq=TOKENS, documents=None, by=None):
    """Causal FLOPs: half the square, or half the squares of documents (a key of DOCUMENTS), which `by` computes
    (cuda.document_attention, "own" if None); two products forward, five backward."""
    products = 2 if direction == "forward" else 5
    q, k = q_dim(m) * seq, kv_dim(m) * seq
    tensors = 2 * q + 2 * k if direction == "forward" else 4 * q + 4 * k
    within = {} if documents is None else {"documents": DOCUMENTS[documents]}
    if by is not None:
        within["document_attention"] = by
    return dict(row=f"attention/{m['heads']}:{m['kv_heads']}x{m['head_dim']}x{seq}/{direction}" +
                (f"/documents-{documents}" if within else "") + (f"/{by}" if by else ""),
                op=f"attention_{direction}", batch=1, seq=seq, heads=m["heads"], kv_heads=m["kv_heads"],
                head_dim=m["head_dim"], **within, flops=int(products * q * seq * share_of_squares(documents, seq)), bytes=2 * tensors + 4 * m["heads"] * seq)


def share_of_squares(documents, seq=TOKENS):
    """What documents (a key of DOCUMENTS) leave of attention's work on a row; 1 where there are none."""
    lengths, left = [], seq
    while documents is not None and left > 0:
        lengths.append(min(left, DOCUMENTS[documents][len(lengths) % len(DOCUMENTS[documents])]))
        left -= lengths[-1]
    return sum(length * length for length in lengths) / seq**2 if lengths else 1


def kernel(op, traffic, **sizes):
    name = "x".join(str(v) for k, v in sizes.items() if not isinstance(v, (bool, str)))
    kind = "/".join([str(v) for v in sizes.values() if isinstance(v, str)] + (["both"] if sizes.get("transposed") else []))
    return dict(row="/".join(["kernel", op] + ([kind] if kind else []) + [name]), op=op, **sizes, bytes=traffic, flops=0)


def stats(columns):
    return kernel("stats", 2 * TOKENS * columns, n=TOKENS * columns)


def cast(columns, to="e4m3", both=False, how=None):
    """bf16 to 8 bits; `both`: with the transposed copy, for the two GEMMs of a backward pass. `how`: measures, with a scale
    that was there before, and the abs-max in the same read, as recipe delayed casts what no producer has measured; normed,
    of a norm's output that has no place in memory, as in recipe tensorwise: of its input and a factor a row."""
    n, factors = TOKENS * columns, 4 * TOKENS if how == "normed" else 0
    return kernel("cast", n * (4 if both else 3) + factors, rows=TOKENS, columns=columns, **{"from": "bf16", "to": to},
                  transposed=both, **({"how": how} if how else {}))


def cast_weight(o, i, both=True):
    """fp32 to 8 bits; `both`: as stored and transposed, as a rank that has whole weights casts them."""
    return kernel("cast", (6 if both else 5) * o * i, rows=o, columns=i, **{"from": "f32", "to": "e4m3"}, transposed=both)


def apart(row):
    """The rows that do together what this one does. For a weight's cast into both forms: a rank that has a piece of the
    weight casts that, and transposes the whole. Up to bd3b7bc every rank did. For an update that writes weights in bf16:
    where they are sent it does not, and up to 6cd37ae nowhere. For what recipe tensorwise does without bf16 between: up to
    daca5fb norms and SwiGLU's backward stored that, and casts read it. Of other rows none."""
    if row.get("how") == "twice":
        m = {"ffn_dim": row["columns"]}
        return [swiglu_backward(m), *2 * [cast(row["columns"], "e5m2", both=True)]]
    if row["op"] == "adamw" and row.get("rounded"):
        return [adamw(row["n"], row.get("gradient")), convert_weight(row["n"])]
    if row["op"] == "add_rmsnorm" and row.get("how"):
        return [add_rmsnorm(row["columns"])]
    if row.get("how") == "normed":
        return [cast(row["columns"], both=row["transposed"])]
    if row["op"] != "cast" or row["from"] != "f32" or not row["transposed"]:
        return []
    return [cast_weight(row["rows"], row["columns"], both=False), transpose(row["rows"], row["columns"])]


def convert_weight(n):
    return kernel("convert", 6 * n, n=n)


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


def add_rmsnorm(dim, float8=False, measures=False):
    """`measures`: its output is not stored, only its abs-max is taken, as in recipe tensorwise. `float8`, here and below:
    what recipe delayed has the kernel write. A norm's output is then written in 8 bits alone, a norm's gradient in both, and rotated gradients in 8 bits, as stored and transposed."""
    if measures:
        return kernel("add_rmsnorm", 6 * TOKENS * dim, rows=TOKENS, columns=dim, how="measures")
    return kernel("add_rmsnorm", (7 if float8 else 8) * TOKENS * dim, rows=TOKENS, columns=dim, **writes(float8))


def rmsnorm_backward(dim, float8=False):
    return kernel("rmsnorm_backward", (9 if float8 else 8) * TOKENS * dim, rows=TOKENS, columns=dim, **writes(float8))


def writes(float8):
    return {"writes": "float8"} if float8 else {}


def rope(m, float8=False):
    """Queries and keys in one launch, which share the tables of cosines and sines."""
    half, heads = m["head_dim"] // 2, m["heads"] + m["kv_heads"]
    return kernel("rope", 4 * TOKENS * heads * m["head_dim"] + 8 * TOKENS * half, seq=TOKENS, heads=m["heads"],
                  kv_heads=m["kv_heads"], head_dim=m["head_dim"], **writes(float8))


def swiglu_forward(m, float8=False):
    """With `float8` as stored and transposed, 8 bits each, in place of bf16: as many bytes."""
    return kernel("swiglu_forward", 6 * TOKENS * m["ffn_dim"], **swiglu_sizes(m, float8))


def swiglu_backward(m, float8=False, twice=False):
    """`twice`: for the abs-maxes alone, and then for 8 bits, as in recipe tensorwise."""
    if twice:
        return kernel("swiglu_backward", 16 * TOKENS * m["ffn_dim"], **swiglu_sizes(m, True), how="twice")
    return kernel("swiglu_backward", 10 * TOKENS * m["ffn_dim"], **swiglu_sizes(m, float8))


def swiglu_sizes(m, float8):
    return dict(rows=TOKENS, columns=m["ffn_dim"], **writes(True)) if float8 else dict(n=TOKENS * m["ffn_dim"])


def adamw(n, gradient=None, multiprocessors=None, rounded=False, float8=False):
    """`multiprocessors`: of the GPU, that it takes at most, as beside a forward pass (optimizer.beside_multiprocessors).
    `rounded`, `float8`: it writes the weights in bf16 or in 8 bits as well."""
    row = kernel("adamw", ((26 if gradient else 28) + (2 if rounded else 1 if float8 else 0)) * n, n=n, **stored_in(gradient))
    for form in ["rounded"] * rounded + ["float8"] * float8:
        row.update({"row": f"{row['row']}/{form}", form: True})
    if multiprocessors:
        row.update(row=f"{row['row']}/{multiprocessors}-multiprocessors", multiprocessors=multiprocessors)
    return row


def fill_normal(n):
    """Initial weights; it computes more than it writes."""
    return kernel("fill_normal", 4 * n, n=n)


def sum_of_squares(n, gradient=None):
    return kernel("sum_of_squares", (2 if gradient else 4) * n, n=n, **stored_in(gradient))


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


def cross_entropy(m, rows=2048):
    """A chunk of the head: as many rows as have 1 GiB of fp32 logits (Head::chunk_tokens). At least 6 bytes an element
    move, the logits once and their bf16 gradient: a row stays in the shared memory of a cluster of blocks."""
    return kernel("cross_entropy", rows * m["vocab_size"] * 6, rows=rows, vocab=m["vocab_size"])
