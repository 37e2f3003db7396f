#!/usr/bin/env python3
"""Speed of PyTorch training the benchmark models on CPU: the other side of compare_torch.sh.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python tests/benchmark/torch_llama.py --model 160m --precision bf16 --mode compile --threads 2

A step is what Octet does in a step: forward, mean cross-entropy, backward, clipping to norm 1, AdamW on fp32 master
weights. bf16 comes in two ways, both with fp32 master weights and moments, and one takes the faster:
  autocast  fp32 parameters, torch.autocast casts them (and the activations) to bf16 for every GEMM;
  copies    bf16 parameters, copied from fp32 masters after each step; gradients are widened to fp32 for AdamW.
Prints one JSON line; tokens_per_second is from the median of the measured steps. median_step_cpu_seconds is processor
time over all threads: with one thread, about what a step would take on a machine that does nothing else.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

MODELS = {
    "160m": dict(dim=768, layers=12, heads=12, kv_heads=4, ffn_dim=2048, vocab=256, seq_len=1024),
    "10m": dict(dim=256, layers=12, heads=4, kv_heads=4, ffn_dim=704, vocab=256, seq_len=512),
}


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), 1e-5)


def rotate(x, cos, sin):
    """x [batch, heads, seq, head_dim], half-split pairs."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = c.heads, c.kv_heads, c.dim // c.heads
        self.gqa = c.gqa
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        kv_dim = c.kv_heads * self.head_dim
        self.attention_norm, self.ffn_norm = RMSNorm(c.dim), RMSNorm(c.dim)
        self.wq, self.wk, self.wv, self.wo = (
            linear(c.dim, c.dim), linear(c.dim, kv_dim), linear(c.dim, kv_dim), linear(c.dim, c.dim))
        self.w1, self.w3, self.w2 = linear(c.dim, c.ffn_dim), linear(c.dim, c.ffn_dim), linear(c.ffn_dim, c.dim)

    def attention(self, x, cos, sin):
        batch, seq, dim = x.shape
        split = lambda y, heads: y.view(batch, seq, heads, self.head_dim).transpose(1, 2)
        q, k, v = split(self.wq(x), self.heads), split(self.wk(x), self.kv_heads), split(self.wv(x), self.kv_heads)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        group = self.heads // self.kv_heads
        if self.gqa == "repeat" and group > 1:
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        native = self.gqa == "native" and group > 1
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=native)
        return self.wo(y.transpose(1, 2).reshape(batch, seq, dim))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok_embeddings = nn.Embedding(c.vocab, c.dim)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RMSNorm(c.dim)
        self.output = nn.Linear(c.dim, c.vocab, bias=False)
        half = c.dim // c.heads // 2
        angle = torch.arange(c.seq_len).double()[:, None] * 500000.0 ** (-torch.arange(half).double() / half)
        dtype = torch.bfloat16 if c.precision == "bf16" else torch.float32
        self.cos, self.sin = angle.cos().to(dtype), angle.sin().to(dtype)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=1.0 if "embeddings" in name else 0.02)

    def forward(self, tokens, targets):
        x = self.tok_embeddings(tokens)
        if self.cos.dtype == torch.bfloat16:
            x = x.bfloat16()
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        logits = self.output(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self, c):
        torch.manual_seed(1)
        model = Llama(c)
        self.autocast = c.precision == "bf16" and c.bf16 == "autocast"
        self.masters = None
        if c.precision == "bf16" and c.bf16 == "copies":
            self.masters = [p.detach().clone() for p in model.parameters()]
            for master in self.masters:
                master.grad = torch.empty_like(master)
            model.bfloat16()
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.AdamW(
            self.masters or self.parameters, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True)
        self.model = torch.compile(model) if c.mode == "compile" else model

    def step(self, tokens, targets):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            loss = self.model(tokens, targets)
        loss.backward()
        if self.masters:
            torch._foreach_copy_([m.grad for m in self.masters], [p.grad for p in self.parameters])
        updated = self.masters or self.parameters
        nn.utils.clip_grad_norm_(updated, 1.0, foreach=True)
        self.optimizer.step()
        if self.masters:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, self.masters)
        for p in self.parameters:
            p.grad = None
        return loss.item()


def batch(c, step):
    """Noisy but learnable sequences, a new batch each step."""
    generator = torch.Generator().manual_seed(1000 + step)
    sequence = torch.randint(c.vocab, (c.micro_batch, c.seq_len + 1), generator=generator)
    follow = torch.rand(sequence.shape, generator=generator) < 0.7
    for t in range(1, c.seq_len + 1):
        sequence[:, t] = torch.where(follow[:, t], (5 * sequence[:, t - 1] + 3) % c.vocab, sequence[:, t])
    return sequence[:, :-1].contiguous(), sequence[:, 1:].contiguous()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="10m")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--bf16", choices=("autocast", "copies"), default="copies", help="how bf16 is done")
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--gqa", choices=("native", "repeat"), default="native",
                        help="grouped-query attention by SDPA's enable_gqa, or by repeating k and v before it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--micro-batch", type=int, default=1, help="sequences a step")
    parser.add_argument("--warmup", type=int, default=2, help="steps before the measured ones")
    parser.add_argument("--steps", type=int, default=8, help="measured steps")
    for key in ("vocab", "seq_len", "kv_heads"):
        parser.add_argument("--" + key.replace("_", "-"), type=int, help="instead of the model's own")
    c = parser.parse_args()
    for key, value in MODELS[c.model].items():
        if getattr(c, key, None) is None:
            setattr(c, key, value)
    return c


def main():
    c = arguments()
    torch.set_num_threads(c.threads)
    trainer = Trainer(c)
    losses, seconds, cpu_seconds = [], [], []
    for step in range(c.warmup + c.steps):
        tokens, targets = batch(c, step)
        start, cpu_start = time.perf_counter(), time.process_time()
        losses.append(trainer.step(tokens, targets))
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    median = statistics.median(seconds[c.warmup:])
    precision = c.precision if c.precision == "fp32" else f"bf16-{c.bf16}"
    print(json.dumps({
        "framework": f"torch {torch.__version__.split('+')[0]}", "model": c.model, "precision": precision, "mode": c.mode,
        "gqa": c.gqa, "threads": c.threads, "micro_batch": c.micro_batch, "seq_len": c.seq_len, "vocab": c.vocab,
        "tokens_per_second": round(c.micro_batch * c.seq_len / median, 1), "median_step_seconds": round(median, 5),
        "median_step_cpu_seconds": round(statistics.median(cpu_seconds[c.warmup:]), 5),
        "loss_first": round(losses[0], 5), "loss_last": round(losses[-1], 5)}), flush=True)


if __name__ == "__main__":
    main()
