#pragma once

#include <string>
#include <string_view>

namespace octet {

/// What lm-eval-harness takes out of HellaSwag's texts (preprocess of tasks/hellaswag/utils.py): blanks around,
/// WikiHow's " [title]" for ". ", anything in brackets on a line, and one of two blanks, once.
std::string clean_hellaswag(std::string_view text);

}  // namespace octet
