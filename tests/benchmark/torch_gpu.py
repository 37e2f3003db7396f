#!/usr/bin/env python3
"""PyTorch's side of jobs/gpu/bench.sh: the same rows as octet-bench-gpu and octet-train, on the same GPU.

    tests/benchmark/torch_gpu.py --rows FILE [--device cpu]     rows as jobs/gpu/bench/bench_rows.py writes them, one JSON a line

GEMM rows: torch.mm for bf16, torch._scaled_mm for fp8. Casts and training steps in float8 do what torchao's
Float8Linear does with tensorwise dynamic scaling (scale = max / clamp(abs-max, 1e-12) in fp64, saturating cast; input
and weight e4m3, output gradient e5m2; fast accumulation in the forward product only; inputs cast again in backward),
written in plain torch and compiled, so that no torchao is needed. Weights are fp32 parameters, cast where they are used,
as FSDP2 gathers them: once in the forward pass of every micro-batch, where Octet on one GPU casts them once a step. Attention is scaled_dot_product_attention, cuDNN's first. A training step is
forward, loss, backward, clipping to norm 1 and fused AdamW; every block is compiled.

Prints a JSON object a row. Exit 3 with the reason where there is no torch or no GPU.
"""

import argparse
import ctypes
import gc
import json
import os
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    print(f"no torch: {error}", file=sys.stderr)
    sys.exit(3)

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
BACKENDS = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
SECONDS_A_ROW = 0.25
FIRST_SETTLE_SECONDS, SETTLE_SECONDS = 8, 0.15  # of work before what draws power is timed, as octet-bench-gpu
FOOTPRINT = 512_000_000  # bytes of the copies of a row's work, so that none finds its own data in the cache

# --- float8, tensorwise dynamic --------------------------------------------------------------------------------------


def scale_of(x, dtype):
    amax = x.abs().max().to(torch.float64)
    return (torch.finfo(dtype).max / amax.clamp(min=1e-12)).to(torch.float32)


def quantise(x, dtype):
    """The fp8 tensor and the inverse of its scale."""
    scale = scale_of(x, dtype)
    top = torch.finfo(dtype).max
    return (x.float() * scale).clamp(-top, top).to(dtype), scale.reciprocal()


def scaled_mm(a, b, inverse_a, inverse_b, fast):
    """a [m, k] and b [n, k], both with k contiguous, which is the only form that Hopper has."""
    return torch._scaled_mm(a, b.t(), scale_a=inverse_a, scale_b=inverse_b, out_dtype=torch.bfloat16,
                            use_fast_accum=fast)


class Float8Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        (x8, ix), (w8, iw) = quantise(x, E4M3), quantise(w, E4M3)
        ctx.save_for_backward(x, w8, iw)
        ctx.weight_dtype = w.dtype
        return scaled_mm(x8, w8, ix, iw, True)

    @staticmethod
    def backward(ctx, g):
        x, w8, iw = ctx.saved_tensors
        (g8, ig), (x8, ix) = quantise(g, E5M2), quantise(x, E4M3)
        dx = scaled_mm(g8, w8.t().contiguous(), ig, iw, False)
        dw = scaled_mm(g8.t().contiguous(), x8.t().contiguous(), ig, ix, False)
        return dx, dw.to(ctx.weight_dtype)


# --- the model -------------------------------------------------------------------------------------------------------


class Linear(nn.Module):
    def __init__(self, inputs, outputs, float8, device):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, device=device) * 0.02)
        self.float8 = float8

    def forward(self, x):
        if not self.float8:
            return F.linear(x, self.weight.bfloat16())
        return Float8Product.apply(x.flatten(0, -2), self.weight).view(*x.shape[:-1], -1)


def rms_norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight.to(x.dtype), 1e-5)


