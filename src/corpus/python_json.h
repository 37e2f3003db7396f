#pragma once

#include <string>
#include <string_view>

namespace octet {

/// JSON as Python's json module writes and reads it, as JSON that a strict parser takes: NaN, Infinity and -Infinity
/// become empty lists, and numbers, which may be too long or too large for 64 bits, zeros. What stands in strings, and
/// what is JSON in neither way, stays as it is, each value where it was. So of a line's texts nothing changes.
std::string without_python_numbers(std::string_view json);

}  // namespace octet
