#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/data/data_facts.h"
#include "src/data/sample_order.h"

namespace octet {

/// What the side files of a run's sources say together.
struct DataIdentity {
  std::optional<TokenizerIdentity> tokenizer{};  ///< of every source that says one
  std::vector<std::string> unknown{};            ///< .bin files of sources that say none
  std::vector<double> bytes_per_token{};         ///< text that a token of each source stands for; 0: not known
};

/// `facts`: of each file, what its side file says. Usage error, the same wherever it is asked, for data of two
/// tokenizers, for documents that end with two tokens, or that begin or end with a token in some and not in others, and
/// for a tokenizer of more ids than the model's vocabulary has; of bytes the ids that are there count alone
/// (expect_in_vocabulary).
DataIdentity identify(std::span<const TokenFile> files, std::span<const std::optional<DataFacts>> facts,
                      std::int64_t vocab_size);

/// "a.bin, b.bin: which tokenizer made them is not known ...", a warning; empty where all say it.
std::string unknown_tokenizer_text(const DataIdentity& identity);

/// Text in bytes that a token of the first `samples` validation samples stands for, each source's by its own mean;
/// nothing where one of the sources that are among them does not say it.
std::optional<double> validation_bytes_per_token(const SampleOrder& order, std::int64_t samples,
                                                 std::span<const double> bytes_per_token);

}  // namespace octet
