#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace octet {

/// An object of a JSON file whose every key must be asked for. Errors are usage errors that name file, key, value and
/// what was expected.
class JsonObject {
 public:
  /// `where` is the object's place in the file, "choices[3]"; empty for the whole.
  JsonObject(const nlohmann::json& value, std::string file, std::string where);

  std::string text(const char* key);
  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most);
  /// Finite, least <= x <= most.
  double number(const char* key, double least, double most);
  JsonObject object(const char* key);
  std::vector<std::string> texts(const char* key);
  /// A list of two integers.
  std::pair<std::int64_t, std::int64_t> integers(const char* key, std::int64_t least, std::int64_t most);

  /// The objects of a list; none where the key is absent.
  std::vector<JsonObject> list(const char* key);

  /// One of the first `count` values of an enumeration by its exact name.
  template <class Enum>
  Enum choice(const char* key, int count) {
    const std::string name = text(key);
    std::string names;
    for (int i = 0; i < count; ++i) {
      const auto value = static_cast<Enum>(i);
      if (name_of(value) == name) return value;
      names += (i == 0 ? "" : ", ") + std::string(name_of(value));
    }
    throw refuse(key, "one of " + names);
  }

  bool has(const char* key) const { return value_->contains(key); }
  /// Throws where a key was not asked for.
  void finish() const;

  /// For what the reader itself finds wrong.
  Error refuse(const std::string& key, const std::string& expected) const;
  const std::string& where() const { return where_; }

 private:
  const nlohmann::json& at(const char* key);
  std::string path(const std::string& key) const { return where_.empty() ? key : where_ + "." + key; }

  const nlohmann::json* value_;  ///< outlives this
  std::string file_, where_;
  std::vector<std::string> asked_;
};

/// Throws a usage error for what is no JSON, and for an object that has a key twice.
nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace octet
