#include "src/data/sampler.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/data/window_documents.h"

namespace octet {
namespace {

void check(const SamplerConfig& config) {
  if (config.seq_len < 1) throw usage_error("data", "train.seq_len is {}; expected at least 1", config.seq_len);
  if (config.global_batch < 1) {
    throw usage_error("data", "train.global_batch is {}; expected at least 1", config.global_batch);
  }
}

std::vector<SampleOrder::Source> describe(const std::vector<TokenFile>& files, std::int64_t seq_len) {
  std::vector<SampleOrder::Source> described;
  for (const TokenFile& file : files) {
    const std::int64_t windows = windows_of(file.tokens(), seq_len);
    if (windows == 0) {
      throw usage_error("data", "{}: {} tokens are fewer than one sample; train.seq_len {} needs at least {}",
                        file.bin_path(), file.tokens(), seq_len, seq_len + 1);
    }
    described.push_back({file.bin_path(), windows});
  }
  return described;
}

/// Whether a document begins with that token of a window.
bool is_first(const std::vector<std::int32_t>& begin, std::int64_t token) {
  return begin[static_cast<std::size_t>(token)] == token;
}

std::vector<TokenFile> open_files(const std::vector<DataSource>& sources, const SamplerConfig& config) {
  check(config);
  check_mixture({.train = sources, .changes = config.changes, .history = config.history});
  std::vector<TokenFile> files;
  for (const DataSource& source : sources) {
    try {
      files.emplace_back(source.path);
    } catch (const Error& error) {
      throw error_of_data_train(error, config.origin);
    }
  }
  return files;
}

}  // namespace

Error error_of_data_train(const Error& error, const std::string& origin) {
  std::string_view text = error.what();
  constexpr std::string_view room = "[data] ", of_files = "[files] ";
  for (const std::string_view speaks : {room, of_files}) {
    if (text.starts_with(speaks)) text.remove_prefix(speaks.size());
  }
  return {error.code(),
          fmt::format("{}{}data.train: {} (docs/problems.md, \"The data cannot be read\")", room,
                      origin.empty() ? "" : origin + ": ", text),
          error.agreed()};
}

Sampler::Sampler(const std::vector<DataSource>& sources, const SamplerConfig& config)
    : Sampler(sources, open_files(sources, config), config) {}

Sampler::Sampler(const std::vector<DataSource>& sources, std::vector<TokenFile> files, const SamplerConfig& config)
    : sources_(sources), config_(config), files_(std::move(files)) {
  check(config_);
  check_mixture(data());
  make_order();
}

DataConfig Sampler::data() const {
  return {.train = sources_, .changes = config_.changes, .history = config_.history};
}

void Sampler::make_order() {
  order_ = std::make_unique<SampleOrder>(describe(files_, config_.seq_len),
                                         SourceTurns(config_.history.order, stages_of(data()), config_.global_batch),
                                         config_.validation_fraction, config_.seed);
  check_sizes();
}

void Sampler::go_on_with(const DataHistory& history) {
  config_.history = history;
  check_mixture(data());
  make_order();
}

void Sampler::check_sizes() const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const WindowSplit& split = order_->split(static_cast<std::int32_t>(i));
    // A source's part of a batch, rounded up: no sample twice in one batch within an epoch.
    const double share = order_->turns().largest_share(static_cast<std::int32_t>(i));
    const auto needed = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(config_.global_batch)));
    if (split.train() < needed) {
      throw usage_error("data",
                        "{}: {} tokens give {} training samples of train.seq_len {} (and {} for validation), fewer "
                        "than the {} that one batch of train.global_batch {} takes from it",
                        files_[i].bin_path(), files_[i].tokens(), split.train(), config_.seq_len, split.validation(),
                        needed, config_.global_batch);
    }
  }
}

std::int64_t Sampler::micro_batches(const BatchLayout& layout) const {
  return micro_batches_of(config_.global_batch, layout);
}

std::int64_t Sampler::first_sample(std::int64_t batch_index, const BatchLayout& layout, std::int64_t m) const {
  const std::int64_t micro = micro_batches(layout);
  if (layout.rank < 0 || layout.rank >= layout.ranks || m < 0 || m >= micro || batch_index < 0) {
    throw internal_error("data", "batch {}, rank {} of {}, micro-batch {} of {}", batch_index, layout.rank,
                         layout.ranks, m, micro);
  }
  return batch_index * config_.global_batch + (layout.rank * micro + m) * layout.micro_batch;
}

void Sampler::read_window(const Sample& sample, std::vector<std::int32_t>& tokens) const {
  tokens.resize(static_cast<std::size_t>(config_.seq_len + 1));
  files_[static_cast<std::size_t>(sample.source)].read(sample.window * config_.seq_len, tokens, config_.vocab_size);
}

void Sampler::put(const Sample& sample, std::int64_t row, Batch& batch, std::vector<std::int32_t>& scratch) const {
  read_window(sample, scratch);
  std::copy(scratch.begin(), scratch.end() - 1, batch.tokens.begin() + row * config_.seq_len);
  std::copy(scratch.begin() + 1, scratch.end(), batch.targets.begin() + row * config_.seq_len);
  if (config_.document_mask) put_documents(sample, row, batch, scratch);
}

