#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"

namespace octet {

/// What tokens of a row see that is no document of their own: a beginning that stands elsewhere and is theirs too.
/// On the device.
struct SharedPrefixes {
  const std::int32_t* spans = nullptr;   ///< SpanAttention::spans of these tokens; null: there are none
  const std::int32_t* origin = nullptr;  ///< [batch, seq]: where position 0 of each token's text would stand in its row

  bool operator==(const SharedPrefixes&) const = default;
};

/// The documents of a micro-batch's rows.
struct RowDocuments {
  bool possible = false;   ///< a row of another micro-batch may hold several: scratch is that for both
  bool may_share = false;  ///< likewise for prefixes
  PackedDocuments packed{};
  SharedPrefixes shared{};  ///< in forward alone
};

/// Documents in host memory: PackedDocuments without `begin`.
struct DocumentList {
  std::vector<std::int32_t> starts;  ///< [places + 1]
  std::int64_t longest = 0;

  std::int64_t places() const { return static_cast<std::int64_t>(starts.size()) - 1; }
};

/// Lists the documents of rows of `seq` tokens. `begin` [batch · seq]: PackedDocuments::begin, in host memory.
DocumentList list_documents(std::span<const std::int32_t> begin, std::int64_t seq);

}  // namespace octet
