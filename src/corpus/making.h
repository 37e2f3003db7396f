#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/corpus/input_files.h"
#include "src/corpus/prepare_options.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

/// What makes the tokens of a PREFIX what they are: options and input, as text by the option's name.
using Making = std::map<std::string, std::string>;

/// All that the tokens depend on: options, tokenizer, the input with its files' sizes and times.
Making making_of(const PrepareOptions& options, const InputFiles& input, const TokenizerIdentity& tokenizer);

/// What the file making.json at `path` says; nothing where there is none and where it is not one that `octet prepare`
/// has written.
std::optional<Making> read_making(const std::string& path);

}  // namespace octet
