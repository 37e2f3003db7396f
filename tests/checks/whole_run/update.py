"""How the weights of a run are updated (docs/numerics.md, "What a step computes"): learning rates, gradients, AdamW."""
import math

import torch

from whole_run.float8_casts import LINEARS, to_bf16, unchanged


def rate_of_kind(schedule, peak, step, steps, first_rate):
    """The rate of step `step` of `steps` whose warm-up rises from first_rate."""
    warmup, least = schedule["warmup_steps"], float(schedule["min_lr_ratio"])
    if step <= warmup:
        return first_rate + (peak - first_rate) * step / warmup
    decay = {"cosine": steps - warmup, "wsd": schedule["decay_steps"], "constant": 0}[schedule["kind"]]
    progress = max(0, step - (steps - decay)) / (decay + 1)
    factor = (1 + math.cos(math.pi * progress)) / 2 if schedule["kind"] == "cosine" else 1 - progress
    return peak * (least + (1 - least) * factor)


def learning_rate(schedule, peak, step, steps, extensions):
    """The rate of step `step` of `steps`; `extensions` of a run are the steps behind `after`, up to the next or the end."""
    rate, begin, holds = 0.0, 0, False
    for extension in [*extensions, {"after": steps, "kind": "none"}]:
        end = extension["after"]
        here = min(step, end)
        if here > begin and not holds:
            rate = rate_of_kind(schedule, peak, here - begin, end - begin, rate)
        if step <= end:
            return rate
        begin, holds = end, extension["kind"] == "constant"
    raise ValueError(step)


class GradientSum:
    """The gradients of a step: fp32 sums of what the micro-batches give, rounded to bf16 where parallel.gradient_wire says
    so (docs/gradient-wire.md)."""

    def __init__(self, weights, config):
        self.weights, parallel, train = weights, config["parallel"], config["train"]
        on_bf16_wire = parallel["gradient_wire"] == "bf16"
        travels = parallel["dp_shard"] > 1 or parallel["one_rank_exchange"]
        rounds = lambda name: on_bf16_wire and (travels or any(f"{linear}.weight" in name for linear in LINEARS))
        self.round = {name: to_bf16 if rounds(name) else unchanged for name in weights}
        of_a_rank = train["global_batch"] // (train["micro_batch"] * parallel["dp_shard"] * parallel["dp_replicate"])
        self.together = of_a_rank if parallel["zero"] == 1 else 1  # micro-batches that are added before they travel

    def begin_step(self):
        self.sum = {name: torch.zeros_like(w) for name, w in self.weights.items()}
        self.passes = 0
        self.forget()

    def end_pass(self):
        """After the backward pass of a micro-batch, in the order of the global batch."""
        self.passes += 1
        if self.passes % self.together:
            return
        for name, w in self.weights.items():
            self.sum[name] += self.round[name](w.grad)
        self.forget()

    def forget(self):
        for w in self.weights.values():
            w.grad = None

    def clip(self, most):
        """Leaves the sums in the weights' gradients, clipped; returns their norm before."""
        for name, w in self.weights.items():
            w.grad = self.sum[name]
        return torch.nn.utils.clip_grad_norm_(self.weights.values(), most or math.inf).item()


def adamw_of(weights, options, done, first_moments, second_moments):
    """torch's AdamW as it is behind `done` steps."""
    def decays(name):
        return not any(part in name for part in options["no_decay"])
    groups = [{"params": [w for n, w in weights.items() if decays(n) == d],
               "weight_decay": float(options["weight_decay"]) if d else 0.0} for d in (True, False)]
    adamw = torch.optim.AdamW([g for g in groups if g["params"]], lr=1.0, eps=float(options["eps"]),
                              betas=(float(options["beta1"]), float(options["beta2"])))
    for n, w in weights.items() if done else ():
        adamw.state[w] = {"step": torch.tensor(float(done)), "exp_avg": first_moments[n], "exp_avg_sq": second_moments[n]}
    return adamw
