#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "src/base/error.h"

namespace octet {

/// call(), and what Arrow throws in it as a usage error of the room that names the file: Arrow's text does not.
template <typename Call>
auto readable(std::string_view room, const std::string& path, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw usage_error(room, "{}: cannot be read as Parquet: {}", path, error.what());
  }
}

}  // namespace octet
