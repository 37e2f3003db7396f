#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/llama.h"

namespace octet {

/// What tensor parallelism does with one operand of a block's linears, as the block's exchange is asked for it.
struct OperandExchange {
  std::vector<std::string> linears{};  ///< linears that read it, one cast and one gather for all of them
  bool gradient = false;               ///< an output gradient dY, else an input X
  DType format = DType::bf16;          ///< format in which the GEMMs read it
  bool several_scales = false;         ///< fp8
  bool reduced = false;                ///< its abs-max is the MAX over tp, exchanged before it is cast
  std::optional<DType> travels{};      ///< dtype in which it is gathered from this rank's rows; none: it is not
  bool shared = false;                 ///< gathered with the operand before it: the same tensor for other linears
  bool gathered_again = false;         ///< an input: for backward
  std::optional<DType> scattered{};    ///< dtype of the sum that its GEMMs make a part of

  bool float8() const { return is_float8(format); }
  /// One scale for the whole tensor: cast before it travels. Else fp8 operands are cast where they are read.
  bool cast_first() const { return float8() && travels == format; }
};

/// All operands of a block in the order in which a training pass first needs them, forward, then backward: read from a
/// dry pass of a step after the first, without recompute, with an exchange that writes down what it is asked for.
std::vector<OperandExchange> block_exchanges(const LlamaSettings& settings, std::int64_t layer, Stream& stream);

/// Printed at start: linear × operand → abs-max, cast, what travels, what is kept, and what becomes of the result.
std::string exchange_table(const LlamaSettings& settings, std::int64_t layer, Stream& stream);

}  // namespace octet
