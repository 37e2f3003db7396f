#pragma once

#include "kernels/cpu/gemm/hopper_product.h"

namespace octet::cpu {

void hopper_multiply(const HopperMultiply& args);

}  // namespace octet::cpu
