#!/usr/bin/env python3
"""Trains the steps of a run once more in plain PyTorch and compares with what its metrics say.

It shares no code with Octet: it is written from docs/numerics.md, docs/data.md and docs/checkpoint-format.md, and where
these say too little (the order of samples) from src/data. Any layout is compared with the same computation, which knows
no ranks.

Usage: tests/checks/whole_run_in_torch.py RUN [--from CHECKPOINT] [--tolerance T] [--perturb SEED] [--verbose]
  RUN           a run's directory with a checkpoint, small enough for this machine. Start it where the run was started,
                for the paths of its data
  --from        a checkpoint to begin with, weights and moments; otherwise the Hugging Face folder of init.from
  --tolerance   largest relative difference of losses: by default 1e-5 in fp32, 3e-3 in bf16, 2e-2 in float8; that of
                gradient norms is ten times as much
  --perturb     move each first weight by 2^-14 of itself, up or down: as far apart as rounding alone may make two runs
  --verbose     a line for each step

Needs torch, numpy, PyYAML, safetensors and h5py. Exit 0 when the run agrees, 1 when not.
"""
import argparse
import heapq
import json
import math
import pathlib
import sys

import h5py
import numpy as np
import safetensors.torch
import torch
import yaml

MASK32 = 0xFFFFFFFF
DATA_ORDER, DATA_SPLIT = 2, 4  # purposes of random numbers


# The order of samples (src/data/sample_order.h).
def random_bits(seed, purpose, stream, index):
    """64 bits of Philox4x32-10."""
    c, k0, k1 = [index & MASK32, index >> 32, purpose, stream], seed & MASK32, seed >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k0, second & MASK32, (first >> 32) ^ c[3] ^ k1, first & MASK32]
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c[1] << 32 | c[0]


def permuted(key, size, value):
    """Where the permutation of that key (seed, purpose, stream) sends a value in [0, size)."""
    bits = (size - 1).bit_length()
    high_bits, low_bits = bits // 2, bits - bits // 2
    while True:
        high, low = value >> low_bits, value & ((1 << low_bits) - 1)
        for turn in range(24):
            if turn % 2 == 0:
                low ^= random_bits(*key, turn << 32 | high) & ((1 << low_bits) - 1)
            else:
                high ^= random_bits(*key, turn << 32 | low) & ((1 << high_bits) - 1)
        value = high << low_bits | low
        if value < size:
            return value


class Mixture:
    """Which source has which of a stage's samples."""

    def __init__(self, weights):
        weights = [w / max(weights) for w in weights]
        half_up = lambda x: math.floor(x + 0.5)
        self.nodes = [(max(1, half_up(w / sum(weights) * 2**52)), None, None) for w in weights]
        parts = [(node[0], i) for i, node in enumerate(self.nodes)]
        heapq.heapify(parts)
        while len(parts) > 1:
            (_, left), (_, right) = heapq.heappop(parts), heapq.heappop(parts)
            weight = self.nodes[left][0] + self.nodes[right][0]
            heapq.heappush(parts, (weight, len(self.nodes)))
            self.nodes.append((weight, left, right))

    def turn(self, n):
        """The source of sample n and how many it had before."""
        at = len(self.nodes) - 1
        while self.nodes[at][1] is not None:
            weight, left, right = self.nodes[at]
            slope = (self.nodes[left][0] << 63) // weight
            before = (slope * n + (1 << 62)) >> 63
            goes_left = (slope * (n + 1) + (1 << 62)) >> 63 > before
            at, n = (left, before) if goes_left else (right, n - before)
        return at, n


class Source:
    """Token files of Megatron's format and their windows."""

    def __init__(self, path, seq_len, fraction):
        index = pathlib.Path(path + ".idx").read_bytes()
        assert index[:9] == b"MMIDIDX\0\0"
        kind, sequences, documents = index[17], *np.frombuffer(index, "<i8", 2, 18)
        lengths = np.frombuffer(index, "<i4", sequences, 34)
        begins = np.frombuffer(index, "<i8", documents, 34 + 12 * sequences)
        self.begins = np.unique(np.concatenate([[0], np.cumsum(lengths)])[begins])  # tokens that begin a document
        self.tokens = np.memmap(path + ".bin", {1: "u1", 4: "<i4", 8: "<u2"}[kind], "r")
        self.seq_len, self.windows = seq_len, (len(self.tokens) - 1) // seq_len
        self.validation = max(1, math.floor(self.windows * fraction + 0.5)) if fraction else 0
        self.train = self.windows - self.validation
        facts = pathlib.Path(path + ".data.json")
        self.text_bytes = json.loads(facts.read_text()).get("text_bytes") if facts.exists() else None

    def window(self, place):
        """seq_len + 1 tokens, and where in the window the document of each begins."""
        first = permuted((0, DATA_SPLIT, 0), self.windows, place) * self.seq_len
        at = np.arange(first, first + self.seq_len + 1)
        begin = np.concatenate([[0], self.begins])[np.searchsorted(self.begins, at, side="right")]
        return self.tokens[at].astype(np.int64), np.maximum(begin - first, 0)


