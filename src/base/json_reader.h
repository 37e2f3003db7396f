#pragma once

#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/named_enum.h"

namespace octet {

/// Strict: an object that has a key twice, and what is nested deeper than 32 times, is refused as what is no JSON.
/// Throws a usage error of that room with the file's name, and the line where a text of several lines breaks off:
/// "a.json:7: no valid JSON; expected EXPECTED: ...".
nlohmann::json parse_json(std::string_view text, std::string_view room, const std::string& file,
                          std::string_view expected);

/// A value of a JSON text and the place where it stands. A value that is not what the caller asks for throws a usage
/// error with file, key, value and what was expected: "a.json: fits[3].us is "fast"; expected a number". A missing
/// value can be asked for like any other, and is then refused as missing.
class JsonReader {
 public:
  /// The whole text of a file; `value` has to outlive this, and `room` is a literal.
  JsonReader(const nlohmann::json& value, std::string_view room, const std::string& file);

  bool is_there() const { return value_ != nullptr; }
  bool is_null() const { return value_ != nullptr && value_->is_null(); }
  bool is_text() const { return value_ != nullptr && value_->is_string(); }
  bool is_list() const { return value_ != nullptr && value_->is_array(); }

  // These are for objects.
  bool contains(const char* key) const;
  /// Says whether the key is there and its value is not null.
  bool has(const char* key) const;
  JsonReader at(const char* key) const;
  std::vector<std::pair<std::string, JsonReader>> members() const;
  /// Throws where the object has a key that was not asked for.
  void finish() const;

  // These are for lists.
  std::size_t size() const;
  JsonReader element(std::size_t index) const;
  /// The list's elements. There must be `count` of them; -1 stands for any number.
  std::vector<JsonReader> elements(int count = -1) const;
  std::vector<std::int64_t> integers(std::int64_t least, std::int64_t most, int count = -1) const;
  std::vector<std::string> texts() const;

  // These are for plain values.
  std::string text() const;
  std::int64_t integer(std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX) const;
  std::uint64_t unsigned_integer() const;
  /// The number has to be finite.
  double number(double least = std::numeric_limits<double>::lowest(),
                double most = std::numeric_limits<double>::max()) const;
  /// null is NaN.
  double number_or_nan() const;
  bool boolean() const;
  template <NamedEnum E>
  E choice() const {
    const auto names = names_of(E{});
    const auto value = value_named<E>(text());
    if (!value) throw refuse(fmt::format("one of {}", fmt::join(names.begin(), names.end(), ", ")));
    return *value;
  }

  // These read the value that has that key.
  std::vector<JsonReader> list(const char* key) const { return at(key).elements(); }
  std::vector<JsonReader> list_or_none(const char* key) const;
  std::string text(const char* key) const { return at(key).text(); }
  std::int64_t integer(const char* key, std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX) const {
    return at(key).integer(least, most);
  }
  double number(const char* key, double least = std::numeric_limits<double>::lowest(),
                double most = std::numeric_limits<double>::max()) const {
    return at(key).number(least, most);
  }
  bool boolean(const char* key) const { return at(key).boolean(); }
  template <NamedEnum E>
  E choice(const char* key) const {
    return at(key).choice<E>();
  }

  /// The error for what the caller itself finds wrong.
  Error refuse(const std::string& expected) const;
  /// The value as JSON, cut off where it is long; "nothing" where none is there.
  std::string shown() const;
  /// "FILE: key[3].other".
  const std::string& where() const { return where_; }

 private:
  JsonReader(const nlohmann::json* value, std::string_view room, std::string where)
      : value_(value), room_(room), where_(std::move(where)) {}

  const nlohmann::json* value_;  ///< null: not there
  std::string_view room_;
  std::string where_;
  std::string_view joint_ = ".";              ///< between this place and a key
  mutable std::vector<std::string> asked_{};  ///< keys
};

}  // namespace octet
