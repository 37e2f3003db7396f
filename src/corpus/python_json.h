#pragma once

#include <string>
#include <string_view>

namespace octet {

/// Turns JSON as Python's json module writes and reads it into JSON that a strict parser takes: NaN, Infinity and
/// -Infinity become empty lists, and numbers, which may be too long or too large for 64 bits, become zeros. Strings,
/// and text that is JSON for neither, stay as they are, and every value keeps its place. So the texts of a line do not
/// change.
std::string without_python_numbers(std::string_view json);

}  // namespace octet
