#!/usr/bin/env python3
"""Reference losses, gradients and AdamW steps of small Llama-3 models, from PyTorch in float64.

    python3 -m venv venv && venv/bin/pip install torch numpy      (transformers too, for --check-transformers)
    venv/bin/python tests/golden/make_llama_golden.py [--check-transformers]

The model is written from the description of the architecture, not from Octet: pre-norm RMSNorm, grouped-query causal
attention, rotary positions on half-split pairs (Hugging Face's convention), SwiGLU, no biases. It is made to be read,
and computes everything in the dtype of its weights. See README.md beside this file for what is written.
"""

import argparse
import dataclasses
import math
import pathlib

import torch

from golden_file import GoldenFile

STEPS = 20
LR, BETAS, EPS, WEIGHT_DECAY = 1e-3, (0.9, 0.95), 1e-8, 0.1


@dataclasses.dataclass
class Config:
    dim: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_dim: int
    vocab_size: int
    tied_embedding: bool
    batch: int
    seq_len: int
    clip_norm: float = 1.0
    rope_theta: float = 500000.0
    norm_eps: float = 1e-5
    documents: bool = False  # rows hold several, which attention does not cross, and positions begin with each


CASES = {
    "llama_untied": Config(32, 2, 4, 2, 8, 64, 64, tied_embedding=False, batch=2, seq_len=16),
    "llama_tied": Config(32, 2, 4, 2, 8, 64, 64, tied_embedding=True, batch=2, seq_len=16),
    # No first dimension divides by 3; wk and wv have 4 rows, so of 3 ranks the last has none. head_dim != dim / heads.
    # The batch divides by 1, 2, 3 and 4 data-parallel ranks. Some of the steps are clipped and some are not.
    "llama_uneven": Config(20, 3, 2, 1, 4, 28, 50, tied_embedding=False, batch=12, seq_len=12, clip_norm=2.0),
    "llama_documents": Config(20, 3, 2, 1, 4, 28, 50, tied_embedding=False, batch=12, seq_len=12, clip_norm=2.0, documents=True),
}


def parameter_shapes(c):
    """Names (torchtitan's) and shapes, [out, in], in the order of the forward pass."""
    shapes = {"tok_embeddings.weight": (c.vocab_size, c.dim)}
    for i in range(c.layers):
        layer = f"layers.{i}."
        shapes[layer + "attention_norm.weight"] = (c.dim,)
        shapes[layer + "attention.wq.weight"] = (c.heads * c.head_dim, c.dim)
        shapes[layer + "attention.wk.weight"] = (c.kv_heads * c.head_dim, c.dim)
        shapes[layer + "attention.wv.weight"] = (c.kv_heads * c.head_dim, c.dim)
        shapes[layer + "attention.wo.weight"] = (c.dim, c.heads * c.head_dim)
        shapes[layer + "ffn_norm.weight"] = (c.dim,)
        shapes[layer + "feed_forward.w1.weight"] = (c.ffn_dim, c.dim)
        shapes[layer + "feed_forward.w2.weight"] = (c.dim, c.ffn_dim)
        shapes[layer + "feed_forward.w3.weight"] = (c.ffn_dim, c.dim)
    shapes["norm.weight"] = (c.dim,)
    if not c.tied_embedding:
        shapes["output.weight"] = (c.vocab_size, c.dim)
    return shapes


