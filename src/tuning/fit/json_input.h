#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace octet {

/// Usage error with file and line where the text is no JSON, a benchmark that was ended while it wrote for one.
nlohmann::json parse_json_input(const std::string& path, std::string_view text);

/// A value of a benchmark's JSON, which may have keys that nobody here asks for. Usage errors name file, place and what
/// was expected.
class JsonInput {
 public:
  JsonInput(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  /// Present and not null.
  bool has(const char* key) const;
  std::string text(const char* key) const { return child(key).text(); }
  std::int64_t integer(const char* key) const;
  double number(const char* key) const;  ///< finite
  bool boolean(const char* key) const;
  JsonInput object(const char* key) const;
  JsonInput list(const char* key) const;

  std::string text() const;
  std::size_t size() const { return value_->size(); }
  JsonInput at(std::size_t index) const;

  const std::string& where() const { return where_; }

 private:
  JsonInput child(const char* key) const;

  const nlohmann::json* value_;  ///< outlives this
  std::string where_;
};

}  // namespace octet
