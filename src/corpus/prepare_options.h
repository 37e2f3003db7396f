#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/corpus/chunk_encoder.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/part_plan.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

struct PrepareOptions {
  std::vector<std::string> inputs;  ///< files, folders, patterns and @lists (input_files.h)
  std::string output;               ///< PREFIX of PREFIX.bin and PREFIX.idx
  std::string tokenizer = "bytes";
  TokenizerOptions tokenizer_options{};
  std::optional<TextFormat> format{};  ///< none: told by content and name
  std::string field = "text";          ///< of a record that is the document
  SplitDocuments split = SplitDocuments::none;
  bool bos = false, eos = true;
  BadUtf8 bad_utf8 = BadUtf8::refuse;
  std::int64_t max_bad = 0;  ///< records without a text that are left out
  std::int64_t max_document = 64 << 20;
  double holdout = 0;  ///< the share of documents that goes to PREFIX-holdout
  Share part{};        ///< the share of the input that is made, as PREFIX-00001-of-00004
  bool overwrite = false;
  int workers = 0;                      ///< 0: one for each core that this process may use
  std::int64_t part_bytes = 256 << 20;  ///< of input, which are finished together and which an interruption may cost
  std::int64_t chunk_bytes = 1 << 20;   ///< the result does not depend on it
};

}  // namespace octet
