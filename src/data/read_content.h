#pragma once

#include <cstdint>
#include <optional>

#include "src/data/data_facts.h"
#include "src/data/token_file.h"
#include "src/data/token_range.h"

namespace octet {

// What is known of all ids of token data, and whether they are still those that were written: the fingerprint, which is
// of samples, does not see all that a copy can lose.

struct Content {
  TokenRange range{};
  std::optional<std::uint64_t> sum{};  ///< TokenSum::value(), where all tokens were read
  /// Pairs that have tokens, and of these the ones whose sum was compared with one that stands beside the data.
  std::int64_t pairs = 0, compared = 0;
};

/// Usage error that names the files where a side file, of a pair or of parts together, is of another fingerprint or
/// another number of tokens than what stands beside it: damage that the fingerprint sees, or data that were made anew.
void refuse_other_data(const TokenFile& file);

/// Usage error where a side file, PREFIX.data.json or that of a part, belongs to other data and says something that
/// cannot be found in the present data: how they were made, or the sum of what was written. To be called before
/// PREFIX.data.json is rewritten, which would make the present data the truth.
void refuse_to_forget(const TokenFile& file);

/// `facts`: what the side files say (read_data_facts). Reads the tokens of which they do not tell the range, or `all`,
/// with progress on standard error. Usage error that names the files where what is read is not what the side files say.
Content read_content(const TokenFile& file, const std::optional<DataFacts>& facts, bool all);

}  // namespace octet
