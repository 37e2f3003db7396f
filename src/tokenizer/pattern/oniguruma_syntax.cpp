#include "src/tokenizer/pattern/oniguruma_syntax.h"

#include <fmt/format.h>

#include <optional>

#include "src/tokenizer/pattern/pattern_cursor.h"
#include "src/tokenizer/pattern/pattern_writer.h"

namespace octet {
namespace {

constexpr int deepest = 50;
constexpr int most_repeats = 1000;

/// Writes the pattern anew while it reads it from the left to the right.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string translate() {
    alternatives(false, 0);
    if (!in_.at_end()) in_.refuse(")", "no group is open");
    return std::move(out_);
  }

 private:
  /// What was written last, which decides what may follow it.
  enum class Last { nothing, place, folded_letter, other };

  void alternatives(bool folds, int depth) {
    if (depth > deepest) in_.refuse("(", "groups are nested too deep");
    last_ = Last::nothing;
    while (!in_.at_end() && in_.peek() != ')') {
      const std::size_t begin = out_.size();
      if (in_.take("|")) {
        out_ += '|';
        last_ = Last::nothing;
        letter_ = 0;
      } else {
        item(folds, depth);
        repeat(begin);
      }
    }
  }

  void item(bool folds, int depth) {
    if (in_.take("(")) return group(folds, depth);
    if (in_.take("[")) return one_class(folds);
    if (in_.take("\\")) return escape(folds);
    last_ = Last::place;
    if (in_.take("^")) return write("(?m:^)");
    if (in_.take("$")) return write("(?m:$)");
    if (in_.at("*") || in_.at("+") || in_.at("?")) in_.refuse_next("nothing stands before it to repeat");
    if (in_.take(".")) return other(".");  // all but LF in both
    literal(in_.character(), folds);
  }

  void group(bool folds, int depth) {
    bool looks = false, inner = folds;
    std::string open = "(?:";  // what a group holds is asked for by nobody
    if (in_.at("?")) {
      for (const char* kind : {"?:", "?>", "?=", "?!", "?<=", "?<!", "?i:"}) {
        if (!in_.take(kind)) continue;
        open = std::string("(") + kind;
        inner = inner || open == "(?i:";
        looks = open.find_first_of("=!") != std::string::npos;
        break;
      }
      if (open == "(?:" && in_.at("?"))
        in_.refuse(
            "(" + in_.rest(3),
            "the only groups supported are (...), (?:...), (?i:...), (?>...) and those that look ahead or behind");
    }
    out_ += open;
    alternatives(inner, depth + 1);
    if (!in_.take(")")) in_.refuse(open, "it is not closed");
    out_ += ')';
    last_ = looks ? Last::place : Last::other;
  }

  void literal(std::uint32_t c, bool folds) {
    if (folds) refuse_folding(c);
    out_ += written_character(c);
    const bool letter =
        folds && c < 0x80 && std::string_view("sfSF").find(static_cast<char>(c)) != std::string_view::npos;
    last_ = letter ? Last::folded_letter : Last::other;
    letter_ = folds ? c : 0;
  }

  /// Oniguruma takes one character for two where Unicode's case folding does, such as U+00DF for ss.
  void refuse_folding(std::uint32_t c) {
    if (c >= 0x80) in_.refuse("(?i:", "it is supported for ASCII alone");
    const auto lower = [](std::uint32_t letter) { return static_cast<char>(letter | 0x20); };
    const char pair[] = {lower(letter_), lower(c)};
    for (const char* folded : {"ss", "ff", "fi", "fl", "st"}) {
      if (letter_ != 0 && std::string_view(pair, 2) == folded) {
        in_.refuse("(?i:", fmt::format("{} within it is one character as well", folded));
      }
    }
  }

  void escape(bool folds) {
    if (const auto place = in_.take_one_of("AzZ")) {
      last_ = Last::place;
      return write(fmt::format("\\{}", *place));
    }
    if (const auto set = in_.escaped_set()) {
      if (folds && !set->is_space) in_.refuse("(?i:", "\\p{} and \\d within it are not supported");
      return other(set->negated ? "[^" + set->members + "]" : "[" + set->members + "]");
    }
    literal(in_.escaped_character(), folds);
  }

  /// A class, behind its [.
  void one_class(bool folds) {
    const bool negated = in_.take("^");
    if (negated && folds) in_.refuse("[^", "it is not supported within (?i:...)");
    const std::string members = class_members(folds, 0);
    other((negated ? "[^" : "[") + members + "]");
  }

