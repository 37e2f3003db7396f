"""Llama's loss with the operands of its linears cast as a run's precision and recipe say, for autograd."""
import math

import torch

from whole_run.float8_casts import Casts, to_bf16, unchanged


class Linear(torch.autograd.Function):
    """Y = X W^T of what the operands are cast to; X, Y and their gradients are of the storage dtype, W and its gradient
    fp32. `casts` has six functions: X and W for Y, dY and W for dX, dY and X for dW."""

    @staticmethod
    def forward(ctx, x, w, casts, out):
        ctx.save_for_backward(x, w)
        ctx.casts = casts
        return (casts[0](x.float()) @ casts[1](w).T).to(out)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        casts, dy = ctx.casts, dy.float()
        return (casts[2](dy) @ casts[3](w)).to(x.dtype), casts[4](dy).T @ casts[5](x.float()), None, None


class Llama:
    def __init__(self, shape, config):
        self.s, self.casts = shape, Casts(config, shape["layers"])
        self.storage = torch.float32 if config["precision"] == "fp32" else torch.bfloat16
        self.round = unchanged if self.storage == torch.float32 else to_bf16
        self.weights = {}

    def linear(self, x, name, casts, out=None):
        y = Linear.apply(x.flatten(0, 1), self.weights[name + ".weight"], casts, out or self.storage)
        return y.view(*x.shape[:2], -1)

    def block_linear(self, x, layer, name):
        return self.linear(x, f"layers.{layer}.{name}", self.casts.of(layer, name))

    def norm(self, x, name):
        w = self.weights[name + ".weight"]
        w = w + (self.round(w) - w).detach()  # computes with the rounded weight; its gradient is the weight's
        x = x.float()
        return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + float(self.s["norm_eps"])) * w).to(self.storage)

    def rope_tables(self, positions):
        s = self.s
        f = float(s["rope_theta"]) ** (-2 * torch.arange(s["head_dim"] // 2, dtype=torch.float64) / s["head_dim"])
        if s["rope_scaling"] == "llama3":
            turns = s["rope_original_positions"] * f / (2 * math.pi)
            low, high = s["rope_low_freq_factor"], s["rope_high_freq_factor"]
            keep = ((turns - low) / (high - low)).clamp(0, 1)
            f = keep * f + (1 - keep) * f / s["rope_factor"]
        angles = positions.double()[..., None, None] * f
        return angles.cos().float(), angles.sin().float()

    def rotated(self, x, cos, sin):
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(self.storage)

    def attention(self, h, layer, begin):
        s, (rows, seq) = self.s, h.shape[:2]
        heads = {"wq": s["heads"], "wk": s["kv_heads"], "wv": s["kv_heads"]}
        q, k, v = (self.block_linear(h, layer, f"attention.{n}").view(rows, seq, m, -1) for n, m in heads.items())
        place = torch.arange(seq)
        tables = self.rope_tables(place - begin)
        q, k, v = (x.float().transpose(1, 2) for x in (self.rotated(q, *tables), self.rotated(k, *tables), v))
        group = s["heads"] // s["kv_heads"]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        hidden = (place > place[:, None]) | (place < begin[..., None])
        scores = (q @ k.mT / math.sqrt(s["head_dim"])).masked_fill(hidden[:, None], -math.inf)
        mixed = (scores.softmax(-1) @ v).to(self.storage).transpose(1, 2).reshape(rows, seq, -1)
        return self.block_linear(mixed, layer, "attention.wo")

    def feed_forward(self, h, layer):
        gate, up = (self.block_linear(h, layer, f"feed_forward.{n}").float() for n in ("w1", "w3"))
        return self.block_linear((gate * torch.sigmoid(gate) * up).to(self.storage), layer, "feed_forward.w2")

    def loss_sum(self, weights, tokens, targets, begin):
        """The sum over the targets that count, in nats."""
        self.weights = weights
        self.casts.begin_pass(trains=torch.is_grad_enabled())
        x = weights["tok_embeddings.weight"][tokens].to(self.storage)
        for i in range(self.s["layers"]):
            x = x + self.attention(self.norm(x, f"layers.{i}.attention_norm"), i, begin)
            x = x + self.feed_forward(self.norm(x, f"layers.{i}.ffn_norm"), i)
        head = "tok_embeddings" if self.s["tied_embedding"] else "output"
        logits = self.linear(self.norm(x, "norm"), head, [self.round] * 6, out=torch.float32)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")
