#pragma once

#include <cstdint>
#include <string>

#include "src/corpus/outputs.h"

namespace octet {

/// Whether a run of the same command has made all outputs; their tokenizers' copies may be missing.
bool is_made(const Outputs& outputs, std::uint64_t command);

/// Whether a run of the same command has made what is kept, and what it held out is gone, so that both are made anew.
bool is_kept_without_held_out(const Outputs& outputs, std::uint64_t command);

/// Usage error where one of the outputs is there and not of a run of the same command.
void refuse_existing(const Outputs& outputs, std::uint64_t command);

/// Usage error, also for --overwrite, where an output and what is there would be a pair and parts of one name beside
/// each other, which whoever reads them refuses.
void refuse_pair_beside_parts(const std::string& prefix, const Share& share, bool holdout);

/// Usage error where documents that an earlier run held out, or of which it is not known what they are, stand beside
/// PREFIX, as a pair or as parts of any number. A run without a holdout, also with --overwrite, would put them into
/// PREFIX too, and whoever measures on them would not know it. They may be the user's own, so they stay. Tokens whose
/// side file says that they were made without a holdout are the user's own, and are no error.
void refuse_old_holdout(const std::string& prefix, const Share& share);

/// What the tokens at a prefix have, by their files; whole ones that `octet prepare` has made.
TokenCounts counts_of(const std::string& prefix);

}  // namespace octet
