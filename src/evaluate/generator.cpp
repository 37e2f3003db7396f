#include "src/evaluate/generator.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
Generator::Generator(ForwardModel& model, Mesh& mesh, Stream& stream)
    : model_(model),
      mesh_(mesh),
      stream_(stream),
      passes_(model.settings().cached_passes(stream.device().type())),
      cache_(stream.device(), model.llama().part(), storage_dtype(model.settings().precision),
             model.settings().rows_of_cache(stream.device().type())),
      pass_inputs_(stream.device(), (passes_.back() * 6 + 1) * size_of(DType::i32), Purpose::data),
      logits_(stream.device(), 2 * model.settings().model.vocab_size * size_of(DType::f32), Purpose::data),
      logits_on_host_(static_cast<std::size_t>(model.settings().model.vocab_size)) {}

/// A pass of more tokens than there are is filled up with copies of the last one, at the same position and with the
/// same context: they change no other token and, in the casts, no abs-max. The next pass overwrites what they leave in
/// the cache.
void Generator::pass(std::span<const std::int32_t> tokens, std::int64_t padded) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  pass_inputs_on_host_.resize(static_cast<std::size_t>(padded * 6 + 1));
  std::int32_t *spans = pass_inputs_on_host_.data(), *ids = spans + 4 * padded, *begin = ids + padded,
               *predicted_from = begin + padded;
  for (std::int64_t i = 0; i < padded; ++i) {
    const std::int64_t token = std::min(i, count - 1), position = seen_ + token;
    const auto end = static_cast<std::int32_t>(position + 1);
    std::copy_n(std::initializer_list<std::int32_t>{0, end, end, end}.begin(), 4, spans + 4 * i);
    ids[i] = tokens[static_cast<std::size_t>(token)];
    begin[i] = static_cast<std::int32_t>(i - position);
  }
  *predicted_from = static_cast<std::int32_t>(count - 1);
  stream_.device().copy_from_host(pass_inputs_.data(), pass_inputs_on_host_.data(),
                                  (padded * 6 + 1) * size_of(DType::i32), stream_);
  const auto* inputs = pass_inputs_.as<std::int32_t>();
  MicroBatch batch;
  batch.tokens = inputs + 4 * padded;
  batch.documents.begin = inputs + 5 * padded;
  batch.scored = {.predicted_from = inputs + 6 * padded, .n = 1, .logits = logits_.as<float>()};
  batch.cached = {.cache = &cache_, .tokens = padded, .first = seen_, .spans = inputs, .longest = seen_ + count};
  model_.llama().extend(batch, model_.weights());
  seen_ += count;
}

void Generator::gather_logits() {
  const std::int64_t part = model_.llama().part().vocab_size, all = std::ssize(logits_on_host_);
  const float* whole = logits_.as<float>();
  if (part < all) {
    auto* gathered = logits_.as<float>() + all;
    mesh_.tp().all_gather(logits_.data(), gathered, part, DType::f32);
    whole = gathered;
  }
  stream_.device().copy_to_host(logits_on_host_.data(), whole, all * size_of(DType::f32), stream_);
  stream_.synchronize();
}

std::span<const float> Generator::extend(std::span<const std::int32_t> tokens) {
  const LlamaSettings& settings = model_.settings();
  if (tokens.empty() || seen_ + std::ssize(tokens) > settings.cache_rows) {
    throw internal_error("evaluate", "{} tokens behind {}, in a cache of {}", tokens.size(), seen_,
                         settings.cache_rows);
  }
  for (const std::int32_t id : tokens) {
    if (id >= 0 && id < settings.model.vocab_size) continue;
    throw usage_error("evaluate", "token id {} is not in the model's vocabulary of {}", id, settings.model.vocab_size);
  }
  while (!tokens.empty()) {
    const std::int64_t count = std::min(std::ssize(tokens), passes_.back());
    pass(tokens.first(static_cast<std::size_t>(count)), *std::ranges::lower_bound(passes_, count));
    tokens = tokens.subspan(static_cast<std::size_t>(count));
    if (!tokens.empty()) stream_.synchronize();  // before what it is told is overwritten
  }
  gather_logits();
  return logits_on_host_;
}

}  // namespace octet