  std::string class_members(bool folds, int depth) {
    if (depth > deepest) in_.refuse("[", "classes are nested too deep");
    if (in_.at("]")) in_.refuse("[]", "a class that begins with ] or is empty is not supported");
    std::string members;
    for (bool first = true; !in_.take("]"); first = false) {
      if (in_.at_end()) in_.refuse("[", "it is not closed");
      if (in_.at("&&")) in_.refuse("&&", "the intersection of classes is not supported");
      if (in_.at("[:") || in_.at("[^")) in_.refuse(in_.rest(2), "it is not supported within a class");
      if (in_.take("[")) {
        members += class_members(folds, depth + 1);  // both together
      } else if (!set_in_class(folds, members)) {
        members += range(folds, first);
      }
    }
    return members;
  }

  bool set_in_class(bool folds, std::string& members) {
    const std::size_t begin = in_.place();
    if (!in_.take("\\")) return false;
    const auto set = in_.escaped_set();
    if (!set) {
      in_.go_back(begin);
      return false;
    }
    if (folds && !set->is_space) in_.refuse("(?i:", "\\p{} and \\d within it are not supported");
    if (set->negated && set->opposite.empty()) in_.refuse(in_.since(begin), "it is not supported within a class");
    members += set->negated ? set->opposite : set->members;
    if (in_.at("-") && !in_.at("-]")) in_.refuse_next("it stands behind what is no character");
    return true;
  }

  /// A character of a class, or from one to another.
  std::string range(bool folds, bool first) {
    if (in_.at("-") && !first && !in_.at("-]"))
      in_.refuse_next("within a class it stands first, last or between two characters");
    const std::uint32_t from = class_character(folds);
    if (!in_.at("-") || in_.at("-]")) return written_character(from);
    in_.take("-");
    const std::uint32_t to = class_character(folds);
    if (to < from) in_.refuse("-", "what it leads to comes before");
    return written_range(from, to);
  }

  std::uint32_t class_character(bool folds) {
    if (in_.at_end() || in_.at("[")) in_.refuse("[", "it is not closed");
    const std::uint32_t c = in_.take("\\") ? in_.escaped_character() : in_.character();
    if (folds && c >= 0x80) in_.refuse("(?i:", "it is supported for ASCII alone");
    return c;
  }

  /// Translates a quantifier, if one comes next. It repeats what was written from `begin` on.
  void repeat(std::size_t begin) {
    std::string times;
    bool interval = false;
    if (const auto sign = in_.take_one_of("*+?")) {
      times = *sign;
    } else if (const auto found = in_.interval(most_repeats)) {
      times = *found;
      interval = true;
    } else {
      return;
    }
    if (last_ == Last::place) in_.refuse(times, "it stands behind what takes no character");
    if (last_ == Last::folded_letter) in_.refuse(times, "repeating s or f is not supported within (?i:...)");
    out_ += times;
    if (in_.at("?")) {
      if (interval && times.find(',') == std::string::npos) in_.refuse(times + "?", "libraries read it in two ways");
      in_.take("?");
      out_ += '?';
    } else if (in_.take("+")) {
      if (interval) {  // Oniguruma repeats it
        out_.insert(begin, "(?:");
        out_ += ")+";
      } else {
        out_ += '+';
      }
    }
    if (in_.at("*") || in_.at("+") || in_.at("?") || in_.interval(most_repeats))
      in_.refuse(times, "it is repeated again");
    last_ = Last::other;
    letter_ = 0;
  }

  void write(std::string_view text) { out_ += text; }
  void other(std::string_view text) {
    out_ += text;
    last_ = Last::other;
    letter_ = 0;
  }

  PatternCursor in_;
  std::string out_;
  Last last_ = Last::nothing;
  std::uint32_t letter_ = 0;  ///< the character before, within (?i:...)
};

}  // namespace

TranslatedPattern translate_oniguruma(std::string_view pattern) {
  try {
    return {.pcre2 = Translator(pattern).translate()};
  } catch (const PatternCursor::Refused& refused) {
    return {.refused = refused.what};
  }
}

std::string literal_pattern(std::string_view text) {
  PatternCursor cursor(text);
  std::string out;
  while (!cursor.at_end()) out += written_character(cursor.character());
  return out;
}

}  // namespace octet