def random_weights(c, seed):
    """float32, with spreads that make every part of the model matter; norm weights differ from one."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in parameter_shapes(c).items():
        x = torch.randn(shape, generator=generator, dtype=torch.float32)
        if len(shape) == 1:
            weights[name] = 1 + 0.2 * x
        elif name == "tok_embeddings.weight":
            weights[name] = (0.4 if c.tied_embedding else 1.0) * x
        else:
            weights[name] = x * shape[1] ** -0.5
    return weights


def random_batches(c, seed):
    """STEPS batches of noisy but learnable sequences: inputs and targets (the inputs one token later)."""
    generator = torch.Generator().manual_seed(seed)
    shape = (STEPS, c.batch, c.seq_len + 1)
    sequence = torch.randint(c.vocab_size, shape, generator=generator)
    follow = torch.rand(shape, generator=generator) < 0.7
    for t in range(1, c.seq_len + 1):
        rule = (5 * sequence[..., t - 1] + 3) % c.vocab_size
        sequence[..., t] = torch.where(follow[..., t], rule, sequence[..., t])
    return sequence[..., :-1].contiguous(), sequence[..., 1:].contiguous()


def random_documents(c, seed):
    """Where in its row the document of each token begins [STEPS, batch, seq]: many of a single token, some whole rows."""
    generator = torch.Generator().manual_seed(seed)
    begin = torch.zeros(STEPS, c.batch, c.seq_len, dtype=torch.long)
    ends = torch.rand(begin.shape, generator=generator) < torch.rand(STEPS, c.batch, 1, generator=generator)
    ends[:, ::5] = False
    for t in range(1, c.seq_len):
        begin[..., t] = torch.where(ends[..., t - 1], t, begin[..., t - 1])
    return begin


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def rotate(x, theta, begin):
    """x [batch, seq, heads, head_dim]: elements i and i + head_dim/2 are one pair, turned by t * theta^(-2i/head_dim),
    where t counts from `begin` [batch, seq] on."""
    seq, head_dim = x.shape[1], x.shape[3]
    half = head_dim // 2
    frequency = theta ** (-2.0 * torch.arange(half, dtype=torch.float64) / head_dim)
    angle = (torch.arange(seq) - begin).double()[..., None] * frequency
    cos, sin = angle.cos().to(x.dtype)[:, :, None, :], angle.sin().to(x.dtype)[:, :, None, :]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def attention(q, k, v, begin):
    """q [batch, seq, heads, head_dim]; k, v [batch, seq, kv_heads, head_dim]; query head h reads kv head h // group. The
    mask is block-diagonal: a query sees the keys from `begin` [batch, seq] on, up to itself."""
    seq, heads, head_dim = q.shape[1:]
    group = heads // k.shape[2]
    k, v = k.repeat_interleave(group, dim=2), v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(head_dim)
    place = torch.arange(seq)
    hidden = (place > place[:, None]) | (place < begin[..., None])
    probability = torch.softmax(scores.masked_fill(hidden[:, None], float("-inf")), dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", probability, v)


def forward(c, w, tokens, begin):
    """Logits [batch, seq, vocab]; the document of each token begins at `begin`."""
    batch, seq = tokens.shape
    x = w["tok_embeddings.weight"][tokens]
    for i in range(c.layers):
        p = lambda name: w[f"layers.{i}.{name}.weight"]
        h = rms_norm(x, p("attention_norm"), c.norm_eps)
        q = (h @ p("attention.wq").T).view(batch, seq, c.heads, c.head_dim)
        k = (h @ p("attention.wk").T).view(batch, seq, c.kv_heads, c.head_dim)
        v = (h @ p("attention.wv").T).view(batch, seq, c.kv_heads, c.head_dim)
        a = attention(rotate(q, c.rope_theta, begin), rotate(k, c.rope_theta, begin), v, begin)
        x = x + a.reshape(batch, seq, -1) @ p("attention.wo").T
        h = rms_norm(x, p("ffn_norm"), c.norm_eps)
        gate = h @ p("feed_forward.w1").T
        x = x + (gate * torch.sigmoid(gate) * (h @ p("feed_forward.w3").T)) @ p("feed_forward.w2").T
    x = rms_norm(x, w["norm.weight"], c.norm_eps)
    return x @ w["tok_embeddings.weight" if c.tied_embedding else "output.weight"].T


def mean_loss(logits, targets):
    """Mean over all tokens of -log softmax(logits)[target]."""
    return (torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None])[..., 0]).mean()


def loss_and_gradients(c, weights, tokens, targets, begin):
    w = {name: x.double().requires_grad_() for name, x in weights.items()}
    logits = forward(c, w, tokens, begin)
    loss = mean_loss(logits, targets)
    loss.backward()
    return logits.detach(), loss.detach(), {name: x.grad for name, x in w.items()}


def train(c, weights, tokens, targets, begin, dtype):
    """Losses and gradient norms (before clipping) of STEPS AdamW steps, and the weights after them."""
    w = {name: x.to(dtype).clone().requires_grad_() for name, x in weights.items()}
    optimizer = torch.optim.AdamW(w.values(), lr=LR, betas=BETAS, eps=EPS, weight_decay=WEIGHT_DECAY)
    losses, norms = [], []
    for step in range(STEPS):
        loss = mean_loss(forward(c, w, tokens[step], begin[step]), targets[step])
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(w.values(), c.clip_norm))
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).double(), torch.stack(norms).double(), {n: x.detach() for n, x in w.items()}


def relative(x, reference):
    return ((x.double() - reference.double()).norm() / reference.double().norm()).item()


def documents_of(begin):
    """(row, first token, end) of every document."""
    for row, of_row in enumerate(begin.tolist()):
        firsts = sorted(set(of_row)) + [len(of_row)]
        yield from ((row, first, end) for first, end in zip(firsts, firsts[1:]))


def check_transformers(c, weights, tokens, targets, begin, loss, gradients):
    """The oracle against Hugging Face's LlamaForCausalLM, whose norms compute in float32 whatever the model's dtype; it is
    given each document by itself."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=c.vocab_size, hidden_size=c.dim, intermediate_size=c.ffn_dim, num_hidden_layers=c.layers,
        num_attention_heads=c.heads, num_key_value_heads=c.kv_heads, head_dim=c.head_dim, rms_norm_eps=c.norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_theta}, tie_word_embeddings=c.tied_embedding,
        attn_implementation="eager")
    parts = {
        "tok_embeddings": "model.embed_tokens", "norm": "model.norm", "output": "lm_head",
        "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
        "attention.wq": "self_attn.q_proj", "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj",
        "attention.wo": "self_attn.o_proj",
        "feed_forward.w1": "mlp.gate_proj", "feed_forward.w2": "mlp.down_proj", "feed_forward.w3": "mlp.up_proj",
    }

    def hf_name(name):
        name = name.removesuffix(".weight")
        if name.startswith("layers."):
            _, index, rest = name.split(".", 2)
            return f"model.layers.{index}.{parts[rest]}.weight"
        return parts[name] + ".weight"

    model = transformers.LlamaForCausalLM(config).double()
    named = dict(model.named_parameters())
    assert set(named) == {hf_name(n) for n in weights}, set(named) ^ {hf_name(n) for n in weights}
    with torch.no_grad():
        for name, x in weights.items():
            named[hf_name(name)].copy_(x)
    hf_loss = 0
    for row, first, end in documents_of(begin):
        logits = model(tokens[row : row + 1, first:end]).logits[0]
        hf_loss = hf_loss + torch.nn.functional.cross_entropy(logits, targets[row, first:end], reduction="sum") / targets.numel()
    hf_loss.backward()
    loss_error = abs(hf_loss.item() / loss.item() - 1)
    errors = {name: relative(named[hf_name(name)].grad, g) for name, g in gradients.items()}
    worst = max(errors, key=errors.get)
    print(f"  transformers {transformers.__version__}: loss {loss_error:.1e}, worst gradient {errors[worst]:.1e} ({worst})")
    if loss_error > 1e-7 or errors[worst] > 1e-6:
        raise SystemExit("the oracle and transformers disagree")