def rotate(x, cos, sin):
    """x [batch, seq, heads, head_dim], half-split pairs, in fp32."""
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, m, float8, device):
        super().__init__()
        self.m = m
        dim, head, ffn = m["dim"], m["head_dim"], m["ffn_dim"]
        q, kv = m["heads"] * head, m["kv_heads"] * head
        linear = lambda inputs, outputs: Linear(inputs, outputs, float8, device)
        self.attention_norm = nn.Parameter(torch.ones(dim, device=device))
        self.ffn_norm = nn.Parameter(torch.ones(dim, device=device))
        self.wq, self.wk, self.wv, self.wo = linear(dim, q), linear(dim, kv), linear(dim, kv), linear(q, dim)
        self.w1, self.w3, self.w2 = linear(dim, ffn), linear(dim, ffn), linear(ffn, dim)

    def forward(self, h, cos, sin):
        m, (batch, seq, _) = self.m, h.shape
        x = rms_norm(h, self.attention_norm)
        q = rotate(self.wq(x).view(batch, seq, m["heads"], -1), cos, sin)
        k = rotate(self.wk(x).view(batch, seq, m["kv_heads"], -1), cos, sin)
        v = self.wv(x).view(batch, seq, m["kv_heads"], -1)
        o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                                           enable_gqa=m["heads"] != m["kv_heads"])
        h = h + self.wo(o.transpose(1, 2).reshape(batch, seq, -1))
        x = rms_norm(h, self.ffn_norm)
        return h + self.w2(F.silu(self.w1(x)) * self.w3(x))


class Llama(nn.Module):
    def __init__(self, m, seq, float8, device):
        super().__init__()
        self.blocks = nn.ModuleList(Block(m, float8, device) for _ in range(m["layers"]))
        self.embedding = nn.Parameter(torch.randn(m["vocab_size"], m["dim"], device=device))
        self.norm = nn.Parameter(torch.ones(m["dim"], device=device))
        self.output = nn.Parameter(torch.randn(m["vocab_size"], m["dim"], device=device) * 0.02)
        half = m["head_dim"] // 2
        angle = torch.arange(seq).double()[:, None] * 500000.0 ** (-torch.arange(half).double() / half)
        self.cos, self.sin = (f().float().to(device)[None, :, None, :] for f in (angle.cos, angle.sin))

    def head(self, h, targets):
        logits = F.linear(rms_norm(h, self.norm), self.output.bfloat16())
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


class Trainer:
    def __init__(self, row, device):
        torch.manual_seed(1)
        self.model = Llama(row["model"], row["seq_len"], row["precision"] == "float8", device)
        for block in self.model.blocks:
            block.compile(fullgraph=True)
        self.head = torch.compile(self.model.head)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=row["lr"], betas=(0.9, 0.95), eps=1e-8,
                                           weight_decay=0.1, fused=True)
        self.micro_batches = row["micro_batches"]
        shape = (row["micro_batches"], 1, row["seq_len"] + 1)
        self.tokens = torch.randint(min(row["model"]["vocab_size"], 256), shape, device=device)

    def step(self):
        model, total = self.model, 0.0
        for tokens in self.tokens:
            h = F.embedding(tokens[:, :-1], model.embedding).bfloat16()
            for block in model.blocks:
                h = block(h, model.cos, model.sin)
            loss = self.head(h, tokens[:, 1:]) / self.micro_batches
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total.item()  # waits for the step, as octet-train does for its loss


# --- which libraries -------------------------------------------------------------------------------------------------

# Library, how its file begins, the function that tells its version: MAJOR * 10000 + MINOR * 100 + PATCH in all of them
# but NVRTC, which has no PATCH.
LIBRARIES = (("cuBLASLt", "libcublasLt.so", "cublasLtGetVersion"), ("cuDNN", "libcudnn.so", "cudnnGetVersion"),
             ("NCCL", "libnccl.so", "ncclGetVersion"), ("NVRTC", "libnvrtc.so", "nvrtcVersion"))


