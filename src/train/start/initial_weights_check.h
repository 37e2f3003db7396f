#pragma once

#include <optional>
#include <string>

#include "checkpoints/format/manifest.h"
#include "src/data/tokenizer_identity.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Looks whether the run can begin with the weights that init.from names, if it names any: what the folder is, whether
/// its model has the sizes of the run's, whether its tensors are there, and whether its tokenizer, where it says which,
/// is that of the data. Weights are not read, nor are a checkpoint's files verified: of a run it is the newest
/// checkpoint whose manifest can be read, and those that are newer are warned of. Usage error that names the folder and
/// each key that differs, or what the user has no right to read; files::ReadError for what the file system does not
/// give otherwise. A model that computes otherwise with the same sizes (RoPE, norm_eps) is warned of.
void check_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data);

/// The same where init.from names something. Returns the checkpoint that was looked at; empty for a Hugging Face
/// folder.
std::string look_at_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data);

/// The same for one checkpoint, whose manifest was read. `data`: the tokenizer of the data, where it is known.
void check_weights_of_checkpoint(const RunConfig& config, const std::optional<TokenizerIdentity>& data,
                                 const std::string& directory, const checkpoint::Manifest& manifest);

/// Where the data do not say which tokenizer made them, neither does the run: it keeps none, though the folder of
/// init.from has one. The log then says so.
void warn_of_unknown_tokenizer(const RunConfig& config);

}  // namespace octet
