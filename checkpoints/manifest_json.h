#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoints/format.h"

/// What every version of the manifest has, and checked access to parsed JSON. The functions throw a usage error that
/// begins with `where`, which names the file and the part of it, when the value is not what is asked for.
namespace octet::checkpoint::json_value {

using Json = nlohmann::json;

/// The line that ends a manifest, given the hash of all that stands before it.
std::string last_line(const std::string& hash);

/// An object with exactly these keys.
void expect_keys(const Json& value, std::initializer_list<const char*> keys, const std::string& where);
const Json& expect_array(const Json& value, const std::string& where);
std::string text(const Json& value, const std::string& where);
std::int64_t natural(const Json& value, const std::string& where);  ///< 0 to 2^63 - 1
std::int32_t index(const Json& value, std::size_t size, const std::string& where);
std::uint64_t bits(const Json& value, const std::string& where);  ///< 0 to 2^64 - 1
double number_or_nan(const Json& value, const std::string& where);
std::vector<std::int64_t> naturals(const Json& value, const std::string& where);
DType dtype(const Json& value, const std::string& where);

}  // namespace octet::checkpoint::json_value