def version_of(path, function):
    """Of a library that this process has already loaded."""
    function = getattr(ctypes.CDLL(path), function)
    if function.__name__ == "ncclGetVersion":  # gives a status and writes the number
        version = ctypes.c_int()
        function(ctypes.byref(version))
        number = version.value
    elif function.__name__ == "nvrtcVersion":
        major, minor = ctypes.c_int(), ctypes.c_int()
        function(ctypes.byref(major), ctypes.byref(minor))
        number = major.value * 10000 + minor.value * 100
    else:
        function.restype = ctypes.c_size_t
        number = function()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def loaded_libraries():
    """{name: {version, path}} of what is mapped into this process: what torch really uses."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = sorted({line.split(maxsplit=5)[5].strip() for line in file if len(line.split(maxsplit=5)) == 6})
    found = {}
    for name, begin, function in LIBRARIES:
        for path in paths:
            if os.path.basename(path).startswith(begin):
                found[name] = {"version": version_of(path, function), "path": path}
    return found


# --- rows ------------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, device):
        self.device = device
        self.cuda = device.type == "cuda"

    def random(self, *shape, dtype=torch.bfloat16):
        x = torch.randn(*shape, device=self.device)
        if dtype in (E4M3, E5M2):  # .to does not saturate: what is beyond e4m3's range would be NaN
            top = torch.finfo(dtype).max
            x = (x * (90 if dtype == E4M3 else 11000)).clamp(-top, top)
        return x.to(dtype)

    def gemm(self, row):
        m, n, k, form = row["m"], row["n"], row["k"], row["form"]
        a_dtype = E4M3 if form == "forward" else E5M2
        if row["mode"] == "bf16":  # stored as a linear stores them
            a = self.random(k, m).t() if form == "grad_weight" else self.random(m, k)
            b = self.random(n, k).t() if form == "forward" else self.random(k, n)
            return (lambda: torch.mm(a, b)), 2 * (m + n) * k
        if row["mode"] == "fp8":
            a, b = self.random(m, k, dtype=a_dtype), self.random(n, k, dtype=E4M3)
            one = torch.full((), 1 / 64, device=self.device)
            return (lambda: scaled_mm(a, b, one, one, form == "forward")), (m + n) * k
        a = self.random(k, m) if form == "grad_weight" else self.random(m, k)
        b = self.random(n, k) if form == "forward" else self.random(k, n)

        def product(a, b):
            (a8, ia), (b8, ib) = quantise(a, a_dtype), quantise(b, E4M3)
            a8 = a8.t().contiguous() if form == "grad_weight" else a8
            b8 = b8 if form == "forward" else b8.t().contiguous()
            return scaled_mm(a8, b8, ia, ib, form == "forward")

        compiled = self.compiled(product, row["row"])
        return (lambda: compiled(a, b)), 2 * (m + n) * k

    def compiled(self, function, row):
        """One compilation a row, of exactly its shape, shared by the copies of the row's work."""
        if getattr(self, "compiled_for", None) != row:
            torch._dynamo.reset()
            self.compiled_for, self.function = row, torch.compile(function, dynamic=False)
        return self.function

    def qkv(self, row, gradients):
        shape = lambda heads: (row["batch"], row["seq"], heads, row["head_dim"])
        heads = (row["heads"], row["kv_heads"], row["kv_heads"])
        return [self.random(*shape(h)).transpose(1, 2).requires_grad_(gradients) for h in heads]

    def attention_forward(self, row):
        q, k, v = self.qkv(row, False)
        gqa = row["heads"] != row["kv_heads"]
        return (lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=gqa)), 4 * (q.numel() + k.numel())

    def attention_backward(self, row):
        q, k, v = self.qkv(row, True)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=row["heads"] != row["kv_heads"])
        g = torch.randn_like(o)
        return (lambda: torch.autograd.grad(o, (q, k, v), g, retain_graph=True)), 8 * (q.numel() + k.numel())

    def copy(self, row):
        """The fastest of the ways that there are, as octet-bench-gpu's."""
        x = self.random(row["n"] // 4, dtype=torch.float32)
        y = torch.empty_like(x)
        ways = {"copy_": (lambda: y.copy_(x), False), "copy_ in a graph": (lambda: y.copy_(x), True),
                "kernel": (lambda: torch.neg(x, out=y), True)}
        times = {way: self.time([work], graph) for way, (work, graph) in ways.items()}
        best = min(times, key=lambda way: times[way]["seconds"])
        return {"row": row["row"], **times[best], "way": best,
                "seconds_of_way": {way: timing["seconds"] for way, timing in times.items()}}

    def kernel_row(self, row):
        make = getattr(self, row["op"])
        first, size = make(row)
        copies = min(max(FOOTPRINT // size + 1, 1), 32) if self.cuda else 1
        rotation = [first] + [make(row)[0] for _ in range(copies - 1)]
        return {"row": row["row"], **self.time(rotation, row["op"] != "attention_backward", self.settle_before(row["op"]))}

    def settle_before(self, op):
        if not self.cuda or not op.startswith(("gemm", "attention")):
            return 0.0
        first, self.settled = not getattr(self, "settled", False), True
        return FIRST_SETTLE_SECONDS if first else SETTLE_SECONDS

    def seconds_of(self, work):
        if not self.cuda:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def time(self, rotation, graph, settle=0.0):
        """As tests/benchmark/gpu/stream_timer.h: rounds over the rotation between two events, as a CUDA graph."""
        def rounds_of(rounds):
            for _ in range(rounds):
                for work in rotation:
                    work()

        rounds_of(2)  # compiles, too
        once = max(self.seconds_of(lambda: rounds_of(1)), 1e-6)
        rounds = min(max(int(2e-3 / once), 1), max(1, 100 // len(rotation)))
        run, captured = (lambda: rounds_of(rounds)), False
        if self.cuda and graph:
            try:
                recorded = torch.cuda.CUDAGraph()
                with torch.cuda.graph(recorded):
                    rounds_of(rounds)
                run, captured = recorded.replay, True
                run()
            except RuntimeError as error:
                print(f"no graph: {error}", file=sys.stderr)
        repeats = min(max(int(SECONDS_A_ROW / (once * rounds)), 5), 25)
        for _ in range(int(settle / (once * rounds))):
            self.seconds_of(run)
        launches = rounds * len(rotation)
        seconds = sorted(self.seconds_of(run) / launches for _ in range(repeats))
        return {"seconds": seconds[repeats // 2], "lowest": seconds[0], "highest": seconds[-1], "repeats": repeats,
                "launches": launches, "graph": captured}

    def step(self, row):
        if self.cuda:
            torch.cuda.reset_peak_memory_stats()
        trainer = Trainer(row, self.device)
        seconds, losses = [], []
        for _ in range(row["warmup"] + row["steps"]):
            start = time.perf_counter()
            losses.append(trainer.step())
            seconds.append(time.perf_counter() - start)
        measured = seconds[row["warmup"]:-1]  # as bench_train.step_result
        return {"row": row["row"], "seconds": statistics.fmean(measured), "lowest": min(measured),
                "highest": max(measured), "repeats": len(measured), "tokens": row["seq_len"] * row["micro_batches"],
                "loss_first": losses[0], "loss_last": losses[-1],
                "memory_bytes": torch.cuda.max_memory_allocated() if self.cuda else None}

    def run(self, row):
        with sdpa_kernel(BACKENDS, set_priority=True):
            if row["op"] == "step":
                return self.step(row)
            if row["op"] == "copy":
                return self.copy(row)
            if row["op"] == "attention_backward":
                return self.kernel_row(row)
            with torch.no_grad():
                return self.kernel_row(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", required=True, metavar="FILE")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device", file=sys.stderr)
        return 3
    with open(options.rows, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    bench = Bench(torch.device(options.device))
    failed = 0
    for row in rows:
        try:
            result = bench.run(row)
        except Exception as error:  # the other rows are still worth their time
            result = {"row": row["row"], "error": f"{type(error).__name__}: {error}"}
            failed += 1
        print(json.dumps({**result, "torch": torch.__version__, "libraries": loaded_libraries()}), flush=True)
        gc.collect()
        if bench.cuda:
            torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
