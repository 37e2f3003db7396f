#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace octet {

/// A row of a dataset as a question: which of the texts context + continuation is the likely one. There are as many as
/// choices: all have one context, or (winogrande) all have one continuation.
struct TaskItem {
  std::vector<std::string> contexts{};       ///< one, or one a choice
  std::vector<std::string> continuations{};  ///< one a choice, or one; with the blank before
  std::vector<std::string> choices{};        ///< by whose length acc_norm and acc_bytes divide
  std::size_t gold = 0;                      ///< the right choice
  std::string place{};                       ///< FILE:LINE, or the row of Parquet
  std::string example{};                     ///< the question with its answer, as it stands before others

  const std::string& context(std::size_t choice) const { return contexts[contexts.size() > 1 ? choice : 0]; }
  const std::string& continuation(std::size_t choice) const {
    return continuations[continuations.size() > 1 ? choice : 0];
  }
};

}  // namespace octet
