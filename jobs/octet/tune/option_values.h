#pragma once

#include <fmt/format.h>
#include <boost/any.hpp>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace octet::tune {

/// A number of nodes or ranks as an option's value: boost reads it by validate(), which refuses anything but 1 to
/// 1,000,000, naming option and value. 0: not given.
struct Count {
  static constexpr int most = 1'000'000;

  int value = 0;

  operator int() const { return value; }
};
std::ostream& operator<<(std::ostream& out, Count count);
void validate(boost::any& out, const std::vector<std::string>& texts, Count*, int);

/// What `parse` makes of an option's text; its errors name the option.
template <typename Parse>
auto value_of(std::string_view option, const std::string& text, const Parse& parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} ({})", error.what(), option));
  }
}

}  // namespace octet::tune
