"""The batches of a run, read from its token files (docs/data.md)."""
import json
import pathlib

import numpy as np
import torch

from whole_run.sample_order import Mixture, half_up, split_place, training_place, validation_place

TOKEN_TYPES = {1: "u1", 4: "<i4", 8: "<u2"}  # as Megatron's index numbers them


class Source:
    """Token files of Megatron's format, and the windows that they are cut into."""

    def __init__(self, path, seq_len, fraction):
        index = pathlib.Path(path + ".idx").read_bytes()
        assert index[:9] == b"MMIDIDX\0\0", f"{path}.idx"
        kind, sequences, documents = index[17], *np.frombuffer(index, "<i8", 2, 18)
        lengths = np.frombuffer(index, "<i4", sequences, 34)
        begins = np.frombuffer(index, "<i8", documents, 34 + 12 * sequences)
        self.begins = np.unique(np.concatenate([[0], np.cumsum(lengths)])[begins])  # tokens that begin a document
        self.tokens = np.memmap(path + ".bin", TOKEN_TYPES[kind], "r")
        self.seq_len, self.windows = seq_len, (len(self.tokens) - 1) // seq_len
        self.validation = max(1, half_up(self.windows * fraction)) if fraction else 0
        self.train = self.windows - self.validation
        facts = pathlib.Path(path + ".data.json")
        self.text_bytes = json.loads(facts.read_text()).get("text_bytes") if facts.exists() else None

    def window(self, place):
        """seq_len + 1 tokens, and where in the window the document of each begins."""
        first = split_place(self.windows, place) * self.seq_len
        at = np.arange(first, first + self.seq_len + 1)
        begin = np.concatenate([[0], self.begins])[np.searchsorted(self.begins, at, side="right")]
        return self.tokens[at].astype(np.int64), np.maximum(begin - first, 0)


class Data:
    """The global batches of a run, step by step from step 1 on, and its validation."""

    def __init__(self, config, history):
        data, train = config["data"], config["train"]
        self.seed, self.batch = config["run"]["seed"], train["global_batch"]
        self.mask, self.loss_on_first = data["document_mask"], data["loss_on_first"]
        self.sources = [Source(s["path"], train["seq_len"], data["validation_fraction"]) for s in data["train"]]
        self.changes = {change["step"]: change["weights"] for change in data["changes"]}
        if history.get("order", 1) != 2 or history.get("added"):
            raise SystemExit(f"data of another order, or sources that came later: {history}")
        self.next, self.taken = 0, [0] * len(self.sources)
        self.begin_stage([s["weight"] for s in data["train"]])

    def begin_stage(self, weights):
        self.mixed = [i for i, w in enumerate(weights) if w > 0]
        self.mixture = Mixture([weights[i] for i in self.mixed])
        self.stage_begin, self.before = self.next, list(self.taken)

    def step(self, step):
        """The global batch of the next step, which is `step`."""
        if step in self.changes:
            self.begin_stage(self.changes[step])
        return self.tensors([self.next_window() for _ in range(self.batch)])

    def next_window(self):
        part, number = self.mixture.turn(self.next - self.stage_begin)
        s = self.mixed[part]
        number += self.before[s]
        self.next, self.taken[s] = self.next + 1, number + 1
        source = self.sources[s]
        return source.window(source.validation + training_place(self.seed, s, source.train, number))

    def passes(self):
        return [n / s.train for n, s in zip(self.taken, self.sources)]

    def has_validation(self):
        return any(s.validation for s in self.sources)

    def validation(self, batches):
        """The windows of a validation, and the bytes of text that their targets stand for (None: not known)."""
        places = [(s, i) for s in self.sources for i in range(s.validation)]
        count = min(batches * self.batch, len(places)) if batches else len(places)
        chosen = [places[validation_place(len(places), v)] for v in range(count)]
        known = all(s.text_bytes is not None for s in self.sources)
        text = sum(s.seq_len * s.text_bytes / len(s.tokens) for s, _ in chosen) if known else None
        return self.tensors([s.window(i) for s, i in chosen]), text

    def tensors(self, rows):
        """Of each row the tokens, the targets (-1: does not count) and where the token's document begins."""
        tokens = torch.from_numpy(np.stack([row[0] for row in rows]))
        begin = torch.from_numpy(np.stack([row[1] for row in rows]))
        targets, firsts = tokens[:, 1:].clone(), begin[:, 1:] == torch.arange(1, tokens.shape[1])
        if self.mask and not self.loss_on_first:
            targets[firsts] = -1
        return tokens[:, :-1], targets, begin[:, :-1] * self.mask
