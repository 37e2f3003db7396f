"""What the operands of a block's linears are cast to (docs/numerics.md, "The float8 recipes")."""
import torch

FORMATS = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}
LINEARS = ["attention.wq", "attention.wk", "attention.wv", "attention.wo",
           "feed_forward.w1", "feed_forward.w3", "feed_forward.w2"]  # in the order of checkpoints
FIRST_WITH_INPUT = {"attention.wk": "attention.wq", "attention.wv": "attention.wq", "feed_forward.w3": "feed_forward.w1"}


def to_bf16(x):
    return x.bfloat16().float()


def unchanged(x):
    return x


def abs_max(x, along):
    """The abs-max of the values that share a scale, in a shape that goes with x: all, those along a dimension, 128 along
    it, or 128 x 128."""
    if along == "tensor":
        return x.abs().amax()
    if along in (0, 1):
        return x.abs().amax(along, keepdim=True)
    rows, columns = {"128 of 0": (128, 1), "128 of 1": (1, 128), "128 x 128": (128, 128)}[along]
    blocks = x.abs().view(x.shape[0] // rows, rows, x.shape[1] // columns, columns).amax((1, 3))
    return blocks.repeat_interleave(rows, 0).repeat_interleave(columns, 1)


def power_below(scale):
    return torch.ldexp(torch.ones_like(scale), torch.frexp(scale)[1] - 1)


def dynamic_scale(amax, format, power_of_two):
    scale = (FORMATS[format][1] / amax.double().clamp(min=1e-12)).float()
    return power_below(scale) if power_of_two else scale


def through_float8(x, scale, format):
    dtype, largest = FORMATS[format]
    return (x * scale).clamp(-largest, largest).to(dtype).float() * (1 / scale)


class DelayedScales:
    """The memory of the recipe `delayed`: one scale for each cast, of the abs-maxes of the steps before."""

    def __init__(self, options, power_of_two):
        self.length, self.margin = options["delayed_history"], options["delayed_margin"]
        self.most_recent, self.power_of_two = options["delayed_algorithm"] == "most_recent", power_of_two
        self.steps, self.records = 0, True
        self.newest, self.history, self.scale, self.formats = {}, {}, {}, {}

    def cast(self, key, x, format):
        amax = abs_max(x, "tensor")
        if self.records:
            self.formats[key] = format
            self.newest[key] = torch.maximum(self.newest.get(key, amax), amax)
        scale = self.scale.get(key, torch.tensor(1.0)) if self.steps else dynamic_scale(amax, format, self.power_of_two)
        return through_float8(x, scale, format)

    def finish_step(self):
        for key, amax in self.newest.items():
            if not 0 < amax < torch.inf:
                continue
            history = self.history[key] = [amax, *self.history.get(key, [])][:self.length]
            largest = torch.tensor(FORMATS[self.formats[key]][1] * 2.0**-self.margin)
            scale = largest / (amax if self.most_recent else max(history))
            scale = scale.clamp(max=torch.finfo(torch.float32).max)
            self.scale[key] = power_below(scale) if self.power_of_two else scale
        self.newest = {}
        self.steps += 1

    def load(self, tensors, keys):
        """Goes on from what a checkpoint holds, whose casts are `keys` in their order."""
        self.steps = int(tensors["steps"])
        for i, key in enumerate(keys):
            self.scale[key] = tensors["scale"][i]
            self.history[key] = [amax for amax in tensors["amax_history"][:, i] if amax > 0]


class Casts:
    """For each linear the six functions X and W for Y, dY and W for dX, dY and X for dW are cast by."""

    def __init__(self, config, layers):
        self.float8, self.layers = config["float8"], layers
        self.plain = unchanged if config["precision"] == "fp32" else to_bf16
        self.is_on, self.recipe = config["precision"] == "float8", self.float8["recipe"]
        one_scale = self.recipe in ("tensorwise", "delayed")
        rounds = self.float8["round_scales_to_power_of_two"]
        self.power_of_two = not one_scale if rounds == "auto" else rounds
        self.weight = unchanged if one_scale and self.float8["all_gather"] in ("auto", True) else to_bf16
        self.delayed = DelayedScales(self.float8, self.power_of_two) if self.is_on and self.recipe == "delayed" else None

    def stays_in_bf16(self, layer, name):
        o = self.float8
        at_an_end = layer < o["bf16_first_layers"] or layer >= self.layers - o["bf16_last_layers"]
        return at_an_end or any(part in f"layers.{layer}.{name}.weight" for part in o["bf16_linears"])

    def of(self, layer, name):
        if not self.is_on or self.stays_in_bf16(layer, name):
            return [self.plain] * 6
        if self.recipe == "tensorwise":
            x, dy = self.dynamic("e4m3", "tensor"), self.dynamic("e5m2", "tensor")
            w = self.dynamic("e4m3", "tensor", self.weight)
            return [x, w, dy, w, dy, x]
        if self.recipe == "delayed":
            x, w, dy = self.remembered(layer, name)
            return [x, w, dy, w, dy, x]
        if self.recipe == "blockwise":
            rows, columns, w = (self.dynamic("e4m3", along) for along in ("128 of 1", "128 of 0", "128 x 128"))
            return [rows, w, rows, w, columns, columns]
        rows, columns = self.dynamic("e4m3", 1), self.dynamic("e4m3", 0)
        if self.recipe == "rowwise":
            return [rows, rows, rows, columns, columns, columns]
        return [rows, rows, rows, self.dynamic("e4m3", "tensor"), self.plain, self.plain]  # rowwise_with_gw_hp

    def dynamic(self, format, along, before=to_bf16):
        def cast(x):
            x = before(x)
            return through_float8(x, dynamic_scale(abs_max(x, along), format, self.power_of_two), format)
        return cast

    def remembered(self, layer, name):
        def cast(kind, of, format, before=to_bf16):
            return lambda x: self.delayed.cast((kind, layer, of), before(x), format)
        x = cast("input", FIRST_WITH_INPUT.get(name, name), "e4m3")
        return x, cast("weight", name, "e4m3", self.weight), cast("gradient", name, "e5m2")

    def begin_pass(self, trains):
        """What is cast from here on is remembered where the pass trains."""
        if self.delayed:
            self.delayed.records = trains

    def finish_step(self):
        if self.delayed:
            self.delayed.finish_step()

    def load(self, tensors):
        """A checkpoint's tensors of float8/ (docs/checkpoint-format.md)."""
        if not self.delayed:
            return
        layers = range(self.layers)
        inputs = [("input", layer, name) for layer in layers for name in LINEARS if name not in FIRST_WITH_INPUT]
        weights = [("weight", layer, name) for layer in layers for name in LINEARS if not self.stays_in_bf16(layer, name)]
        gradients = [("gradient", layer, name) for layer in layers for name in LINEARS]
        self.delayed.load(tensors, inputs + weights + gradients)
