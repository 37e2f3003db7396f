#!/usr/bin/env python3
"""Reference values of one float8 linear under the rowwise recipes, from PyTorch and torchao.

    python3 -m venv venv && venv/bin/pip install torch torchao numpy
    venv/bin/python tests/golden/make_rowwise_golden.py

Written from the recipes' description, not from Octet: every vector along which a GEMM contracts has the scale
2^floor(log2(448 / max(amax, 1e-12))), the quotient in float64 and rounded to float32; code = saturating
round-to-nearest-even of float32(x) * scale in e4m3. Scales and codes must have the bits of torchao's, or nothing is
written. The products are formed in float64; torchao's emulated Float8Linear, which forms them in float32, is run on the
same inputs. See README.md beside this file for what is written.
"""

import dataclasses
import pathlib

import torch
from torchao.float8.config import ScalingGranularity
from torchao.float8.float8_scaling_utils import hp_tensor_to_float8_dynamic
from torchao.float8.float8_training_tensor import GemmInputRole, LinearMMConfig, ScaledMMConfig

from golden_file import GoldenFile
from make_float8_golden import cast, compare, versions

HERE = pathlib.Path(__file__).parent
E4M3 = torch.float8_e4m3fn
TOKENS, K, N = 64, 48, 32
EMULATED = ScaledMMConfig(emulate=True, use_fast_accum=False, fp8_output=False, pad_inner_dim=False)


def inputs():
    """bf16, as they reach a linear: X and dY [tokens, .], the gathered W [N, K]. Rows and columns of many sizes, one of
    each all zero, and outliers."""
    generator = torch.Generator().manual_seed(6)
    normal = lambda *shape: torch.randn(shape, generator=generator)
    spread = lambda rows, columns: normal(rows, columns) * torch.exp2(4 * normal(rows, 1)) * torch.exp2(normal(1, columns))
    x, w, dy = spread(TOKENS, K), spread(N, K) * K**-0.5, spread(TOKENS, N) * 1e-4
    x[7, 5], x[40, 11], w[3, 9], dy[20, 2] = 3.0e4, -1.7e4, 250.0, -40.0
    for t in (x, w, dy):
        t[1], t[:, 2] = 0, 0
    return x.bfloat16(), w.bfloat16(), dy.bfloat16()


def quantise(golden, name, x, dim):
    """Dequantised float64 values; scales along `dim` (None: one for all), which the products contract."""
    amax = x.double().abs().amax() if dim is None else x.double().abs().amax(dim, keepdim=True)
    exact = (448.0 / amax.clamp(min=1e-12)).float()
    scale = torch.exp2(torch.floor(torch.log2(exact.double()))).float()
    codes = cast(x.float() * scale, E4M3)
    granularity = ScalingGranularity.TENSORWISE if dim is None else ScalingGranularity.AXISWISE
    theirs = hp_tensor_to_float8_dynamic(
        x, E4M3, LinearMMConfig(EMULATED, EMULATED, EMULATED), gemm_input_role=GemmInputRole.INPUT,
        scaling_granularity=granularity, axiswise_dim=dim, round_scales_to_power_of_2=True)
    if not torch.equal(theirs._data.view(torch.uint8), codes.view(torch.uint8)) or not torch.equal(theirs._scale, scale):
        raise SystemExit(f"{name}: scales or codes are not torchao's")
    golden.add(f"{name}.scale", scale.flatten())
    golden.add(f"{name}.inverse_scale", (1 / scale).flatten())
    golden.add(f"{name}.codes", codes)
    return codes.double() * (1 / scale).double()


def torchao_linear(recipe, x, w, dy):
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    model = torch.nn.Sequential(torch.nn.Linear(K, N, bias=False, dtype=torch.bfloat16))
    with torch.no_grad():
        model[0].weight.copy_(w)
    config = dataclasses.replace(Float8LinearConfig.from_recipe_name(recipe), emulate=True)
    model = convert_to_float8_training(model, config=config)
    x = x.clone().requires_grad_()
    y = model(x)
    y.backward(dy)
    return {"y": y.detach(), "dx": x.grad, "dw": model[0].weight.grad}


def make(recipe):
    x, w, dy = inputs()
    golden = GoldenFile(recipe=recipe, tokens=TOKENS, k=K, n=N, **versions())
    for name, tensor in (("x", x), ("w", w), ("dy", dy)):
        golden.add(name, tensor)
    high_weight_gradient = recipe == "rowwise_with_gw_hp"
    y = quantise(golden, "x.by_row", x, -1) @ quantise(golden, "w.by_row", w, -1).T
    weight = quantise(golden, "w.for_input", w, None if high_weight_gradient else 0)
    dx = quantise(golden, "dy.by_row", dy, -1) @ weight
    if high_weight_gradient:
        dw = dy.double().T @ x.double()
    else:
        dw = quantise(golden, "dy.by_column", dy, 0).T @ quantise(golden, "x.by_column", x, 0)
    theirs = torchao_linear(recipe, x, w, dy)
    for name, value in {"y": y, "dx": dx, "dw": dw}.items():
        golden.add(name, value)
        golden.add("torchao." + name, theirs[name])
    golden.write(HERE / f"float8_{recipe}")
    for name, value in {"y": y, "dx": dx, "dw": dw}.items():
        compare(name, value, theirs[name])


def main():
    torch.set_num_threads(1)
    for recipe in ("rowwise", "rowwise_with_gw_hp"):
        make(recipe)


if __name__ == "__main__":
    main()
