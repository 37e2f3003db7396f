#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "src/tokenizer/pattern/compiled_pattern.h"

namespace octet {

/// One way of cutting pieces, as a file asks for it.
struct SplitStep {
  enum class Kind {
    llama3,   ///< by llama3_pattern
    pattern,  ///< each match is a piece, and so is what stands between two
    matches,  ///< each match is a piece; what stands between them is left out
  };
  Kind kind = Kind::llama3;
  std::shared_ptr<const CompiledPattern> pattern{};  ///< for the others
};

/// Cuts texts into the pieces that tokens do not reach over. It belongs to one thread.
class Splitter {
 public:
  virtual ~Splitter() = default;

  /// Begins with a UTF-8 text, which must stay where it is until the last piece is taken.
  virtual void start(std::string_view text) = 0;
  /// The next piece of that text; empty behind the last.
  virtual std::string_view next() = 0;
};

}  // namespace octet
