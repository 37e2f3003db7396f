#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// A pattern of Oniguruma that is read from the left to the right. What is not done is refused with its place.
class PatternCursor {
 public:
  struct Refused {
    std::string what;
  };

  explicit PatternCursor(std::string_view pattern) : pattern_(pattern) {}

  bool at_end() const { return place_ == pattern_.size(); }
  std::size_t place() const { return place_; }
  void go_back(std::size_t place) { place_ = place; }
  char peek() const { return pattern_[place_]; }
  bool at(std::string_view text) const { return pattern_.substr(place_).starts_with(text); }
  /// The next characters, at most so many.
  std::string rest(std::size_t most) const;
  std::string since(std::size_t begin) const { return std::string(pattern_.substr(begin, place_ - begin)); }

  /// Goes behind that text where it comes next.
  bool take(std::string_view text);
  /// Goes behind one of these characters and returns it.
  std::optional<std::string> take_one_of(std::string_view characters);
  /// The next character; the pattern is not at its end.
  std::uint32_t character();

  /// {n}, {n,}, {,m} or {n,m} with numbers of at most `most`; nothing where none comes next: then { is a character.
  std::optional<std::string> interval(int most);

  /// Characters that stand behind a backslash as a set: \s, \S, \d, \D, \p{...}, \P{...}.
  struct Set {
    std::string members;   ///< of a class of PCRE2
    bool negated = false;  ///< all but these
    bool is_space = false;
    std::string opposite{};  ///< members that are all but these, where PCRE2 can say so
  };
  std::optional<Set> escaped_set();
  /// The one character that stands behind a backslash in some way.
  std::uint32_t escaped_character();

  [[noreturn]] void refuse(std::string_view part, std::string_view why) const;
  [[noreturn]] void refuse_next(std::string_view why) const { refuse(rest(1), why); }

 private:
  int number();  ///< -1: none comes next
  std::uint32_t hexadecimal(std::size_t least, std::size_t most);
  Set property(bool negated);

  std::string_view pattern_;
  std::size_t place_ = 0;
};

}  // namespace octet
