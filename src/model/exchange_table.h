#pragma once

#include <string>
#include <vector>

#include "src/model/parameters.h"

namespace octet {

/// What tensor parallelism does with one operand of a block's linears.
struct OperandExchange {
  std::vector<BlockLinear> linears{};  ///< that read it, one cast and one gather for all of them
  bool gradient = false;               ///< an output gradient dY, else an input X
  DType format = DType::bf16;          ///< in which the GEMMs read it
  DType travels = DType::bf16;         ///< in which it is gathered
  bool delayed = false;                ///< its scale is known from steps before: no abs-max is exchanged for it
  bool gathered = false;  ///< from this rank's rows; else its columns of all tokens, which stay where they are
  bool shared = false;    ///< in the gather of the operand before it: the same tensor for other linears
  bool float8() const { return is_float8(format); }
  /// One scale for the whole tensor: cast before it travels. Else fp8 operands are cast where they are read.
  bool cast_first() const { return float8() && travels == format; }
  /// Its abs-max is the MAX over tp, exchanged before it is cast.
  bool reduced() const { return cast_first() && !delayed; }
};

/// All operands of a block in the order in which a training pass first needs them: forward, then backward.
std::vector<OperandExchange> block_exchanges(const BlockRecipes& recipes, DType storage);

/// Printed at start: linear × operand → abs-max, cast, what travels, what is kept, and what becomes of the result.
std::string exchange_table(const BlockRecipes& recipes, DType storage, bool keep_gathered);

}  // namespace octet
