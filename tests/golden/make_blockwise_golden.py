#!/usr/bin/env python3
"""Reference values of one float8 linear with a scale for 1 x 128 and for 128 x 128 values, from PyTorch and torchao.

    python3 -m venv venv && venv/bin/pip install torch torchao numpy
    venv/bin/python tests/golden/make_blockwise_golden.py

Written from the description, not from Octet (DeepSeek-V3, arXiv 2412.19437, 3.3.2; torchao's blockwise_fp8_training): X
and dY have a scale for 128 neighbours along the dimension that a GEMM contracts, W one for each 128 x 128, all e4m3. A
scale is 448 / max(amax, 1e-12), the quotient in float64 and rounded to float32; a code the saturating
round-to-nearest-even of float32(x) * scale. Scales and codes must have the bits of torchao's references in torch, or
nothing is written. `C.power_of_two.*` has each scale cut to a power of two, which torchao does not do. The products are
formed in float64. See README.md beside this file for what is written.
"""

import pathlib

import torch
from torchao.prototype.blockwise_fp8_training import kernels as torchao

from golden_file import GoldenFile
from make_float8_golden import cast, versions

HERE = pathlib.Path(__file__).parent
E4M3 = torch.float8_e4m3fn
TOKENS, K, N = 256, 256, 128
STEP = 16  # every sixteenth row of the products is written


def inputs():
    """bf16, as they reach a linear. Vectors of many sizes, some of them all zero, and outliers."""
    generator = torch.Generator().manual_seed(18)
    normal = lambda *shape: torch.randn(shape, generator=generator)
    spread = lambda rows, columns: normal(rows, columns) * torch.exp2(4 * normal(rows, 1)) * torch.exp2(normal(1, columns))
    x, w, dy = spread(TOKENS, K), spread(N, K) * K**-0.5, spread(TOKENS, N) * 1e-4
    x[7, 5], x[140, 211], w[3, 9], dy[20, 2] = 3.0e4, -1.7e4, 250.0, -40.0
    x[1], x[:, 2], dy[129] = 0, 0, 0
    return x.bfloat16(), w.bfloat16(), dy.bfloat16()


def scales_of(x, height, width, power_of_two):
    """[rows / height, columns / width] in float32."""
    blocks = x.double().abs().reshape(x.shape[0] // height, height, x.shape[1] // width, width)
    scale = (448.0 / blocks.amax((1, 3)).clamp(min=1e-12)).float()
    return torch.exp2(torch.floor(torch.log2(scale.double()))).float() if power_of_two else scale


def quantise(golden, name, x, height, width, theirs):
    """Dequantised float64 values. `theirs`: torchao's codes and inverse scales."""
    spread = lambda s: s.repeat_interleave(height, 0).repeat_interleave(width, 1)
    for power_of_two in (True, False):
        scale = scales_of(x, height, width, power_of_two)
        codes = cast(x.float() * spread(scale), E4M3)
        prefix = f"{name}.power_of_two" if power_of_two else name
        golden.add(f"{prefix}.inverse_scale", 1 / scale)
        if not power_of_two or name == "w":
            golden.add(f"{prefix}.codes", codes)
    their_codes, their_inverse = theirs
    if not torch.equal(their_codes.contiguous().view(torch.uint8), codes.view(torch.uint8)):
        raise SystemExit(f"{name}: codes are not torchao's")
    if not torch.equal(their_inverse.contiguous(), 1 / scale):
        raise SystemExit(f"{name}: scales are not torchao's")
    return codes.double() * spread(1 / scale).double()


def main():
    torch.set_num_threads(1)
    x, w, dy = inputs()
    golden = GoldenFile(tokens=TOKENS, k=K, n=N, step=STEP, **versions())
    for name, tensor in (("x", x), ("w", w), ("dy", dy)):
        golden.add(name, tensor)
    # float32, since torchao clamps the abs-max of columns in the type of its input.
    rows = lambda t: torchao.torch_blockwise_scale_act_quant_lhs(t.float())
    columns = lambda t: torchao.torch_blockwise_scale_act_quant_rhs(t.float())
    weight = quantise(golden, "w", w, 128, 128, torchao.torch_blockwise_scale_weight_quant(w.float()))
    x_by_row = quantise(golden, "x.by_row", x, 1, 128, rows(x))
    x_by_column = quantise(golden, "x.by_column", x, 128, 1, columns(x))
    dy_by_row = quantise(golden, "dy.by_row", dy, 1, 128, rows(dy))
    dy_by_column = quantise(golden, "dy.by_column", dy, 128, 1, columns(dy))
    for name, value in {"y": x_by_row @ weight.T, "dx": dy_by_row @ weight, "dw": dy_by_column.T @ x_by_column}.items():
        golden.add(name, value[::STEP])
    golden.write(HERE / "float8_blockwise")


if __name__ == "__main__":
    main()