def make_case(name, c, check):
    weights = random_weights(c, seed=1)
    tokens, targets = random_batches(c, seed=2)
    begin = random_documents(c, seed=3) if c.documents else torch.zeros_like(tokens)
    logits, loss, gradients = loss_and_gradients(c, weights, tokens[0], targets[0], begin[0])
    losses, norms, final = train(c, weights, tokens, targets, begin, torch.float64)
    losses32, norms32, final32 = train(c, weights, tokens, targets, begin, torch.float32)

    golden = GoldenFile(
        **{key: value for key, value in dataclasses.asdict(c).items() if key != "documents"}, steps=STEPS, lr=LR, beta1=BETAS[0], beta2=BETAS[1], eps=EPS,
        weight_decay=WEIGHT_DECAY, torch=torch.__version__.split("+")[0])
    golden.add("tokens", tokens.int())
    golden.add("targets", targets.int())
    if c.documents:
        golden.add("document_begin", begin.int())
    golden.add("logits", logits.float())
    golden.add("loss", loss[None])
    golden.add("adamw.losses", losses)
    golden.add("adamw.grad_norms", norms)
    golden.add("adamw.losses_f32", losses32)
    golden.add("adamw.grad_norms_f32", norms32)
    for parameter, x in weights.items():
        golden.add("weight." + parameter, x)
        golden.add("gradient." + parameter, gradients[parameter].float())
        golden.add("final." + parameter, final[parameter].float())
    golden.write(pathlib.Path(__file__).parent / name)

    drift = (losses32 / losses - 1).abs().max().item()
    worst = max(relative(final32[n], final[n]) for n in weights)
    print(f"  loss {losses[0]:.4f} -> {losses[-1]:.4f}, gradient norms {norms.min():.2f}..{norms.max():.2f}; "
          f"float32 against float64: losses {drift:.1e}, final weights {worst:.1e}")
    if check:
        check_transformers(c, weights, tokens[0], targets[0], begin[0], loss, gradients)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check-transformers", action="store_true", help="also compare with LlamaForCausalLM")
    parser.add_argument("cases", nargs="*", default=list(CASES), help="by default all: " + ", ".join(CASES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.cases:
        print(name)
        make_case(name, CASES[name], options.check_transformers)


if __name__ == "__main__":
    main()
