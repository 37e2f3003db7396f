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
/// the hosts.
DataIdentity identify_data(const Sampler& sampler, Communicator& hosts);
/// Reads the side files in one process, before the run.
DataIdentity identify_data(const Sampler& sampler);
/// What the side file of --data says, outside a run: rank 0 reads it for all. Collective over the hosts.
std::optional<TokenizerIdentity> tokenizer_of_data(const TokenFile& file, Communicator& hosts);

/// The text that checkpoints keep; empty where it is not known.
std::string tokenizer_text(const DataIdentity& identity);

/// Where a run keeps the copy of its tokenizer's file; empty for bytes.
std::string kept_tokenizer_path(const std::string& run_directory, TokenizerKind kind);
/// The folders that may be the run of a checkpoint, and have its tokenizer: two above by the text of its path, then two
/// above where it stands when links are followed, if that is another one.
std::vector<std::string> runs_of_checkpoint(const std::string& checkpoint);
/// The copy of its tokenizer that a checkpoint's run keeps: the first of those folders that has it, by its fingerprint;
/// where none has, that of the first folder with another one, or else of the first. Empty for bytes.
std::string tokenizer_of_checkpoint(const std::string& checkpoint, const TokenizerIdentity& tokenizer);
/// Writes RUN/tokenizer/identity.json and beside it the tokenizer's file, from the copy beside the data or from one of
/// `began_with`, the folders or runs whose weights the run begins or goes on with (may be empty); where none has it,
/// with a warning. What Hugging Face's library reads beside that file comes from the first of them that has some of it,
/// where it is the same tokenizer's. For rank 0, once the directory is made.
void keep_tokenizer(const RunDirectory& run, const Sampler& sampler, const TokenizerIdentity& tokenizer,
                    const std::vector<std::string>& began_with);

}  // namespace octet