class Data:
    def __init__(self, config, history):
        data, train = config["data"], config["train"]
        self.seed, self.batch = config["run"]["seed"], train["global_batch"]
        self.mask, self.loss_on_first = data["document_mask"], data["loss_on_first"]
        self.sources = [Source(s["path"], train["seq_len"], data["validation_fraction"]) for s in data["train"]]
        self.changes = {change["step"]: change["weights"] for change in data["changes"]}
        assert history.get("order", 1) == 2 and not history.get("added"), history
        self.stages, self.next, self.taken = [], 0, [0] * len(self.sources)
        self.begin_stage([s["weight"] for s in data["train"]])

    def begin_stage(self, weights):
        self.mixed = [i for i, w in enumerate(weights) if w > 0]
        self.mixture = Mixture([weights[i] for i in self.mixed])
        self.stage_begin, self.before = self.next, list(self.taken)

    def step(self, step):
        """The global batch of the next step, which is `step`."""
        if step in self.changes:
            self.begin_stage(self.changes[step])
        rows = []
        for _ in range(self.batch):
            part, number = self.mixture.turn(self.next - self.stage_begin)
            s = self.mixed[part]
            number += self.before[s]
            self.next, self.taken[s] = self.next + 1, number + 1
            of_pass = (random_bits(self.seed, DATA_ORDER, s, number // self.sources[s].train), DATA_ORDER, 0)
            place = permuted(of_pass, self.sources[s].train, number % self.sources[s].train)
            rows.append(self.sources[s].window(self.sources[s].validation + place))
        return self.tensors(rows)

    def validation(self, batches):
        """The windows of a validation, and the bytes of text that their targets stand for (None: not known)."""
        places = [(s, i) for s in self.sources for i in range(s.validation)]
        count = min(batches * self.batch, len(places)) if batches else len(places)
        chosen = [places[permuted((0, DATA_SPLIT, 1), len(places), v)] for v in range(count)]
        known = all(s.text_bytes is not None for s in self.sources)
        text = sum(s.seq_len * s.text_bytes / len(s.tokens) for s, _ in chosen) if known else None
        return self.tensors([s.window(i) for s, i in chosen]), text

    def tensors(self, rows):
        """Tokens, targets (-1: does not count) and where documents begin."""
        tokens = torch.from_numpy(np.stack([row[0] for row in rows]))
        begin = torch.from_numpy(np.stack([row[1] for row in rows]))
        targets, firsts = tokens[:, 1:].clone(), begin[:, 1:] == torch.arange(1, tokens.shape[1])
        if self.mask and not self.loss_on_first:
            targets[firsts] = -1
        return tokens[:, :-1], targets, begin[:, :-1] * self.mask


# The model.
def to_bf16(x):
    return x.bfloat16().float()


def float8(x, formats, axis, recipe, power_of_two):
    """x as a cast to float8 leaves it, with one scale for all that is summed along `axis` of one place in the others."""
    dtype, largest = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}[formats]
    if recipe == "tensorwise":
        amax = x.abs().amax().expand(x.shape)
    elif recipe.startswith("rowwise"):
        amax = x.abs().amax(axis, keepdim=True).expand(x.shape)
    else:  # blocks of 128 along the axis; weights, whose axis is None, have 128 x 128
        sizes = [128, 128] if axis is None else [1, 128] if axis == 1 else [128, 1]
        blocks = x.abs().view(x.shape[0] // sizes[0], sizes[0], x.shape[1] // sizes[1], sizes[1]).amax((1, 3))
        amax = blocks.repeat_interleave(sizes[0], 0).repeat_interleave(sizes[1], 1)
    scale = (largest / amax.double().clamp(min=1e-12)).float()
    if power_of_two:
        scale = torch.ldexp(torch.ones_like(scale), torch.frexp(scale)[1] - 1)
    return (x * scale).clamp(-largest, largest).to(dtype).float() * (1 / scale)


class Linear(torch.autograd.Function):
    """Y = X W^T of what the operands are cast to; X, Y and their gradients are of the storage dtype, W and its gradient
    fp32. `cast` has six functions: X and W for Y, dY and W for dX, dY and X for dW."""

    @staticmethod
    def forward(ctx, x, w, cast, out):
        ctx.save_for_backward(x, w)
        ctx.cast = cast
        return (cast[0](x.float()) @ cast[1](w).T).to(out)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        cast, dy, high = ctx.cast, dy.float(), x.float()
        return (cast[2](dy) @ cast[3](w)).to(x.dtype), cast[4](dy).T @ cast[5](high), None, None


class Model:
    def __init__(self, shape, config):
        self.s, self.config = shape, config
        self.storage = torch.float32 if config["precision"] == "fp32" else torch.bfloat16
        self.round = (lambda x: x) if self.storage == torch.float32 else to_bf16

    def casts(self, name, layer):
        high = [self.round] * 6
        options = self.config["float8"]
        stays = any(part in f"{name}." for part in options["bf16_linears"]) or layer is None \
            or layer < options["bf16_first_layers"] or layer >= self.s["layers"] - options["bf16_last_layers"]
        if self.config["precision"] != "float8" or stays:
            return high
        recipe, rounded = options["recipe"], options["round_scales_to_power_of_two"]
        rounded = recipe != "tensorwise" if rounded == "auto" else rounded
        def f(formats, axis, of=recipe, before=to_bf16):
            return lambda x: float8(before(x), formats, axis, of, rounded)
        if recipe == "tensorwise":
            weight = f("e4m3", 0, before=(lambda w: w) if options["all_gather"] in ("auto", True) else to_bf16)
            return [f("e4m3", 0), weight, f("e5m2", 0), weight, f("e5m2", 0), f("e4m3", 0)]
        if recipe == "blockwise":
            return [f("e4m3", 1), f("e4m3", None), f("e4m3", 1), f("e4m3", None), f("e4m3", 0), f("e4m3", 0)]
        casts = [f("e4m3", 1), f("e4m3", 1), f("e4m3", 1), f("e4m3", 0), f("e4m3", 0), f("e4m3", 0)]
        return casts if recipe == "rowwise" else casts[:3] + [f("e4m3", 0, "tensorwise")] + high[4:]

    def linear(self, x, name, layer=None, out=None):
        name = name if layer is None else f"layers.{layer}.{name}"
        y = Linear.apply(x.flatten(0, 1), self.weights[name + ".weight"], self.casts(name, layer), out or self.storage)
        return y.view(*x.shape[:2], -1)

    def norm(self, x, name):
        w = self.weights[name + ".weight"]
        w = w + (self.round(w) - w).detach()
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

    def attention(self, h, layer, begin):
        s, (rows, seq) = self.s, h.shape[:2]
        heads = {"wq": s["heads"], "wk": s["kv_heads"], "wv": s["kv_heads"]}
        q, k, v = (self.linear(h, f"attention.{n}", layer).view(rows, seq, m, -1) for n, m in heads.items())
        place = torch.arange(seq)
        cos, sin = self.rope_tables(place - begin)
        def rotated(x):
            a, b = x.float().chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(self.storage)
        group = s["heads"] // s["kv_heads"]
        q, k, v = (x.float().transpose(1, 2) for x in (rotated(q), rotated(k), v))
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        hidden = (place > place[:, None]) | (place < begin[..., None])
        scores = (q @ k.mT / math.sqrt(s["head_dim"])).masked_fill(hidden[:, None], -math.inf)
        mixed = (scores.softmax(-1) @ v).to(self.storage).transpose(1, 2).reshape(rows, seq, -1)
        return self.linear(mixed, "attention.wo", layer)

    def loss_sum(self, weights, tokens, targets, begin):
        """The sum over the targets that count, in nats."""
        self.weights = weights
        x = weights["tok_embeddings.weight"][tokens].to(self.storage)
        for i in range(self.s["layers"]):
            x = x + self.attention(self.norm(x, f"layers.{i}.attention_norm"), i, begin)
            h = self.norm(x, f"layers.{i}.ffn_norm")
            gate, up = (self.linear(h, f"feed_forward.{n}", i).float() for n in ("w1", "w3"))
            x = x + self.linear((gate * torch.sigmoid(gate) * up).to(self.storage), "feed_forward.w2", i)
        head = "tok_embeddings" if self.s["tied_embedding"] else "output"
        logits = self.linear(self.norm(x, "norm"), head, out=torch.float32)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")


# The run.
def learning_rate(config, step, steps, extensions=()):
    s, peak = config["schedule"], float(config["optimizer"]["lr"])
    def shape(at, end, begin_rate):
        warmup = s["warmup_steps"]
        decay = {"cosine": end - warmup, "wsd": s["decay_steps"], "constant": 0}[s["kind"]]
        if at <= warmup:
            return begin_rate + (peak - begin_rate) * at / warmup
        progress = max(0, at - (end - decay)) / (decay + 1)
        factor = (1 + math.cos(math.pi * progress)) / 2 if s["kind"] == "cosine" else 1 - progress
        return peak * (float(s["min_lr_ratio"]) + (1 - float(s["min_lr_ratio"])) * factor)
    rate, begin, holds = 0.0, 0, False
    for extension in [*extensions, {"after": steps, "kind": "rewarm"}]:
        after = min(step, extension["after"])
        if after > begin:
            rate = rate if holds else shape(after - begin, extension["after"] - begin, rate)
        begin, holds = extension["after"], extension["kind"] == "constant"
        if step <= begin:
            return rate
    raise ValueError(step)


def read_checkpoint(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    whole = [torch.empty(t["shape"]) for t in manifest["tensors"]]
    for t, f, offset, extent in manifest["pieces"]:
        name, box = manifest["tensors"][t]["name"], tuple(slice(o, o + e) for o, e in zip(offset, extent))
        with h5py.File(folder / manifest["files"][f]["name"]) as file:
            whole[t][box] = torch.from_numpy(file[f"{name}/@{','.join(map(str, offset))}"][...])
    tensors = {t["name"]: x for t, x in zip(manifest["tensors"], whole)}
    of = lambda part: {n.removeprefix(part): x for n, x in tensors.items() if n.startswith(part)}
    return manifest["state"], of("master/"), of("first_moment/"), of("second_moment/")


def read_hugging_face(folder):
    names = {"embed_tokens": "tok_embeddings", "input_layernorm": "attention_norm", "lm_head": "output",
             "post_attention_layernorm": "ffn_norm", "self_attn": "attention", "mlp": "feed_forward", "q_proj": "wq",
             "k_proj": "wk", "v_proj": "wv", "o_proj": "wo", "gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}
    weights = {}
    for file in pathlib.Path(folder).glob("*.safetensors"):
        for name, x in safetensors.torch.load_file(file).items():
            weights[".".join(names.get(p, p) for p in name.removeprefix("model.").split("."))] = x.float()
    return weights


def first_state(options, config):
    if options.start:
        state, *tensors = read_checkpoint(options.start)
        return state["step"], *tensors
    if not config["init"]["from"]:
        sys.exit("the run began with random weights: --from says with which checkpoint to begin")
    return 0, read_hugging_face(config["init"]["from"]), {}, {}


def train(options, config, last_state, validated):
    """Yields step by step what a line of the metrics should say, and the weights. A run that was extended has also
    `validated` behind steps that were once its last."""
    data = Data(config, last_state["data_history"])
    model = Model(last_state["model_shape"], config)
    done, weights, first, second = first_state(options, config)
    if options.perturb is not None:
        torch.manual_seed(options.perturb)
        weights = {n: w * (1 + 2**-14 * torch.randn(w.shape).sign()) for n, w in weights.items()}
    weights = {n: w.requires_grad_() for n, w in weights.items()}
    o, t = config["optimizer"], config["train"]
    decays = {n: not any(part in n for part in o["no_decay"]) for n in weights}
    groups = [{"params": [w for n, w in weights.items() if decays[n] == d],
               "weight_decay": float(o["weight_decay"]) if d else 0.0} for d in (True, False)]
    adamw = torch.optim.AdamW([g for g in groups if g["params"]], lr=1.0, betas=(float(o["beta1"]), float(o["beta2"])), eps=float(o["eps"]))
    for n, w in weights.items() if done else ():
        adamw.state[w] = {"step": torch.tensor(float(done)), "exp_avg": first[n], "exp_avg_sq": second[n]}
    for step in range(1, t["steps"] + 1):
        batch = data.step(step)
        if step <= done:
            continue
        count, loss = (batch[1] >= 0).sum().item(), 0.0
        adamw.zero_grad()
        for m in range(0, t["global_batch"], t["micro_batch"]):
            part = model.loss_sum(weights, *(x[m : m + t["micro_batch"]] for x in batch)) / count
            part.backward()
            loss += part.item()
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), o["clip_norm"] or math.inf).item()
        rate = learning_rate(config, step, t["steps"], last_state["schedule_history"]["extensions"])
        for group in adamw.param_groups:
            group["lr"] = rate
        adamw.step()
        line = {"step": step, "loss": loss, "grad_norm": norm, "lr": rate, "tokens": step * t["global_batch"] * t["seq_len"],
                "passes": [n / s.train for n, s in zip(data.taken, data.sources)]}
        every = t["validate_every"]
        due = step == t["steps"] or every and step % every == 0 or step in validated
        if due and any(s.validation for s in data.sources):
            line |= validate(model, weights, data, t)
        yield line, weights


@torch.no_grad()
def validate(model, weights, data, t):
    batch, text_bytes = data.validation(t["validation_batches"])
    count, total = (batch[1] >= 0).sum().item(), 0.0
    padding = -len(batch[0]) % t["micro_batch"]
    batch = [torch.nn.functional.pad(x, (0, 0, 0, padding), value=v) for x, v in zip(batch, (0, -1, 0))]
    for m in range(0, len(batch[0]), t["micro_batch"]):
        total += model.loss_sum(weights, *(x[m : m + t["micro_batch"]] for x in batch)).item()
    loss = total / count
    all_tokens = (len(batch[0]) - padding) * t["seq_len"]
    return {"validation_loss": loss} | ({"validation_bits_per_byte": loss * all_tokens / text_bytes / math.log(2)} if text_bytes else {})


def difference(ours, theirs):
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(np.ravel(ours), np.ravel(theirs), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--from", dest="start", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--perturb", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    config = yaml.safe_load((options.run / "config.yaml").read_text())
    newest = max((options.run / "checkpoints").glob("step-??????"))
    state, masters, *_ = read_checkpoint(newest)
    said = {line["step"]: line for line in map(json.loads, (options.run / "metrics.jsonl").read_text().splitlines())}
    worst, steps = {}, 0
    validated = {step for step, line in said.items() if "validation_loss" in line}
    for line, weights in train(options, config, yaml.safe_load(state["config"]), validated):
        theirs = said.get(line["step"])
        if theirs is None:
            continue
        steps += 1
        if ("validation_loss" in line) != ("validation_loss" in theirs):
            sys.exit(f"step {line['step']}: validated here or there alone")
        found = {key: difference(value, theirs[key]) for key, value in line.items() if key in theirs}
        for key, value in found.items():
            worst[key] = max(worst.get(key, (0, 0)), (value, line["step"]))
        if options.verbose:
            print(f"step {line['step']:4}  loss {line['loss']:.7f} {theirs['loss']:.7f}  "
                  + "  ".join(f"{k} {v:.1e}" for k, v in found.items() if k not in ("step", "tokens", "passes")))
        if line["step"] == state["step"]:
            apart = [((w - masters[n]).norm() / masters[n].norm()).item() for n, w in weights.items()]
            worst["weights"] = (max(apart), line["step"])
    tolerance = options.tolerance or {"fp32": 1e-5, "bf16": 3e-3, "float8": 2e-2}[config["precision"]]
    limits = {"loss": tolerance, "validation_loss": tolerance, "validation_bits_per_byte": tolerance, "grad_norm": 10 * tolerance,
              "lr": 1e-12, "passes": 1e-12, "tokens": 0, "step": 0, "weights": math.inf}
    bad = [key for key, (value, _) in worst.items() if not value <= limits[key]]
    print(f"{options.run}: {steps} steps; largest relative differences: "
          + ", ".join(f"{key} {value:.1e} (step {at})" for key, (value, at) in worst.items() if key != "step"))
    if bad or not steps:
        sys.exit(f"{options.run} DISAGREES: {', '.join(bad) or 'no step was compared'}")


if __name__ == "__main__":
    main()
