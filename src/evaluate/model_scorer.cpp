#include "src/evaluate/model_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checkpoints/format/hash.h"
#include "src/base/error.h"
#include "src/comm/control_exchange.h"
#include "src/evaluate/expect_same.h"

namespace octet {
namespace {

/// A request's score as ranks tell it to each other.
struct Told {
  std::int64_t request = 0;
  double log_likelihood = 0;
  std::int64_t greedy = 1;
};

void tell(std::string& message, const ScoreRow& row, const std::vector<TokenLikelihood>& tokens,
          std::span<const ScoreRequest> requests) {
  auto token = tokens.begin();
  for (const std::int64_t request : row.requests) {
    Told told{.request = request};
    for (std::size_t i = 0; i < requests[static_cast<std::size_t>(request)].continuation.size(); ++i, ++token) {
      told.log_likelihood += token->log_probability;
      told.greedy &= token->best ? 1 : 0;
    }
    message.append(reinterpret_cast<const char*>(&told), sizeof told);
  }
}

/// A rank with other requests than the rest would be told scores that belong to none of its own.
void expect_same_requests(std::span<const ScoreRequest> requests, Communicator& control) {
  checkpoint::Hasher hash;
  for (const ScoreRequest& request : requests) {
    for (const std::vector<std::int32_t>* ids : {&request.context, &request.continuation}) {
      const std::size_t size = ids->size();
      hash.add(&size, sizeof size);
      hash.add(ids->data(), size * sizeof(std::int32_t));
    }
  }
  expect_same("the ranks have read different texts",
              fmt::format("{} to score, with the hash {}", requests.size(), hash.hex()), control);
}

void listen(const std::string& message, std::vector<Score>& scores) {
  if (message.size() % sizeof(Told) != 0) {
    throw internal_error("evaluate", "a message of {} bytes about scores of {}", message.size(), sizeof(Told));
  }
  for (std::size_t at = 0; at < message.size(); at += sizeof(Told)) {
    Told told;
    std::memcpy(&told, message.data() + at, sizeof told);
    if (told.request < 0 || told.request >= std::ssize(scores)) {
      throw internal_error("evaluate", "a score of request {}, of {}", told.request, scores.size());
    }
    if (!std::isfinite(told.log_likelihood)) {
      throw usage_error("evaluate",
                        "a log-likelihood is {} (request {}): the model's weights are not finite, or too large for the "
                        "precision; --precision fp32 tells which",
                        told.log_likelihood, told.request);
    }
    scores[static_cast<std::size_t>(told.request)] = {told.log_likelihood, told.greedy != 0};
  }
}

}  // namespace

ModelScorer::ModelScorer(ForwardModel& model, std::int64_t window, Mesh& mesh, Communicator& control)
    : model_(model), window_(window), mesh_(mesh), control_(control) {
  if (window < 1 || window > model.row_tokens()) {
    throw internal_error("evaluate", "a window of {} tokens in rows of {}", window, model.row_tokens());
  }
}

std::vector<Score> ModelScorer::score(std::span<const ScoreRequest> requests, const ScoreProgress& progress) {
  expect_same_requests(requests, control_);
  const ScorePlan plan =
      pack_requests(requests, {.window = window_, .row_tokens = model_.row_tokens(), .vocab_size = vocab_size()});
  const auto takers = static_cast<std::size_t>(mesh_.dp().size()), mine = static_cast<std::size_t>(mesh_.dp().rank());
  std::string message;
  std::int64_t done = 0, tokens = 0;
  for (std::size_t turn = 0; turn < plan.rows.size(); turn += takers) {
    if (const std::size_t row = turn + mine; row < plan.rows.size()) {
      tell(message, plan.rows[row], model_.score(plan.rows[row]), requests);
    }
    for (std::size_t row = turn; row < std::min(turn + takers, plan.rows.size()); ++row) {
      done += static_cast<std::int64_t>(plan.rows[row].requests.size());
      tokens += plan.rows[row].used;
    }
    if (progress) progress(done, tokens);
  }
  if (mesh_.tp().rank() != 0) message.clear();  // the ranks of a tp group have the same
  std::vector<Score> scores(requests.size());
  for (const std::string& told : gather_bytes(message, control_)) listen(told, scores);
  return scores;
}

}  // namespace octet
