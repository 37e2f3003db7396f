#include "src/tokenizer/split/splitter.h"

#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

class WholeText final : public Splitter {
 public:
  void start(std::string_view text) override { size_ = text.size(); }
  std::size_t next() override { return size_; }

 private:
  std::size_t size_ = 0;
};

class Llama3Splitter final : public Splitter {
 public:
  void start(std::string_view text) override {
    text_ = text;
    end_ = 0;
  }
  std::size_t next() override { return end_ = split_.piece_end(text_, end_); }

 private:
  Llama3Split split_;
  std::string_view text_;
  std::size_t end_ = 0;
};

}  // namespace

std::unique_ptr<Splitter> make_splitter(const std::vector<SplitStep>& steps) {
  if (steps.empty()) return std::make_unique<WholeText>();
  return std::make_unique<Llama3Splitter>();
}

}  // namespace octet
