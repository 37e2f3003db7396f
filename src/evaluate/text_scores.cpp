#include "src/evaluate/text_scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "src/base/error.h"
#include "src/evaluate/windows.h"

namespace octet {
namespace {

/// The windows of some documents, as they are scored together.
class WindowBatch {
 public:
  WindowBatch(Scorer& scorer, const RollingOptions& options)
      : scorer_(scorer), start_(options.start), stride_(options.stride == 0 ? scorer.window() : options.stride) {}

  void add(const std::vector<std::int32_t>& tokens, std::size_t document) {
    for (const Window& w : rolling_windows(static_cast<std::int64_t>(tokens.size()), scorer_.window(), stride_)) {
      ScoreRequest request;
      if (w.context < 0) request.context.push_back(start_);
      request.context.insert(request.context.end(), tokens.begin() + std::max<std::int64_t>(w.context, 0),
                             tokens.begin() + w.first);
      request.continuation.assign(tokens.begin() + w.first, tokens.begin() + w.end);
      requests_.push_back(std::move(request));
      documents_.push_back(document);
    }
    tokens_ += static_cast<std::int64_t>(tokens.size());
  }
  std::int64_t tokens() const { return tokens_; }
  std::int64_t windows() const { return std::ssize(requests_); }

  void score(std::vector<DocumentScore>& scores, const ScoreProgress& progress) {
    if (requests_.empty()) return;
    const auto scored = scorer_.score(requests_, progress);
    for (std::size_t i = 0; i < scored.size(); ++i) scores[documents_[i]].loss_sum -= scored[i].log_likelihood;
    requests_.clear();
    documents_.clear();
    tokens_ = 0;
  }

 private:
  Scorer& scorer_;
  std::int32_t start_;
  std::int64_t stride_, tokens_ = 0;
  std::vector<ScoreRequest> requests_;
  std::vector<std::size_t> documents_;
};

template <typename F>
std::vector<double> numbers(std::span<const DocumentScore> scores, F&& number) {
  std::vector<double> out;
  for (const DocumentScore& s : scores) out.push_back(number(s));
  return out;
}

Estimate exponential(const Estimate& e) {
  Estimate out{std::exp(e.value)};
  if (e.interval) out.interval = Interval{std::exp(e.interval->low), std::exp(e.interval->high)};
  return out;
}

double tokens_of(const DocumentScore& s) {
  return static_cast<double>(s.tokens);
}
/// Times ln 2, by which nats become bits.
double bytes_of(const DocumentScore& s) {
  return static_cast<double>(*s.bytes) * std::numbers::ln2;
}
bool has_bytes(const std::vector<DocumentScore>& scores) {
  return std::ranges::all_of(scores, [](const DocumentScore& s) { return s.bytes && *s.bytes > 0; });
}

}  // namespace

std::vector<DocumentScore> score_documents(DocumentReader& documents, Scorer& scorer, const RollingOptions& options,
                                           const std::function<void(const TextProgress&)>& progress) {
  std::vector<DocumentScore> scores;
  WindowBatch batch(scorer, options);
  TextProgress before, now;
  const auto share_read = [&] {
    const auto limit = static_cast<double>(options.documents);
    return limit > 0 ? std::max(documents.share(), static_cast<double>(scores.size()) / limit) : documents.share();
  };
  const auto score = [&] {
    const double read = share_read();
    batch.score(scores, [&](std::int64_t windows, std::int64_t tokens) {
      const double part = static_cast<double>(windows) / static_cast<double>(batch.windows());
      now = {before.windows + windows, before.tokens + tokens, before.share + (read - before.share) * part};
      if (progress) progress(now);
    });
    before = now;
  };
  EvaluatedDocument document;
  while ((options.documents == 0 || static_cast<std::int64_t>(scores.size()) < options.documents) &&
         documents.next(document)) {
    if (document.tokens.empty()) continue;
    batch.add(document.tokens, scores.size());
    scores.push_back({static_cast<std::int64_t>(document.tokens.size()), document.bytes});
    if (batch.tokens() >= options.tokens_at_once) score();
  }
  score();
  scorer.score({}, nullptr);  // the end, where no rank may have another text
  return scores;
}

TextSummary summarise(const std::vector<DocumentScore>& scores, const BootstrapOptions& options) {
  TextSummary out{.documents = static_cast<std::int64_t>(scores.size()), .loss = {}, .perplexity = {}};
  for (const DocumentScore& s : scores) out.tokens += s.tokens;
  const auto losses = numbers(scores, [](const DocumentScore& s) { return s.loss_sum; });
  out.loss = estimate_ratio(losses, numbers(scores, tokens_of), options);
  out.perplexity = exponential(out.loss);
  if (!has_bytes(scores)) return out;
  out.bytes = 0;
  for (const DocumentScore& s : scores) *out.bytes += *s.bytes;
  out.bits_per_byte = estimate_ratio(losses, numbers(scores, bytes_of), options);
  return out;
}

TextDifference compare(const std::vector<DocumentScore>& first, const std::vector<DocumentScore>& second,
                       const BootstrapOptions& options) {
  if (first.size() != second.size()) {
    throw usage_error("evaluate", "the models' tokenizers make {} and {} documents of the texts that are not empty",
                      first.size(), second.size());
  }
  std::vector<double> differences;
  bool same_tokens = true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].bytes != second[i].bytes) {
      throw usage_error("evaluate", "document {} of those that are not empty is another for each model's tokenizer", i);
    }
    differences.push_back(first[i].loss_sum - second[i].loss_sum);
    same_tokens &= first[i].tokens == second[i].tokens;
  }
  TextDifference out;
  if (same_tokens) out.loss = estimate_ratio(differences, numbers(first, tokens_of), options);
  if (has_bytes(first)) out.bits_per_byte = estimate_ratio(differences, numbers(first, bytes_of), options);
  return out;
}

}  // namespace octet
