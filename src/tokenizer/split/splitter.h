#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// One way of cutting pieces, as a file asks for it.
struct SplitStep {
  enum class Kind { llama3 };
  Kind kind = Kind::llama3;
};

/// Cuts texts into the pieces that tokens do not reach over. It belongs to one thread.
class Splitter {
 public:
  virtual ~Splitter() = default;

  /// Begins with a UTF-8 text, which must stay where it is until the last piece is taken.
  virtual void start(std::string_view text) = 0;
  /// Offset behind the next piece, which is not empty. The last one ends with the text.
  virtual std::size_t next() = 0;
};

/// Takes the steps one after the other: each cuts the pieces of the one before. No step leaves a text whole.
std::unique_ptr<Splitter> make_splitter(const std::vector<SplitStep>& steps);

}  // namespace octet
