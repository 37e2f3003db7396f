#pragma once

#include <memory>
#include <vector>

#include "src/tokenizer/split/splitter.h"

namespace octet {

/// Takes the steps one after the other: each cuts the pieces of the one before as if they were texts of their own. No
/// step leaves a text whole. A usage error for text that is no UTF-8, where a pattern is among them.
std::unique_ptr<Splitter> make_splitter(const std::vector<SplitStep>& steps);

/// Says whether behind some places that a text itself shows its pieces do not depend on what came before
/// (Llama3Split::last_cut).
bool can_be_cut(const std::vector<SplitStep>& steps);

}  // namespace octet
