#include "src/cluster/task_layout.h"

#include <charconv>
#include <numeric>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/host_list.h"

namespace octet {
namespace {

constexpr std::int64_t most_tasks = 1 << 16;  // of one node

/// Reads the layout from left to right.
class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  std::vector<std::int64_t> tasks() {
    std::vector<std::int64_t> out;
    do {
      const std::int64_t count = number(most_tasks);
      std::int64_t nodes = 1;
      if (take('(')) {
        if (!take('x')) throw wrong("x and a number of nodes");
        nodes = number(static_cast<std::int64_t>(most_hosts - out.size()));
        if (!take(')')) throw wrong(")");
      }
      out.insert(out.end(), static_cast<std::size_t>(nodes), count);
    } while (take(','));
    if (at_ < text_.size()) throw wrong("a comma, ( or the end");
    return out;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::int64_t number(std::int64_t most) {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 1 || value > most) throw wrong(fmt::format("a number from 1 to {}", most));
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  Error wrong(std::string_view expected) const {
    return usage_error("cluster", "tasks per node {}: found {} at character {}, expected {}", in_quotes(text_),
                       at_ < text_.size() ? in_quotes(text_.substr(at_)) : "the end", at_ + 1, expected);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::int64_t> expand_tasks(std::string_view layout) {
  return LayoutReader(layout).tasks();
}

std::string compress_tasks(const std::vector<std::int64_t>& tasks) {
  std::string out;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t end = i;
    while (end < tasks.size() && tasks[end] == tasks[i]) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", tasks[i]);
    if (end - i > 1) out += fmt::format("(x{})", end - i);
    i = end;
  }
  return out;
}

std::int64_t total_tasks(const std::vector<std::int64_t>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0});
}

TaskPlace place_of(std::int64_t rank, const std::vector<std::int64_t>& tasks) {
  std::int64_t first = 0;
  for (std::size_t node = 0; node < tasks.size(); ++node) {
    if (rank >= first && rank < first + tasks[node]) return {static_cast<std::int64_t>(node), rank - first};
    first += tasks[node];
  }
  throw usage_error("cluster", "rank {}: the layout {} has {} ranks, expected one of them", rank, compress_tasks(tasks),
                    first);
}

}  // namespace octet
