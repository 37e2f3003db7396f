#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/input_files.h"

namespace octet {

/// Consecutive units of the input whose tokens are written together.
struct InputPart {
  std::vector<InputUnit> units{};
  std::int64_t bytes = 0;  ///< on the disk
};

/// Tells parts of other input apart: a hash of its units, with their files' sizes and times, as text.
std::string text_of_input(const InputPart& part);

/// How the input is cut, which depends on the input alone.
struct InputPlan {
  std::vector<InputPart> parts{};
  std::int64_t bytes = 0;
  std::int64_t files = 0;                         ///< that units are of
  std::map<std::string, std::int64_t> formats{};  ///< files of each, by text_of
};

/// For an input of that many files in which there is no text; names the inputs as they were given.
Error no_text(const std::vector<std::string>& inputs, std::int64_t files);

/// `share` of `shares` equal ones, counted from 0.
struct Share {
  std::int64_t share = 0, shares = 1;
};

/// Cuts the input into parts of about part_bytes: small files together, a plain file of lines in pieces, any other
/// large file alone. Of these units the share gets those whose middle is in its share of all bytes. Looks at the
/// beginning of each file of the share, and of any other only where it is larger than a part and its name does not say
/// what it is: a share of many does not read the others' files. Usage errors as of format_of_file, for the files that
/// are looked at.
InputPlan plan_input(const InputFiles& input, std::optional<TextFormat> format, std::int64_t part_bytes,
                     const Share& share);

}  // namespace octet
