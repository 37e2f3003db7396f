#pragma once

#include <span>
#include <string_view>

namespace octet {

/// A group of subjects of MMLU, as lm-eval-harness has them (tasks/mmlu/default).
struct MmluPart {
  std::string_view name;                       ///< "mmlu_stem"
  std::span<const std::string_view> subjects;  ///< "abstract_algebra", ...
};

/// The four parts with 57 subjects in all, in lm-eval's order.
std::span<const MmluPart> mmlu_parts();

}  // namespace octet
