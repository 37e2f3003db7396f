#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/data/token_file.h"

namespace octet {

/// How long documents are: how many have [2^(i-1), 2^i) tokens, at 0 those without any.
struct DocumentLengths {
  std::array<std::int64_t, 64> documents{};
  std::int64_t least = 0, most = 0, median = 0;
};

/// By the index alone. The memory does not grow with the documents: 8 MiB, and some 50 bytes for each length of 2^20
/// tokens or more that occurs.
DocumentLengths document_lengths(const TokenFile& file);

/// What only the tokens tell.
struct DocumentScan {
  std::map<std::string, std::int64_t> special{};  ///< how often each control token stands in the data
  std::int64_t distinct = 0;                      ///< documents that are of different tokens, by XXH3-64
};

/// Reads all tokens; 8 bytes a document are needed, for their hashes. `special`: ids by name. `progress` hears of
/// tokens.
DocumentScan scan_documents(const TokenFile& file, const std::map<std::string, std::int64_t>& special,
                            const std::function<void(std::int64_t tokens)>& progress);

/// The tokens of a document, `most` at most.
std::vector<std::int32_t> document_ids(const TokenFile& file, std::int64_t document, std::int64_t most);

}  // namespace octet
