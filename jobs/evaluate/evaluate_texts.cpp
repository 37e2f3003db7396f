#include "jobs/evaluate/evaluate_texts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jobs/evaluate/evaluated_facts.h"
#include "jobs/evaluate/results_file.h"
#include "jobs/evaluate/text_report.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/corpus/outputs.h"
#include "src/train/start/open_token_files.h"
#include "src/train/start/token_ranges.h"
#include "src/train/start/tokenizer_record.h"

namespace octet::evaluate {
namespace {

const std::string& input_of(const Options& o) {
  return o.data.empty() ? o.text.input : o.data;
}

/// Of the texts' numbers in results.json.
const char* result_name(const Options& o) {
  return o.data.empty() ? "text" : "data";
}

std::int64_t stride_of(const Options& o, std::int64_t window) {
  return o.stride == 0 ? window : o.stride;
}

/// What a model needs to know of its texts.
struct Language {
  std::unique_ptr<Tokenizer> tokenizer;  ///< null: --data without a tokenizer at hand
  std::optional<std::int32_t> bos, eos;
  std::optional<TokenizerIdentity> of_data;  ///< what the side file of --data says: its documents may end otherwise
};

std::optional<std::int32_t> id_of(const std::optional<std::int64_t>& id) {
  return id ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

/// The token file of --data; null without.
using Data = std::shared_ptr<const TokenFile>;

Data open_data(const Options& o, Communicator& control) {
  if (o.data.empty()) return nullptr;
  const auto as_it_is = [](const Error& error) { return error; };
  return std::make_shared<TokenFile>(
      std::move(open_token_files({o.data}, PairUse::documents, as_it_is, control).front()));
}

/// The tokenizer that the side file of the token file names must be the model's.
std::optional<TokenizerIdentity> tokenizer_of(const TokenFile& file, const ModelSource& source, Communicator& control) {
  auto of_data = tokenizer_of_data(file, control);
  if (of_data && source.identity && !same_tokenizer(*of_data, *source.identity)) {
    throw usage_error("evaluate", "{}: was made with {}, and the data of {} with {}", file.prefix(),
                      octet::text_of(*of_data), source.name(), octet::text_of(*source.identity));
  }
  return of_data;
}

Language language_of(const Options& o, const Data& data, const ModelSource& source, Communicator& control) {
  Language language;
  std::optional<TokenizerIdentity>& of_data = language.of_data;
  if (data) of_data = tokenizer_of(*data, source, control);
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
    language.tokenizer = tokenizer_of(source, given, o.models.control_tokens, of_data);
    // What made the ids is known, where the model's own is not, as of a Hugging Face folder.
    const TokenizerIdentity its = identity_of(language.tokenizer->info());
    if (of_data && !same_tokenizer(*of_data, its)) {
      throw usage_error("evaluate", "{}: was made with {}, and the tokenizer of {} is {}", o.data,
                        octet::text_of(*of_data), source.name(), octet::text_of(its));
    }
    language.bos = language.tokenizer->info().bos;
    language.eos = language.tokenizer->info().eos;
    if (!language.bos && !language.eos) {  // an exported rank file names none, but config.json does
      language.bos = source.bos;
      language.eos = source.eos;
    }
  }
  if (!language.bos && !language.eos) {
    throw usage_error("evaluate",
                      "{}: its tokenizer names no token that begins or ends a document; expected one of them, since "
                      "the first token of each document is predicted from it",
                      source.name());
  }
  return language;
}

std::unique_ptr<DocumentReader> reader_of(const Options& o, const Data& data, const ModelSource& source,
                                          const Language& language) {
  if (!o.text.input.empty()) return read_texts(o.text, *language.tokenizer);
  return read_token_documents({.file = data,
                               .vocab_size = source.model.vocab_size,
                               .bos = language.of_data ? id_of(language.of_data->bos) : language.bos,
                               .eos = language.of_data ? id_of(language.of_data->eos) : language.eos,
                               .tokenizer = language.tokenizer.get()});
}

/// A model that is to score the texts, and they as its tokenizer has them.
struct Subject {
  FoundModel found;
  Language language;
  std::unique_ptr<DocumentReader> reader;

