#pragma once

#include <string>
#include <vector>

#include "src/model/parameters.h"

namespace octet {

/// What tensor parallelism does with one operand of a block's linears.
struct OperandExchange {
  std::vector<BlockLinear> linears{};  ///< that read it, one cast and one gather for all of them
  bool gradient = false;               ///< an output gradient dY, else an input X
  DType format = DType::bf16;          ///< in which the GEMMs read it, and in which it travels
  bool delayed = false;                ///< its scale is known from steps before: no abs-max is exchanged for it
  bool gathered = false;  ///< from this rank's rows; else its columns of all tokens, which stay where they are
  bool float8() const { return is_float8(format); }
};

/// All operands of a block in the order in which a training pass first needs them: forward, then backward. An fp8
/// operand is cast before it travels; unless delayed it has one abs-max, MAX over tp, before it is cast.
std::vector<OperandExchange> block_exchanges(const BlockRecipes& recipes, DType storage);

/// Printed at start: linear × operand → abs-max, cast, what travels, what is kept, and what becomes of the result.
std::string exchange_table(const BlockRecipes& recipes, DType storage, bool keep_gathered);

}  // namespace octet
