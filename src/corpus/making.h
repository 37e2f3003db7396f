#pragma once

#include "src/corpus/input_files.h"
#include "src/corpus/part_folder.h"
#include "src/corpus/prepare_options.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

/// All that the tokens depend on: options, tokenizer, the input with its files' sizes and times.
Making making_of(const PrepareOptions& options, const InputFiles& input, const TokenizerIdentity& tokenizer);

}  // namespace octet
