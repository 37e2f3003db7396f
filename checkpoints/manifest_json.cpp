#include "checkpoints/manifest_json.h"

#include <limits>

namespace octet::checkpoint::json_value {
namespace {

Error wrong(const std::string& where, const Json& found, const char* expected) {
  std::string value = found.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (value.size() > 80) value = value.substr(0, 77) + "...";
  return usage_error("checkpoints", "{} is {}, expected {}", where, value, expected);
}

}  // namespace

std::string last_line(const std::string& hash) {
  return "\"xxh3_128\": \"" + hash + "\"}\n";
}

void expect_keys(const Json& value, std::initializer_list<const char*> keys, const std::string& where) {
  if (!value.is_object()) throw wrong(where, value, "an object");
  for (const char* key : keys) {
    if (!value.contains(key)) throw usage_error("checkpoints", "{} has no key \"{}\"", where, key);
  }
  if (value.size() == keys.size()) return;
  for (const auto& [key, ignored] : value.items()) {
    bool known = false;
    for (const char* k : keys) known = known || key == k;
    if (!known) throw usage_error("checkpoints", "{} has the unknown key \"{}\"", where, key);
  }
}

const Json& expect_array(const Json& value, const std::string& where) {
  if (!value.is_array()) throw wrong(where, value, "an array");
  return value;
}

std::string text(const Json& value, const std::string& where) {
  if (!value.is_string()) throw wrong(where, value, "a string");
  return value.get<std::string>();
}

std::uint64_t bits(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned()) throw wrong(where, value, "a whole number that is not negative");
  return value.get<std::uint64_t>();
}

std::int64_t natural(const Json& value, const std::string& where) {
  const std::uint64_t n = bits(value, where);
  if (n > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) throw wrong(where, value, "less than 2^63");
  return static_cast<std::int64_t>(n);
}

std::int32_t index(const Json& value, std::size_t size, const std::string& where) {
  const std::uint64_t n = bits(value, where);
  if (n >= size) throw usage_error("checkpoints", "{} is {}, expected less than {}", where, n, size);
  return static_cast<std::int32_t>(n);
}

double number_or_nan(const Json& value, const std::string& where) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) throw wrong(where, value, "a number");
  return value.get<double>();
}

std::vector<std::int64_t> naturals(const Json& value, const std::string& where) {
  std::vector<std::int64_t> numbers;
  for (const Json& element : expect_array(value, where)) numbers.push_back(natural(element, where));
  return numbers;
}

DType dtype(const Json& value, const std::string& where) {
  const std::string name = text(value, where);
  for (const DType t : {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8}) {
    if (name == name_of(t)) return t;
  }
  throw wrong(where, value, "f32, bf16, e4m3, e5m2, i32 or u8");
}

}  // namespace octet::checkpoint::json_value
