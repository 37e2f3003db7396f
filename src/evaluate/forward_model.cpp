#include "src/evaluate/forward_model.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/ops/cross_entropy.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

LlamaSettings forward_alone(LlamaSettings settings) {
  settings.forward_only = settings.documents = true;
  settings.recompute = {};
  return settings;
}

/// Weights stay gathered: they never change.
FsdpOptions fsdp_options_of(const LlamaSettings& s) {
  return {.zero = Zero::two, .float8_all_gather = recipe_of(s.precision, s.float8)->gathers_float8()};
}

}  // namespace

ForwardModel::ForwardModel(LlamaSettings settings, Mesh& mesh, Stream& stream)
    : settings_(forward_alone(std::move(settings))),
      stream_(stream),
      exchange_(mesh.tp()),
      llama_(settings_, stream, exchange_, nullptr),
      weights_(llama_, mesh, stream, fsdp_options_of(settings_)) {}

const std::int32_t* ForwardModel::upload(Buffer& to, const std::vector<std::int32_t>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(std::int32_t));
  if (to.bytes() < bytes) to = Buffer(stream_.device(), bytes, Purpose::data);
  stream_.device().copy_from_host(to.data(), values.data(), bytes, stream_);
  return to.as<std::int32_t>();
}

PackedDocuments ForwardModel::upload_documents(const ScoreRow& row) {
  documents_on_host_ = list_documents(row.begin, settings_.seq_len);
  return {.begin = upload(begin_, row.begin),
          .starts = upload(starts_, documents_on_host_.starts),
          .places = documents_on_host_.places(),
          .longest = documents_on_host_.longest};
}

SharedPrefixes ForwardModel::upload_shared(const ScoreRow& row) {
  if (row.spans.empty()) return {};
  return {.spans = upload(spans_, row.spans), .origin = upload(origin_, row.origin)};
}

std::vector<TokenLikelihood> ForwardModel::score(const ScoreRow& row) {
  if (static_cast<std::int64_t>(row.tokens.size()) != row_tokens()) {
    throw internal_error("evaluate", "a row of {} tokens, expected {}", row.tokens.size(), row_tokens());
  }
  // Few different numbers of rows, since libraries prepare a GEMM for each.
  const std::size_t step = std::max<std::size_t>(16, row.tokens.size() / 16);
  const std::size_t padded = (row.targets.size() + step - 1) / step * step;
  std::vector<std::int32_t> predicted_from = row.predicted_from, targets = row.targets;
  predicted_from.resize(padded, 0);
  targets.resize(padded, 0);
  const int parts = settings_.tp.count;
  stats_on_host_.resize(static_cast<std::size_t>(numbers_of_stats * parts) * padded);
  const auto bytes = static_cast<std::int64_t>(stats_on_host_.size() * sizeof(float));
  if (stats_.bytes() < bytes) stats_ = Buffer(stream_.device(), bytes, Purpose::data);
  const auto n = static_cast<std::int64_t>(padded);
  llama_.score({.tokens = upload(tokens_, row.tokens),
                .documents = upload_documents(row),
                .scored = {.predicted_from = upload(predicted_from_, predicted_from),
                           .targets = upload(targets_, targets),
                           .n = n,
                           .stats = stats_.as<float>()},
                .shared = upload_shared(row)},
               weights_);
  stream_.device().copy_to_host(stats_on_host_.data(), stats_.data(), bytes, stream_);
  stream_.synchronize();
  std::vector<TokenLikelihood> out = likelihoods(stats_on_host_.data(), n, llama_.scored_rows(n), parts);
  out.resize(row.targets.size());
  return out;
}

}  // namespace octet
