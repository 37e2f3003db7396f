#pragma once

#include <string>
#include <string_view>

namespace octet {

/// The text as one word of a POSIX shell: as it stands where that is safe, else in single quotes.
std::string shell_word(std::string_view text);

/// The text as a value in a #SBATCH line, whose words sbatch splits at spaces and whose # begins a comment: as it
/// stands, or in double quotes with a backslash before double quotes and backslashes. Usage error for line breaks.
std::string sbatch_value(std::string_view text);

}  // namespace octet
