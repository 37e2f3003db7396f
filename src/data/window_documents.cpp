#include "src/data/window_documents.h"

#include <algorithm>
#include <vector>

#include "src/base/error.h"

namespace octet {
namespace {

/// The first document that begins behind that token.
std::int64_t document_behind(const TokenFile& file, std::int64_t position) {
  std::int64_t low = 0, high = file.documents();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (file.document_begin(middle) <= position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

void find_documents(const TokenFile& file, std::int64_t position, std::span<std::int32_t> begin) {
  const auto count = static_cast<std::int64_t>(begin.size());
  if (position < 0 || count > file.tokens() - position) {
    throw internal_error("data", "{}: tokens {} to {} of {}", file.prefix(), position, position + count, file.tokens());
  }
  std::int64_t document = document_behind(file, position);
  for (std::int64_t first = 0; first < count;) {
    while (document < file.documents() && file.document_begin(document) <= position + first) ++document;  // empty ones
    const std::int64_t next = document < file.documents() ? file.document_begin(document) - position : count;
    const std::int64_t end = std::min(next, count);
    std::fill(begin.begin() + first, begin.begin() + end, static_cast<std::int32_t>(first));
    first = end;
  }
}

std::int64_t sum_of_squares(std::span<const std::int32_t> begin) {
  std::int64_t sum = 0;
  // A token adds 2 n + 1 to the square of its document's n tokens so far.
  for (std::size_t i = 0; i < begin.size(); ++i) sum += 2 * (static_cast<std::int64_t>(i) - begin[i]) + 1;
  return sum;
}

double attention_across_documents(const TokenFile& file, std::int64_t seq_len) {
  constexpr std::int64_t most_windows = 4096;
  const std::int64_t windows = file.tokens() / seq_len, looked_at = std::min(windows, most_windows);
  std::vector<std::int32_t> begin(static_cast<std::size_t>(seq_len));
  double within = 0;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const auto window = static_cast<std::int64_t>(static_cast<double>(i) / static_cast<double>(looked_at) *
                                                  static_cast<double>(windows));
    find_documents(file, window * seq_len, begin);
    for (std::int64_t t = 0; t < seq_len; ++t)
      within += static_cast<double>(t - begin[static_cast<std::size_t>(t)] + 1);
  }
  const double all =
      static_cast<double>(looked_at) * static_cast<double>(seq_len) * static_cast<double>(seq_len + 1) / 2;
  return looked_at == 0 ? 0 : 1 - within / all;
}

}  // namespace octet
