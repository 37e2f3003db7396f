#include "src/tokenizer/split/pattern_splitter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/tokenizer/split/code_points.h"

namespace octet {
namespace {

class PatternSplitter final : public Splitter {
 public:
  PatternSplitter(const SplitStep& step, bool checked)
      : matcher_(step.pattern), all_(step.kind == SplitStep::Kind::pattern), checked_(checked) {}

  void start(std::string_view text) override {
    text_ = text;
    is_utf8_ = checked_;
    done_ = 0;
    from_ = 0;
    match_end_ = std::nullopt;
    waiting_ = {};
  }

  std::string_view next() override {
    if (!waiting_.empty()) return std::exchange(waiting_, {});
    while (done_ < text_.size()) {
      const auto match = next_match();
      const std::size_t begin = match ? match->begin : text_.size();
      const std::string_view between = text_.substr(done_, begin - done_);
      const std::string_view found = match ? text_.substr(begin, match->end - begin) : std::string_view();
      done_ = match ? match->end : text_.size();
      if (all_ && !between.empty()) {
        waiting_ = found;
        return between;
      }
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  /// The next match in the order of Oniguruma's callers: an empty one at the end of the match before is passed over,
  /// and looking goes on one character further.
  std::optional<PatternMatcher::Match> next_match() {
    while (from_ <= text_.size()) {
      const auto match = matcher_.find(text_, from_, is_utf8_);
      is_utf8_ = true;
      if (!match) break;
      if (match->end == match->begin && match_end_ == match->end) {
        from_ = after(from_);
        continue;
      }
      from_ = match->end;
      match_end_ = match->end;
      return match;
    }
    from_ = text_.size() + 1;
    return std::nullopt;
  }

  /// The place behind the character that stands there.
  std::size_t after(std::size_t place) const {
    std::size_t end = place + 1;
    if (place < text_.size()) code_point_at(text_, place, end);
    return end;
  }

  PatternMatcher matcher_;
  bool all_;
  bool checked_;
  std::string_view text_;
  bool is_utf8_ = false;
  std::size_t done_ = 0;  ///< what stands before is in pieces that were given, or in waiting_
  std::size_t from_ = 0;  ///< where the next match is looked for
  std::optional<std::size_t> match_end_;
  std::string_view waiting_;
};

}  // namespace

std::unique_ptr<Splitter> make_pattern_splitter(const SplitStep& step, bool checked) {
  return std::make_unique<PatternSplitter>(step, checked);
}

}  // namespace octet
