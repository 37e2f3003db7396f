#pragma once

#include <cstdint>
#include <span>

#include "src/data/token_file.h"

namespace octet {

/// Where in a window of tokens the document of each begins: begin[i] <= i, counted from the window's first token, at
/// `position` of the stream. A document that began before the window begins with it. O(log documents + begin.size()).
/// Internal error for a window that is not in the file.
void find_documents(const TokenFile& file, std::int64_t position, std::span<std::int32_t> begin);

/// The sum of the squares of the documents' lengths in such a window: what attention within them costs, where one over
/// the whole window costs the square of its length.
std::int64_t sum_of_squares(std::span<const std::int32_t> begin);

/// The share of causal attention over windows of seq_len tokens, one behind the other, that goes from a token to one of
/// another document: what data.document_mask takes away. Of up to 4,096 windows, evenly spaced; 0 without a window.
double attention_across_documents(const TokenFile& file, std::int64_t seq_len);

}  // namespace octet
