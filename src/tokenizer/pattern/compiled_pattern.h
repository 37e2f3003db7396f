#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// A pattern of PCRE2 (options UTF and UCP), compiled to machine code where PCRE2 does that. Any thread.
class CompiledPattern {
 public:
  /// Where PCRE2 refuses the pattern, `refused` gets its message and the result is null.
  static std::shared_ptr<const CompiledPattern> compile(const std::string& pattern, std::string& refused);

  ~CompiledPattern();
  CompiledPattern(const CompiledPattern&) = delete;
  CompiledPattern& operator=(const CompiledPattern&) = delete;

 private:
  friend class PatternMatcher;
  explicit CompiledPattern(void* code) : code_(code) {}
  void* code_;  ///< pcre2_code
};

/// Finds a pattern in texts. It belongs to one thread.
class PatternMatcher {
 public:
  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  explicit PatternMatcher(std::shared_ptr<const CompiledPattern> pattern);

  /// The first match at `begin` or later. The text must be UTF-8, which is made sure of where `is_utf8` does not say
  /// so. A usage error for a text that is none, and for one on which PCRE2 gives up.
  std::optional<Match> find(std::string_view text, std::size_t begin, bool is_utf8) const;

 private:
  struct State;
  struct Free {
    void operator()(State* state) const;
  };
  std::shared_ptr<const CompiledPattern> pattern_;
  std::unique_ptr<State, Free> state_;
};

}  // namespace octet
