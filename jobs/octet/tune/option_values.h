#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/options/schema.h"

namespace octet::tune {

/// Declares a number of nodes or ranks. A field that is 0 says that it was not given.
inline Option& add_count(Schema& schema, const std::string& key, int& field) {
  return schema.add(key, field).between(1, 1'000'000);
}

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
