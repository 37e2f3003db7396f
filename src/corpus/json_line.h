#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace octet {

/// Takes one field's text out of lines that are JSON objects, also with the numbers of Python's JSON (python_json.h).
/// The field is a key of the object, or a path such as "meta.text" to a key of an object in it. It belongs to one
/// thread.
class JsonLine {
 public:
  /// Bytes behind a line's end that must be readable.
  static constexpr std::size_t padding = 64;

  explicit JsonLine(std::string field);
  ~JsonLine();
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  enum class Result {
    text,      ///< text() has the field's
    broken,    ///< why() says what was expected; so is an object that has the key twice
    bad_utf8,  ///< the line is not UTF-8, or an escape in it is half of a surrogate pair; mend_json has the remedy
  };
  /// Reads a line without its end. What text() and why() return lasts until the next call.
  Result parse(std::string_view line);
  std::string_view text() const { return text_; }
  const std::string& why() const { return why_; }

 private:
  struct Parser;
  std::string field_;
  std::unique_ptr<Parser> parser_;
  std::string_view text_;
  std::string why_;
};

/// Says whether a text is one whole JSON object, also with the numbers of Python's JSON (python_json.h).
bool is_json_object(std::string_view text);

}  // namespace octet
