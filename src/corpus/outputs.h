#pragma once

#include <string>
#include <vector>

#include "src/corpus/input_files.h"
#include "src/corpus/part_counts.h"
#include "src/corpus/part_plan.h"
#include "src/data/data_origin.h"
#include "src/data/tokenizer_identity.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// Where the tokens of one call of prepare go.
struct Outputs {
  std::string kept;
  std::string held_out;  ///< empty where no document is held out
};

/// PREFIX and, with a holdout, PREFIX-holdout; of a share of several -00001-of-00004 comes behind.
Outputs outputs_of(const std::string& prefix, const Share& share, bool holdout);

/// Usage error where a file of the input lies in the folder in which the parts of the output are made.
void refuse_inputs_in(const std::string& parts, const InputFiles& input);

/// Usage error where a file of the input would be replaced by one of the outputs, with their facts and the tokenizer's
/// copies.
void refuse_inputs_as_outputs(const Outputs& outputs, TokenizerKind tokenizer, const InputFiles& input);

/// What data files keep of the tokenizer.
TokenizerIdentity identity_of(const TokenizerInfo& info);

/// Writes PREFIX.data.json of tokens that are there. What cannot be written is a warning: whoever opens the data scans.
void write_facts(const std::string& prefix, const TokenCounts& counts, const TokenizerIdentity& tokenizer,
                 const DataOrigin& origin);

/// Copies the tokenizer's file beside the tokens and says its path; empty for a tokenizer without a file. Usage error
/// where it cannot be read or written, or is no longer the one that made the tokens.
std::string copy_tokenizer(const std::string& prefix, const TokenizerInfo& info);

/// The files that stand for a prefix now: .bin, .idx, .data.json.
std::vector<std::string> files_of(const std::string& prefix);

}  // namespace octet