  std::int32_t start() const { return language.bos ? *language.bos : *language.eos; }
};

Json facts_of(const Subject& subject) {
  const Tokenizer* tokenizer = subject.language.tokenizer.get();
  return tokenizer != nullptr ? facts_of(subject.found, *tokenizer) : facts_of(subject.found);
}

/// The length of the longest text in tokens, at most `enough`; also `enough` where there is too much text to read it
/// twice. Usage error where there is no text. Collective, so that all ranks have rows of one length, whatever each of
/// them can see.
std::int64_t longest_text(DocumentReader& texts, const Options& o, std::int64_t enough, Communicator& control) {
  constexpr std::int64_t most_tokens = 1 << 20;
  EvaluatedDocument text;
  std::int64_t longest = 0, documents = 0, tokens = 0;
  while (longest < enough && (o.documents == 0 || documents < o.documents) && texts.next(text)) {
    if (text.tokens.empty()) continue;
    ++documents;
    tokens += std::ssize(text.tokens);
    longest = tokens > most_tokens ? enough : std::max(longest, std::ssize(text.tokens));
  }
  if (documents == 0) throw usage_error("evaluate", "{}: has no text", input_of(o));
  for (const std::string& of_rank : gather_bytes(std::to_string(longest), control)) {
    longest = std::max<std::int64_t>(longest, std::stoll(of_rank));
  }
  return std::min(longest, enough);
}

/// All that can be wrong with it is found here, before any model has computed.
Subject find_subject(const std::string& path, const Options& o, const Data& data, Precision precision,
                     const Ranks& ranks) {
  ModelOptions options = o.models;
  options.precision = precision;
  FoundModel found(path, options, ranks.mesh, ranks.stream.device(), ranks.control);
  if (o.stride > found.window) {
    throw usage_error("evaluate", "--stride is {}; expected at most the window of {} tokens of {}", o.stride,
                      found.window, found.source.name());
  }
  Language language = language_of(o, data, found.source, ranks.control);
  if (data) check_token_range(*data, found.source.model.vocab_size, ranks.control);
  const auto read_ahead = reader_of(o, data, found.source, language);
  found.limit_texts_to(longest_text(*read_ahead, o, found.limit_matters_up_to(), ranks.control));
  auto reader = reader_of(o, data, found.source, language);
  return {std::move(found), std::move(language), std::move(reader)};
}

struct Scored {
  std::vector<DocumentScore> scores;
  double seconds = 0, tokens_per_second = 0;
};

/// All documents, with a line for people that says how far it is.
Scored score(Subject& subject, Scorer& scorer, const Options& o) {
  StatusLine status;
  TextProgress last;
  const auto start = StatusLine::Clock::now();
  const auto rate = [&](double seconds) { return static_cast<double>(last.tokens) / seconds; };
  const auto progress = [&](const TextProgress& now) {
    last = now;
    if (log::rank() != 0 || !status.due()) return;
    const double seconds = std::max(seconds_since(start), 1e-9);
    status.show(fmt::format("{:.0f} % of the texts: {} windows, {} tokens, {:.0f} tokens/s{}", 100 * now.share,
                            now.windows, now.tokens, rate(seconds), time_left(now.share, seconds)));
  };
  // Where no text is longer than what a row holds, each has one window, whatever the stride.
  const RollingOptions rolling{
      .start = subject.start(), .stride = std::min(o.stride, scorer.window()), .documents = o.documents};
  Scored out{.scores = score_documents(*subject.reader, scorer, rolling, progress)};
  out.seconds = std::max(seconds_since(start), 1e-9);
  out.tokens_per_second = rate(out.seconds);
  status.show("");
  if (out.scores.empty()) throw usage_error("evaluate", "{}: has no text", input_of(o));
  return out;
}

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw
struct Evaluated {
  std::vector<DocumentScore> scores;
  Json json;
};

/// Its documents are in `folder` before anything is compared.
Evaluated evaluate_subject(Subject subject, const Options& o, const std::string& folder, const Ranks& ranks) {
  EvaluatedModel model(subject.found, ranks.mesh, ranks.stream, ranks.control);
  const std::int64_t window = subject.found.window;
  log::out("model          {}", subject.found.text());
  log::out("before each    {}, id {}", subject.language.bos ? "BOS" : "EOS, as there is no BOS", subject.start());
  const Scored scored = score(subject, model.scorer(), o);
  if (!folder.empty() && log::rank() == 0) write_result(folder, "documents.jsonl", document_lines(scored.scores));
  const TextSummary summary = summarise(scored.scores, o.bootstrap);
  log::out("{}", text_of(summary));
  log::info("{:.2f} s, {:.0f} tokens/s; {}", scored.seconds, scored.tokens_per_second,
            memory_text(ranks.stream.device()));
  Json json{{"model", subject.found.source.name()},
            {"precision", name_of(subject.found.options.precision)},
            {"window", window},
            {"stride", stride_of(o, window)},
            {"before_each_document", {{"token", subject.language.bos ? "bos" : "eos"}, {"id", subject.start()}}},
            {"tokens_per_second", scored.tokens_per_second}};
  json["results"][result_name(o)] = json_of(summary);
  return {scored.scores, std::move(json)};
}

/// What the results are of. The texts are told by what names them: reading them twice could take as long as scoring.
Json evaluation_of(const Options& o, const Data& data, const Subject& one, const Subject* other) {
  if (o.output.empty() || log::rank() != 0) return {};  // the first rank alone looks at the folder
  Json evaluation{{"model", facts_of(one)}, {"bootstrap", bootstrap_json(o.bootstrap)}, {"documents", result_name(o)}};
  if (other != nullptr) evaluation["compare"] = facts_of(*other);
  evaluation["results"][result_name(o)] = {{"input", data ? fmt::format("{:016x}", data->fingerprint()) : input_of(o)},
                                           {"format", o.text.format ? Json(name_of(*o.text.format)) : Json()},
                                           {"field", o.text.field},
                                           {"blank_lines", o.text.split == SplitDocuments::blank_lines},
                                           {"stride", stride_of(o, one.found.window)},
                                           {"documents", o.documents}};
  return evaluation;
}

}  // namespace

void evaluate_texts(const Options& o, const Ranks& ranks) {
  const Data data = open_data(o, ranks.control);
  Subject one = find_subject(o.model, o, data, o.models.precision, ranks);
  std::optional<Subject> other;
  if (!o.compare.empty()) {
    other = find_subject(o.compare, o, data, o.compare_precision.value_or(o.models.precision), ranks);
    if (one.found.window != other->found.window && log::rank() == 0) {
      log::warning(
          "the models see {} and {} tokens at once: the difference is that of their windows too; --window N "
          "gives both the same",
          one.found.window, other->found.window);
    }
  }
  const ResultsFile file(o.output, o.overwrite, evaluation_of(o, data, one, other ? &*other : nullptr), ranks.control);
  const Evaluated first = evaluate_subject(std::move(one), o, o.output, ranks);
  Json json = first.json;
  json["input"] = input_of(o);
  json["bootstrap"] = bootstrap_json(o.bootstrap);
  file.write(json, o.output + "/documents.jsonl");
  if (!other) return;
  log::out("");
  const Evaluated second = evaluate_subject(std::move(*other), o, compared_folder(o), ranks);
  const TextDifference difference = compare(first.scores, second.scores, o.bootstrap);
  log::out("\nthe first less the second, document by document\n{}", text_of(difference));
  json["compare"] = second.json;
  json["difference"] = json_of(difference);
  file.write(json, compared_folder(o) + "/documents.jsonl");
}

}  // namespace octet::evaluate
