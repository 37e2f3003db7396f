#pragma once

#include <memory>

#include "src/tokenizer/split/splitter.h"

namespace octet {

/// Cuts by a pattern: of SplitStep the kinds pattern and matches. `checked` says that texts are known to be UTF-8.
std::unique_ptr<Splitter> make_pattern_splitter(const SplitStep& step, bool checked);

}  // namespace octet
