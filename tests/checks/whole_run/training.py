"""A run's steps, trained with plain PyTorch: what a line of its metrics should say after each."""
import math

import torch

from whole_run.llama import Llama
from whole_run.run_data import Data
from whole_run.saved_state import hugging_face_weights
from whole_run.update import GradientSum, adamw_of, learning_rate


def refuse_what_is_missing(config):
    """Ends where the run computes something that is not written here."""
    float8, parallel = config["float8"], config["parallel"]
    on_float8 = config["precision"] == "float8"
    missing = {"float8.filter_small_kn": on_float8 and float8["filter_small_kn"],
               "float8.accumulate": on_float8 and float8["accumulate"] != "fp32",
               "parallel.whole_gradients": parallel["whole_gradients"] != "fp32"}
    if any(missing.values()):
        raise SystemExit(f"not written in PyTorch: {', '.join(key for key, used in missing.items() if used)}")


class Training:
    """From `start`, a Checkpoint, or else from the Hugging Face folder of init.from. `config` is what the run's newest
    checkpoint holds of it."""

    def __init__(self, config, start=None, perturb=None):
        refuse_what_is_missing(config)
        if not start and not config["init"]["from"]:
            raise SystemExit("the run began with random weights: --from says with which checkpoint to begin")
        self.config, self.extensions = config, config["schedule_history"]["extensions"]
        self.data, self.model = Data(config, config["data_history"]), Llama(config["model_shape"], config)
        self.done = start.state["step"] if start else 0
        weights = start.part("master") if start else hugging_face_weights(config["init"]["from"])
        if perturb is not None:
            torch.manual_seed(perturb)
            weights = {n: w * (1 + 2**-14 * torch.randn(w.shape).sign()) for n, w in weights.items()}
        self.weights = {n: w.requires_grad_() for n, w in weights.items()}
        moments = [start.part(p) if start else {} for p in ("first_moment", "second_moment")]
        self.adamw = adamw_of(self.weights, config["optimizer"], self.done, *moments)
        self.gradients = GradientSum(self.weights, config)
        if start:
            self.model.casts.load(start.part("float8"))

    def lines(self, validated):
        """Step by step what its line of the metrics should say. `validated`: steps that validate beside those of the
        configuration, as a run that was extended does behind steps that were once its last."""
        t = self.config["train"]
        for step in range(1, t["steps"] + 1):
            batch = self.data.step(step)
            if step <= self.done:
                continue
            line = {"step": step, **self.step(step, batch)}
            line |= {"tokens": step * t["global_batch"] * t["seq_len"], "passes": self.data.passes()}
            every = t["validate_every"]
            due = step == t["steps"] or every and step % every == 0 or step in validated
            if due and self.data.has_validation():
                line |= self.validate()
            yield line

    def micro_batches(self, batch):
        at_once = self.config["train"]["micro_batch"]
        return ([x[m : m + at_once] for x in batch] for m in range(0, len(batch[0]), at_once))

    def step(self, step, batch):
        count, loss = max((batch[1] >= 0).sum().item(), 1), 0.0
        self.gradients.begin_step()
        for part in self.micro_batches(batch):
            of_part = self.model.loss_sum(self.weights, *part) / count
            of_part.backward()
            self.gradients.end_pass()
            loss += of_part.item()
        norm = self.gradients.clip(self.config["optimizer"]["clip_norm"])
        rate = learning_rate(self.config["schedule"], float(self.config["optimizer"]["lr"]), step,
                             self.config["train"]["steps"], self.extensions)
        for group in self.adamw.param_groups:
            group["lr"] = rate
        self.adamw.step()
        self.model.casts.finish_step()
        return {"loss": loss, "grad_norm": norm, "lr": rate}

    @torch.no_grad()
    def validate(self):
        batch, text_bytes = self.data.validation(self.config["train"]["validation_batches"])
        tokens = batch[0].numel()
        padding = -len(batch[0]) % self.config["train"]["micro_batch"]
        batch = [torch.nn.functional.pad(x, (0, 0, 0, padding), value=v) for x, v in zip(batch, (0, -1, 0))]
        total = sum(self.model.loss_sum(self.weights, *part).item() for part in self.micro_batches(batch))
        loss = total / (batch[1] >= 0).sum().item()
        if not text_bytes:
            return {"validation_loss": loss}
        return {"validation_loss": loss, "validation_bits_per_byte": loss * tokens / text_bytes / math.log(2)}
