#include "jobs/evaluate/evaluate_texts.h"

#include <algorithm>

#include "jobs/evaluate/text_report.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/corpus/outputs.h"
#include "src/data/data_facts.h"
#include "src/train/run/token_ranges.h"

namespace octet::evaluate {
namespace {

using Json = nlohmann::ordered_json;

const std::string& input_of(const Options& o) {
  return o.data.empty() ? o.text.input : o.data;
}

/// What a model needs to know of its texts.
struct Language {
  std::unique_ptr<Tokenizer> tokenizer;  ///< null: --data without a tokenizer at hand
  std::optional<std::int32_t> bos, eos;
};

std::optional<std::int32_t> id_of(const std::optional<std::int64_t>& id) {
  return id ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

/// The tokenizer that the side file of the token file names must be the model's.
std::optional<TokenizerIdentity> tokenizer_of_data(const std::string& path, const ModelSource& source) {
  const TokenFile file(path);
  const auto facts = read_data_facts(data_facts_path(file.prefix()), file);
  if (!facts || !facts->tokenizer) return std::nullopt;
  if (source.identity && !same_tokenizer(*facts->tokenizer, *source.identity)) {
    throw usage_error("evaluate", "{}: was made with {}, and the data of {} with {}", file.prefix(),
                      octet::text_of(*facts->tokenizer), source.name(), octet::text_of(*source.identity));
  }
  return facts->tokenizer;
}

Language language_of(const Options& o, const ModelSource& source) {
  Language language;
  std::optional<TokenizerIdentity> of_data;
  if (!o.data.empty()) of_data = tokenizer_of_data(o.data, source);
  const std::optional<TokenizerIdentity>& identity = of_data ? of_data : source.identity;
  std::string given = o.models.tokenizer;
  if (given.empty() && source.tokenizer.empty() && of_data && of_data->kind == TokenizerKind::bytes) given = "bytes";
  if (!o.data.empty() && given.empty() && !has_tokenizer(source)) {
    if (!identity && !source.bos && !source.eos) {
      throw usage_error("evaluate", "{}: which tokenizer made it is not known, nor {}'s; give --tokenizer", o.data,
                        source.name());
    }
    language.bos = identity ? id_of(identity->bos) : source.bos;
    language.eos = identity ? id_of(identity->eos) : source.eos;
  } else {
    language.tokenizer = tokenizer_of(source, given, {.control_tokens = o.models.control_tokens});
    // What made the ids is known, where the model's own is not, as of a Hugging Face folder.
    const TokenizerIdentity its = identity_of(language.tokenizer->info());
    if (of_data && !same_tokenizer(*of_data, its)) {
      throw usage_error("evaluate", "{}: was made with {}, and the tokenizer of {} is {}", o.data,
                        octet::text_of(*of_data), source.name(), octet::text_of(its));
    }
    language.bos = language.tokenizer->info().bos;
    language.eos = language.tokenizer->info().eos;
  }
  if (!language.bos && !language.eos) {
    throw usage_error("evaluate",
                      "{}: its tokenizer names no token that begins or ends a document, so that nothing can "
                      "stand before the first token of one",
                      source.name());
  }
  return language;
}

std::unique_ptr<DocumentReader> reader_of(const Options& o, const ModelSource& source, const Language& language) {
  if (!o.text.input.empty()) return read_texts(o.text, *language.tokenizer);
  return read_token_documents({.path = o.data,
                               .vocab_size = source.model.vocab_size,
                               .bos = language.bos,
                               .eos = language.eos,
                               .tokenizer = language.tokenizer.get()});
}

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw
struct Evaluated {
  std::vector<DocumentScore> scores;
  Json json;
  double tokens_per_second = 0;
};

Evaluated evaluate_one(const std::string& path, const Options& o, Precision precision, const Ranks& ranks) {
  ModelOptions options = o.models;
  options.precision = precision;
  EvaluatedModel model(path, options, ranks.mesh, ranks.stream, ranks.hosts);
  log::out("model          {}", model.text());
  if (o.stride > model.scorer().window()) {
    throw usage_error("evaluate", "--stride is {}; expected at most the window of {} tokens", o.stride,
                      model.scorer().window());
  }
  const Language language = language_of(o, model.source());
  if (!o.data.empty()) check_token_range(TokenFile(o.data), model.source().model.vocab_size, ranks.hosts);
  const auto reader = reader_of(o, model.source(), language);
  StatusLine status;
  const auto start = StatusLine::Clock::now();
  std::int64_t tokens = 0;
  const auto progress = [&](std::int64_t windows, std::int64_t now) {
    tokens = now;
    if (log::rank() != 0 || !status.due()) return;
    const double seconds = std::max(seconds_since(start), 1e-9);
    status.show(
        fmt::format("{} windows, {} tokens, {:.0f} tokens/s", windows, tokens, static_cast<double>(tokens) / seconds));
  };
  Evaluated out;
  out.scores = score_documents(
      *reader, model.scorer(),
      {.start = language.bos ? *language.bos : *language.eos, .stride = o.stride, .documents = o.documents}, progress);
  const double seconds = std::max(seconds_since(start), 1e-9);
  out.tokens_per_second = static_cast<double>(tokens) / seconds;
  status.show("");
  if (out.scores.empty()) throw usage_error("evaluate", "{}: has no text", input_of(o));
  const TextSummary summary = summarise(out.scores, o.bootstrap);
  log::out("{}", text_of(summary));
  log::info("{:.2f} s, {:.0f} tokens/s; {}", seconds, out.tokens_per_second, memory_text(ranks.stream.device()));
  out.json = {{"model", model.source().name()},
              {"precision", name_of(precision)},
              {"window", model.scorer().window()},
              {"stride", o.stride == 0 ? model.scorer().window() : o.stride},
              {"tokens_per_second", out.tokens_per_second}};
  out.json["results"][o.data.empty() ? "text" : "data"] = json_of(summary);
  return out;
}

}  // namespace

void evaluate_texts(const Options& o, const Ranks& ranks) {
  const Evaluated first = evaluate_one(o.model, o, o.models.precision, ranks);
  Json json = first.json;
  json["input"] = input_of(o);
  json["bootstrap"] = {{"samples", o.bootstrap.samples}, {"seed", o.bootstrap.seed}};
  if (!o.compare.empty()) {
    log::out("");
    const Evaluated second = evaluate_one(o.compare, o, o.compare_precision.value_or(o.models.precision), ranks);
    const TextDifference difference = compare(first.scores, second.scores, o.bootstrap);
    log::out("\nthe first less the second, document by document\n{}", text_of(difference));
    json["compare"] = second.json;
    json["difference"] = json_of(difference);
  }
  if (o.output.empty() || log::rank() != 0) return;
  write_result(o.output, "results.json", json.dump(2) + "\n");
  write_result(o.output, "documents.jsonl", document_lines(first.scores));
  log::info("written: {0}/results.json, {0}/documents.jsonl", o.output);
}

}  // namespace octet::evaluate
