#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/data/data_identity.h"
#include "src/data/sampler.h"
#include "src/train/start/run_directory.h"

namespace octet {

// Which tokenizer a run's data were made with: read from their side files, kept in RUN/tokenizer and, as the text of
// DataHistory::tokenizer, in checkpoints.

/// Rank 0 reads the side files for all; it warns of sources that say nothing. Usage errors as identify. Collective over
/// `control`.
DataIdentity identify_data(const Sampler& sampler, Communicator& control);
/// Reads the side files in one process, before the run.
DataIdentity identify_data(const Sampler& sampler);
/// What the side file of --data says, outside a run: rank 0 reads it for all. Collective over `control`.
std::optional<TokenizerIdentity> tokenizer_of_data(const TokenFile& file, Communicator& control);

/// The text that checkpoints keep; empty where it is not known.
std::string tokenizer_text(const DataIdentity& identity);

/// The copy of its tokenizer that a checkpoint's run keeps. Two folders may be that run: two above the checkpoint by
/// the text of its path, and two above where it stands when links are followed. The first that has the copy, by its
/// fingerprint, counts; where none has, the first with another one, or else the first. Empty for bytes.
std::string tokenizer_of_checkpoint(const std::string& checkpoint, const TokenizerIdentity& tokenizer);
/// Writes RUN/tokenizer/identity.json and beside it the tokenizer's file, from the copy beside the data or from one of
/// `began_with`, the folders or runs whose weights the run begins or goes on with (may be empty); where none has it,
/// with a warning. What Hugging Face's library reads beside that file comes from the first of them that has some of it,
/// where it is the same tokenizer's. For rank 0, once the directory is made.
void keep_tokenizer(const RunDirectory& run, const Sampler& sampler, const TokenizerIdentity& tokenizer,
                    const std::vector<std::string>& began_with);

}  // namespace octet
