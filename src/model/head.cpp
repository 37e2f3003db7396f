#include "src/model/head.h"

#include <cmath>

#include "src/model/checked_tensors.h"
#include "src/ops/cross_entropy.h"
#include "src/ops/embedding.h"
#include "src/ops/linear_gemms.h"
#include "src/ops/norm.h"
#include "src/ops/reduce.h"
#include "src/ops/rows.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

const LinearRecipe output_recipe{.name = "output"};

struct FinalNorm {
  Normed normed;  ///< norm of this rank's rows
  Tensor all;     ///< the same of all tokens
};

FinalNorm normalise(const Head& head, const HeadWeights& weights, const BlockResult& h) {
  const StepPartScope part(StepPart::forward);
  Arena& scratch = head.op.scratch;
  const std::int64_t rows = head.shape.rows(), dim = head.model.dim;
  const Tensor sum = take(scratch, head.shape.storage, rows, dim), x = take(scratch, head.shape.storage, rows, dim);
  auto* inverse_rms = scratch.allocate<float>(rows);
  add_rmsnorm(head.op, h.residual, h.branch, weights.norm, static_cast<float>(head.model.norm_eps), sum,
              {x, {.amax = nullptr, .non_finite = head.checks.counter(head_unit(head.model), checked_input)}},
              inverse_rms);
  return {{sum, weights.norm, inverse_rms}, gather_rows(head.op, x)};
}

void add_loss(const Head& head, const float* losses, float* loss_sum) {
  const StepPartScope part(StepPart::forward);
  add_sum(head.op, losses, head.shape.tokens(), loss_sum);
}

/// What belongs to the tokens from `begin` on. A dry pass has no tokens and no losses.
template <typename T>
T* at(T* list, std::int64_t begin) {
  return list == nullptr ? nullptr : list + begin;
}

}  // namespace

std::vector<TokenLikelihood> likelihoods(const float* stats, std::int64_t n, std::int64_t chunk, int parts) {
  std::vector<TokenLikelihood> out;
  out.reserve(static_cast<std::size_t>(n));
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t rows = std::min(chunk, n - begin);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto of = [&](int part, std::int64_t number) {
        return double{stats[(part * numbers_of_stats + number) * rows + row]};
      };
      double most = of(0, 0), sum = 0, target = 0;
      for (int p = 1; p < parts; ++p) most = std::max(most, of(p, 0));
      for (int p = 0; p < parts; ++p) {
        sum += of(p, 1) * std::exp(of(p, 0) - most);
        target += of(p, 2);
      }
      out.push_back({target - most - std::log(sum), target >= most});
    }
    stats += numbers_of_stats * parts * rows;
  }
  return out;
}

std::int64_t Head::chunk_tokens(std::int64_t vocab_size, std::int64_t logits_bytes) {
  const std::int64_t rows = logits_bytes / 4 / vocab_size, multiple = rows < 1024 ? 16 : 256;
  return std::clamp<std::int64_t>(rows / multiple * multiple, 16, logits_bytes >> 18);
}

void Head::forward(const HeadWeights& weights, const BlockResult& h, const std::int32_t* targets,
                   float* loss_sum) const {
  const ArenaScope scope(op.scratch);
  const std::int64_t n = shape.tokens(), vocab = model.vocab_size;
  const FinalNorm norm = normalise(*this, weights, h);
  auto* losses = op.scratch.allocate<float>(n);
  const Tensor logits = take(op.scratch, DType::f32, std::min(n, chunk_tokens(vocab, op.kernels.logits_bytes)), vocab);
  for (std::int64_t begin = 0; begin < n; begin += logits.shape[0]) {
    const Tensor y = logits.rows(0, std::min(logits.shape[0], n - begin));
    linear_forward(op, output_recipe, norm.all.rows(begin, y.shape[0]), weights.output, y);
    cross_entropy(op, y, at(targets, begin), at(losses, begin));
  }
  add_loss(*this, losses, loss_sum);
}

void Head::score(const HeadWeights& weights, const BlockResult& h, const ScoredTokens& scored) const {
  const StepPartScope part(StepPart::forward);
  const ArenaScope scope(op.scratch);
  const FinalNorm norm = normalise(*this, weights, h);
  const std::int64_t vocab = model.vocab_size, chunk = scored_rows(scored.n), dim = model.dim;
  const int parts = op.exchange.part().count;
  const Tensor x = take(op.scratch, shape.storage, chunk, dim), logits = take(op.scratch, DType::f32, chunk, vocab);
  float* to = scored.stats;
  for (std::int64_t begin = 0; begin < scored.n; begin += chunk) {
    const std::int64_t rows = std::min(chunk, scored.n - begin);
    embedding_forward(op, at(scored.predicted_from, begin), norm.all, 0, x.rows(0, rows));  // picks rows, as of a table
    if (scored.logits != nullptr) {
      const Tensor to_caller{scored.logits + begin * vocab, DType::f32, {rows, vocab}, nullptr};
      linear_forward(op, output_recipe, x.rows(0, rows), weights.output, to_caller);
      continue;
    }
    linear_forward(op, output_recipe, x.rows(0, rows), weights.output, logits.rows(0, rows));
    cross_entropy_stats(op, logits.rows(0, rows), at(scored.targets, begin), to);
    if (to != nullptr) to += numbers_of_stats * parts * rows;
  }
}

void Head::forward_backward(const HeadWeights& weights, const HeadGradients& gradients, const BlockResult& h,
                            const std::int32_t* targets, float loss_scale, float* loss_sum,
                            const OutputGradient& dh) const {
  const ArenaScope scope(op.scratch);
  const std::int64_t n = shape.tokens(), vocab = model.vocab_size;
  const std::int64_t chunk = std::min(n, chunk_tokens(vocab, op.kernels.logits_bytes));
  const FinalNorm norm = normalise(*this, weights, h);
  const Tensor dx = take(op.scratch, shape.storage, shape.rows(), model.dim);
  const Tensor partial = partial_of(op, dx);
  auto* losses = op.scratch.allocate<float>(n);
  const Tensor logits = take(op.scratch, DType::f32, chunk, vocab);
  const Tensor d_logits =
      shape.storage == DType::f32 ? logits : take(op.scratch, shape.storage, chunk, vocab);  // f32: in place
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t rows = std::min(chunk, n - begin);
    const Tensor x = norm.all.rows(begin, rows), y = logits.rows(0, rows), dy = d_logits.rows(0, rows);
    {
      const StepPartScope part(StepPart::forward);
      linear_forward(op, output_recipe, x, weights.output, y);
      cross_entropy(op, y, at(targets, begin), at(losses, begin), dy, loss_scale);
    }
    linear_grad_input(op, output_recipe, dy, weights.output, partial.rows(begin, rows), false);
    linear_grad_weight(op, output_recipe, dy, x, gradients.output.tensor, gradients.output.accumulate || begin > 0);
  }
  add_loss(*this, losses, loss_sum);
  scatter_rows(op, partial, dx);
  rmsnorm_backward(op, dx, norm.normed, ResidualGradient::none,
                   dh.produced(checks.counter(head_unit(model), checked_grad)), gradients.norm);
}

}  // namespace octet
