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

/// Whether parts that were finished before are the same as they would be now. They are where nothing differs, or only
/// options that would have ended the earlier run at the first text that they affect: --bad-utf8 replace after refuse,
/// and a larger --max-document.
bool can_go_on(const Making& before, const Making& now);

/// What the side file of the tokens keeps of `making`. The parts of one data set (--part k/N) are compared by the
/// options that change the tokens of a text, and by what decides which text is in which part: the names and sizes of
/// the files, but not their folders and times, which may differ from node to node. --bad-utf8 and --max-document are
/// left out, since they end a run rather than change its tokens, and so is --format: where `auto` cannot tell the
/// format of a part's files, it asks the user to name it. The name of the tokenizer's file does not count either.
DataOrigin origin_of(const Making& making, const PrepareOptions& options, const InputFiles& input,
                     const TokenizerIdentity& tokenizer);

/// What the file making.json at `path` says; nothing where there is none and where it is not one that `octet prepare`
/// has written.
std::optional<Making> read_making(const std::string& path);

}  // namespace octet