void Sampler::find_window_documents(const Sample& sample, std::vector<std::int32_t>& begin) const {
  begin.resize(static_cast<std::size_t>(config_.seq_len + 1));
  find_documents(files_[static_cast<std::size_t>(sample.source)], sample.window * config_.seq_len, begin);
}

void Sampler::put_documents(const Sample& sample, std::int64_t row, Batch& batch,
                            std::vector<std::int32_t>& scratch) const {
  find_window_documents(sample, scratch);
  const bool whole = scratch[static_cast<std::size_t>(config_.seq_len - 1)] == 0;
  if (!whole) {
    batch.document_begin.resize(batch.tokens.size(), 0);  // rows that are one document begin at 0
    std::copy(scratch.begin(), scratch.end() - 1, batch.document_begin.begin() + row * config_.seq_len);
  }
  if (config_.loss_on_first) return;
  for (std::int64_t i = 0; i < config_.seq_len; ++i) {
    if (is_first(scratch, i + 1)) batch.targets[static_cast<std::size_t>(row * config_.seq_len + i)] = -1;
  }
}

StepWork Sampler::work_of(const Sample& sample, std::vector<std::int32_t>& scratch) const {
  find_window_documents(sample, scratch);
  StepWork work{config_.seq_len, sum_of_squares({scratch.data(), static_cast<std::size_t>(config_.seq_len)})};
  for (std::int64_t i = 0; !config_.loss_on_first && i < config_.seq_len; ++i) work.targets -= is_first(scratch, i + 1);
  return work;
}

StepWork Sampler::step_work(std::int64_t step, const WorkShare& share) const {
  if (!config_.document_mask) return DryBatches(config_.global_batch, config_.seq_len).step_work(step, share);
  StepWork sum;
  std::vector<std::int32_t> scratch;
  for (std::int64_t i = share.first; i < config_.global_batch; i += share.every) {
    sum += work_of(order_->train_sample(step * config_.global_batch + i), scratch);
  }
  return sum;
}

void Sampler::train_batch(std::int64_t step, const BatchLayout& layout, std::int64_t m, Batch& batch) const {
  const std::int64_t first = first_sample(step, layout, m);
  batch.resize(layout.micro_batch, config_.seq_len);
  std::vector<std::int32_t> scratch;
  for (std::int64_t row = 0; row < layout.micro_batch; ++row)
    put(order_->train_sample(first + row), row, batch, scratch);
}

std::int64_t Sampler::validation_batches() const {
  const std::int64_t samples = order_->validation_samples();
  if (samples == 0) {
    throw usage_error("data", "validation is asked for, but data.validation_fraction {} sets no sample apart",
                      config_.validation_fraction);
  }
  return ceil_div(samples, config_.global_batch);
}

void Sampler::validation_batch(std::int64_t index, const BatchLayout& layout, std::int64_t m, Batch& batch) const {
  const std::int64_t batches = validation_batches();
  if (index >= batches) throw internal_error("data", "validation batch {} of {}", index, batches);
  const std::int64_t first = first_sample(index, layout, m);
  batch.resize(layout.micro_batch, config_.seq_len);
  std::vector<std::int32_t> scratch;
  for (std::int64_t row = 0; row < layout.micro_batch; ++row) {
    if (first + row < order_->validation_samples()) {
      put(order_->validation_sample(first + row), row, batch, scratch);
    } else {
      std::fill_n(batch.tokens.begin() + row * config_.seq_len, config_.seq_len, 0);
      std::fill_n(batch.targets.begin() + row * config_.seq_len, config_.seq_len, -1);
    }
  }
}

std::int64_t Sampler::validation_targets(std::int64_t batches, const WorkShare& share) const {
  const std::int64_t samples = std::min(batches * config_.global_batch, order_->validation_samples());
  if (config_.loss_on_first) return share.of(samples) * config_.seq_len;
  std::int64_t targets = 0;
  std::vector<std::int32_t> scratch;
  for (std::int64_t v = share.first; v < samples; v += share.every) {
    targets += work_of(order_->validation_sample(v), scratch).targets;
  }
  return targets;
}

std::uint64_t Sampler::fingerprint() const {
  return fingerprint_of(data());
}

std::uint64_t Sampler::fingerprint_of(const DataConfig& data) const {
  std::vector<std::uint64_t> parts = {static_cast<std::uint64_t>(config_.seq_len),
                                      static_cast<std::uint64_t>(config_.global_batch), config_.seed,
                                      std::bit_cast<std::uint64_t>(config_.validation_fraction)};
  for (std::size_t i = 0; i < data.train.size(); ++i) parts.push_back(files_.at(i).fingerprint());
  const auto key = SourceTurns(data.history.order, stages_of(data), config_.global_batch).key();
  parts.insert(parts.end(), key.begin(), key.end());
  return XXH3_64bits(parts.data(), parts.size() * sizeof parts[0]);
}

}  // namespace octet
