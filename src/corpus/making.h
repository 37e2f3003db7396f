#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/corpus/input_files.h"
#include "src/corpus/prepare_options.h"
#include "src/data/data_origin.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

/// What makes the tokens of a PREFIX what they are: options and input, as text by the option's name.
using Making = std::map<std::string, std::string>;

/// All that the tokens depend on: options, tokenizer, the input with its files' sizes and times.
Making making_of(const PrepareOptions& options, const InputFiles& input, const TokenizerIdentity& tokenizer);

/// Whether parts that were finished before are the same as they would be now: where nothing differs, or only options
/// that had ended the run at the first text to which they matter: --bad-utf8 replace after refuse, and a larger
/// --max-document.
bool can_go_on(const Making& before, const Making& now);

/// What the side file of tokens keeps of it. What the parts of one data set (--part k/N) are compared by are the
/// options that give a text other tokens, and what decides which text is in which part: the names and sizes of the
/// files, not where they lay and since when, which may differ from node to node. What ends a run rather than changing
/// its tokens, --bad-utf8 and --max-document, is left out of that, and so is --format: what `auto` cannot tell of the
/// files of one part it asks the user to name. Nor does the name of the tokenizer's file count.
DataOrigin origin_of(const Making& making, const PrepareOptions& options, const InputFiles& input,
                     const TokenizerIdentity& tokenizer);

/// What the file making.json at `path` says; nothing where there is none and where it is not one that `octet prepare`
/// has written.
std::optional<Making> read_making(const std::string& path);

}  // namespace octet
