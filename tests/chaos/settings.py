"""What a trial trains: a tiny model with settings that its seed draws. Every drawn setting is allowed in every layout,
so that a run can go on in another one."""
import dataclasses

MODEL = {"dim": 64, "layers": 4, "heads": 4, "kv_heads": 4, "ffn_dim": 128, "vocab_size": 256}

LAYOUTS = {  # by ranks
    1: [{}],
    2: [{"dp_shard": 2}, {"dp_replicate": 2, "dp_shard": 1}, {"tp": 2, "dp_shard": 1}, {"pp": 2, "dp_shard": 1}],
    4: [{"dp_shard": 4}, {"dp_replicate": 2, "dp_shard": 2}, {"tp": 2, "dp_shard": 2}, {"tp": 4, "dp_shard": 1},
        {"pp": 2, "dp_shard": 2}, {"pp": 2, "tp": 2, "dp_shard": 1}, {"pp": 4, "dp_shard": 1},
        {"pp": 2, "dp_shard": 2, "pp_schedule": "interleaved", "pp_chunks": 2},
        {"pp": 2, "dp_shard": 2, "pp_schedule": "zb-h1"}],
}

# Losses of another layout go on within rounding: the largest part by which they may differ from the reference.
TOLERANCE = {"fp32": 2e-5, "bf16": 1e-3, "float8": 3e-3}


@dataclasses.dataclass(frozen=True)
class Layout:
    ranks: int
    mesh: tuple  # of (option of parallel, value)

    def options(self):
        return {f"parallel.{key}": value for key, value in self.mesh}

    def __str__(self):
        return f"{self.ranks} rank(s) " + " ".join(f"{key} {value}" for key, value in self.mesh)


@dataclasses.dataclass
class Settings:
    model: dict
    layout: Layout
    options: dict
    steps: int
    keep: int
    keep_every: int

    @property
    def tolerance(self):
        return TOLERANCE[self.options["precision"]]

    def kept(self, steps):
        """Which of the whole checkpoints the rules keep."""
        multiples = {step for step in steps if self.keep_every and step % self.keep_every == 0}
        return set(sorted(steps)[-self.keep:]) | multiples

    def __str__(self):
        return f"{self.layout}; " + " ".join(f"--{key} {value}" for key, value in self.options.items())


def draw_layout(rng, but=None):
    ranks = rng.choice([1, 1, 2, 2, 4])
    layouts = [Layout(ranks, tuple(mesh.items())) for mesh in LAYOUTS[ranks]]
    found = rng.choice(layouts)
    return found if found != but else draw_layout(rng, but)


def _numbers(rng):
    """Precision and schedule: what decides the numbers beside the layout."""
    precision = rng.choice(["fp32", "bf16", "float8", "float8"])
    schedule = rng.choice(["constant", "wsd", "cosine"])
    options = {"precision": precision, "schedule.kind": schedule, "schedule.warmup_steps": rng.choice([0, 3]),
               "run.seed": rng.randint(1, 5), "optimizer.lr": 1e-3}
    if schedule == "wsd":
        options["schedule.decay_steps"] = 4
    if precision == "float8":
        options["float8.recipe"] = rng.choice(["tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"])
    if options.get("float8.recipe") == "delayed":
        options["float8.delayed_history"] = rng.choice([4, 1024])
    return options


def _sometimes(rng):
    """Options of which most runs have none."""
    possible = {"checkpoint.max_age": rng.choice(["off", "3", "20"]), "recompute.mode": "full", "comm.trace": "true",
                "train.late_results": "true", "train.slow_rank_every": 4, "run.tensorboard": "false",
                "checkpoint.test_write": "true", "data.document_mask": "true", "parallel.check_replicas_every": 3}
    return {key: value for key, value in possible.items() if rng.random() < 0.2}


def draw_settings(rng):
    steps, keep, keep_every = rng.randint(16, 40), rng.choice([1, 2, 2, 3]), rng.choice([0, 0, 4])
    options = {
        **_numbers(rng), **_sometimes(rng),
        "train.steps": steps, "train.seq_len": 32, "train.global_batch": 8, "train.micro_batch": 1,
        "train.validate_every": rng.choice([0, 3, 5]), "train.validation_batches": 1, "data.validation_fraction": 0.05,
        "checkpoint.interval": rng.choice(["1", "2", "3", "5", "0.005 min"]), "checkpoint.keep": keep,
        "checkpoint.keep_every": keep_every, "checkpoint.writers_per_node": rng.choice(["all", "all", "1", "2"]),
    }
    model = {**MODEL, "tied_embedding": "true"} if rng.random() < 0.3 else MODEL
    return Settings(model, draw_layout(rng), options, steps, keep, keep_every)
