#include "src/tokenizer/split/make_splitter.h"

#include <utility>

#include "src/tokenizer/split/llama3.h"
#include "src/tokenizer/split/pattern_splitter.h"

namespace octet {
namespace {

class WholeText final : public Splitter {
 public:
  void start(std::string_view text) override { text_ = text; }
  std::string_view next() override { return std::exchange(text_, {}); }

 private:
  std::string_view text_;
};

/// On a line of the processor's cache of its own: it changes with each piece, and other threads have theirs.
class alignas(64) Llama3Splitter final : public Splitter {
 public:
  void start(std::string_view text) override {
    text_ = text;
    end_ = 0;
  }
  std::string_view next() override {
    if (end_ == text_.size()) return {};
    const std::size_t begin = std::exchange(end_, split_.piece_end(text_, end_));
    return text_.substr(begin, end_ - begin);
  }

 private:
  Llama3Split split_;
  std::string_view text_;
  std::size_t end_ = 0;
};

class Chain final : public Splitter {
 public:
  explicit Chain(std::vector<std::unique_ptr<Splitter>> steps) : steps_(std::move(steps)) {}

  void start(std::string_view text) override {
    level_ = 0;
    steps_[0]->start(text);
  }

  std::string_view next() override {
    for (;;) {
      const std::string_view piece = steps_[level_]->next();
      if (piece.empty()) {
        if (level_ == 0) return {};
        --level_;
      } else if (level_ + 1 == steps_.size()) {
        return piece;
      } else {
        steps_[++level_]->start(piece);
      }
    }
  }

 private:
  std::vector<std::unique_ptr<Splitter>> steps_;
  std::size_t level_ = 0;  ///< the step whose piece is being cut by the next one, or that is the last
};

}  // namespace

std::unique_ptr<Splitter> make_splitter(const std::vector<SplitStep>& steps) {
  if (steps.empty()) return std::make_unique<WholeText>();
  std::vector<std::unique_ptr<Splitter>> made;
  bool checked = false;
  for (const SplitStep& step : steps) {
    if (step.kind == SplitStep::Kind::llama3) {
      made.push_back(std::make_unique<Llama3Splitter>());
    } else {
      made.push_back(make_pattern_splitter(step, checked));
      checked = true;
    }
  }
  if (made.size() == 1) return std::move(made[0]);
  return std::make_unique<Chain>(std::move(made));
}

bool can_be_cut(const std::vector<SplitStep>& steps) {
  return steps.size() == 1 && steps[0].kind == SplitStep::Kind::llama3;
}

}  // namespace octet
