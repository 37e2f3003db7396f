#include "src/data/data_identity.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr const char* and_read = "(docs/problems.md, \"Data of another tokenizer\")";

/// An error that all ranks agree on, since they have read the same side files.
Error refused(const std::string& text) {
  return {ExitCode::usage, fmt::format("[data] data.train: {} {}", text, and_read), true};
}

/// Compares whether documents begin and end with a token. What older side files do not say goes with anything.
class EndsOfDocuments {
 public:
  void add(const std::string& path, const DataFacts& facts) {
    if (!facts.origin) return;
    if (!first_) {
      first_ = facts;
      path_ = path;
    }
    const DataOrigin &a = *first_->origin, &b = *facts.origin;
    if (a.bos != b.bos) throw differ("begin", path, facts, a.bos, b.bos, &TokenizerIdentity::bos);
    if (a.eos != b.eos) throw differ("end", path, facts, a.eos, b.eos, &TokenizerIdentity::eos);
  }

 private:
  using Id = std::optional<std::int64_t> TokenizerIdentity::*;

  Error differ(const char* what, const std::string& path, const DataFacts& facts, bool had, bool has, Id id) const {
    return refused(fmt::format(
        "the documents of {} {} with {}, those of {} with {}; a run reads documents of one form: `octet prepare` with "
        "the same --bos and --eos or --no-eos makes one of them anew",
        path_, what, text_of_end(*first_, had, id), path, text_of_end(facts, has, id)));
  }
  static std::string text_of_end(const DataFacts& facts, bool is_there, Id id) {
    if (!is_there) return "no token";
    return facts.tokenizer ? token_text(*facts.tokenizer, *facts.tokenizer.*id) : "the tokenizer's token for that";
  }

  std::optional<DataFacts> first_{};
  std::string path_{};
};

}  // namespace

DataIdentity identify(std::span<const TokenFile> files, std::span<const std::optional<DataFacts>> facts,
                      std::int64_t vocab_size) {
  DataIdentity identity;
  std::string first;
  EndsOfDocuments ends;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string path = files[i].bin_path();
    const bool has_text = facts[i] && facts[i]->text_bytes && files[i].tokens() > 0;
    identity.bytes_per_token.push_back(
        has_text ? static_cast<double>(*facts[i]->text_bytes) / static_cast<double>(files[i].tokens()) : 0);
    if (!facts[i] || !facts[i]->tokenizer) {
      identity.unknown.push_back(path);
      continue;
    }
    const TokenizerIdentity& tokenizer = *facts[i]->tokenizer;
    if (tokenizer.kind != TokenizerKind::bytes && tokenizer.vocab_size > vocab_size) {
      throw refused(fmt::format(
          "{} was made with the tokenizer {}, and the model's vocab_size is {}; expected a model of {} ids at least",
          path, text_of(tokenizer), vocab_size, tokenizer.vocab_size));
    }
    if (!identity.tokenizer) {
      identity.tokenizer = tokenizer;
      first = path;
    } else if (!same_tokenizer(*identity.tokenizer, tokenizer)) {
      throw refused(fmt::format("{} was made with the tokenizer {}, and {} with {}; a run reads data of one tokenizer",
                                first, text_of(*identity.tokenizer), path, text_of(tokenizer)));
    } else if (!identity.tokenizer->eos) {
      if (tokenizer.eos) {
        identity.tokenizer = tokenizer;
        first = path;
      }
    } else if (tokenizer.eos && *tokenizer.eos != *identity.tokenizer->eos) {
      throw refused(fmt::format(
          "the documents of {} end with {}, those of {} with {}; a run reads data of one end: `octet prepare "
          "--eos-token` with the same token makes one of them anew",
          first, token_text(*identity.tokenizer, identity.tokenizer->eos), path, token_text(tokenizer, tokenizer.eos)));
    }
    ends.add(path, *facts[i]);
  }
  return identity;
}

std::string unknown_tokenizer_text(const DataIdentity& identity) {
  if (identity.unknown.empty()) return "";
  return fmt::format(
      "data.train: {}: no .data.json beside the files says which tokenizer made them; make sure that it is the "
      "model's, and the same for all sources {}",
      fmt::join(identity.unknown, ", "), and_read);
}

std::optional<double> validation_bytes_per_token(const SampleOrder& order, std::int64_t samples,
                                                 std::span<const double> bytes_per_token) {
  samples = std::min(samples, order.validation_samples());
  double sum = 0;
  for (std::int64_t v = 0; v < samples; ++v) {
    const double bytes = bytes_per_token[static_cast<std::size_t>(order.validation_sample(v).source)];
    if (bytes == 0) return std::nullopt;
    sum += bytes;
  }
  return sum > 0 ? std::optional(sum / static_cast<double>(samples)) : std::nullopt;
}

}  // namespace octet
