#include "src/ops/row_documents.h"

#include <algorithm>

namespace octet {

DocumentList list_documents(std::span<const std::int32_t> begin, std::int64_t seq) {
  DocumentList list;
  const auto tokens = static_cast<std::int64_t>(begin.size());
  std::int64_t longest = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t in_row = t % seq, first = begin[static_cast<std::size_t>(t)];
    if (first == in_row) list.starts.push_back(static_cast<std::int32_t>(t));
    longest = std::max(longest, in_row - first + 1);
  }
  const std::int64_t places = document_places(static_cast<std::int64_t>(list.starts.size()));
  list.starts.resize(static_cast<std::size_t>(places + 1), static_cast<std::int32_t>(tokens));
  list.longest = document_length(longest, seq);
  return list;
}

}  // namespace octet
