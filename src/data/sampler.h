#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/error.h"
#include "src/data/batches.h"
#include "src/data/data_config.h"
#include "src/data/sample_order.h"
#include "src/data/token_file.h"

namespace octet {

struct SamplerConfig {
  std::int64_t seq_len = 0;       ///< tokens a sample
  std::int64_t global_batch = 0;  ///< samples a step, over all ranks
  std::int64_t vocab_size = 0;
  std::uint64_t seed = 0;
  double validation_fraction = 0;
  bool document_mask = false;  ///< batches say where documents begin
  bool loss_on_first = true;   ///< with document_mask: the first token of a document counts as a target
  std::vector<WeightChange> changes{};
  DataHistory history{};
  std::string origin{};  ///< DataConfig::origin
};

/// Samples of a training run: a pure function of (files, configuration, step), the same for every number of ranks.
///
/// A source of T tokens has (T - 1) / seq_len windows of seq_len + 1 tokens with stride seq_len (the last token of
/// one is the first of the next), across document borders; a rest shorter than a window is left out. SampleOrder
/// says which window is sample step * global_batch + i. Const members may be called from several threads.
class Sampler final : public Batches {
 public:
  /// Usage errors for missing or damaged files, weights and changes that are no mixture (check_mixture), a source
  /// without a window, and a source whose training windows are fewer than its share of one global batch in any stage.
  Sampler(const std::vector<DataSource>& sources, const SamplerConfig& config);
  /// Of files that are open already, one for each source, in their order; errors as above.
  Sampler(const std::vector<DataSource>& sources, std::vector<TokenFile> files, const SamplerConfig& config);

  std::int64_t micro_batches(const BatchLayout& layout) const override;
  void train_batch(std::int64_t step, const BatchLayout& layout, std::int64_t m, Batch& batch) const override;
  std::int64_t validation_batches() const override;
  void validation_batch(std::int64_t index, const BatchLayout& layout, std::int64_t m, Batch& batch) const override;
  using Batches::validation_targets;
  std::int64_t validation_targets(std::int64_t batches, const WorkShare& share) const override;
  bool has_equal_steps() const override { return !config_.document_mask; }
  using Batches::step_work;
  StepWork step_work(std::int64_t step, const WorkShare& share) const override;

  const SampleOrder& order() const { return *order_; }
  const SamplerConfig& config() const { return config_; }
  /// Sources, changes and history.
  DataConfig data() const;
  /// The sources' files, in the order of the configuration.
  const std::vector<TokenFile>& files() const { return files_; }
  /// The fingerprint of all that decides the order of data: files, weights, seq_len, global batch, fraction, seed.
  std::uint64_t fingerprint() const;
  /// The same for other weights, changes and history of the first sources: what this sampler's was, if its files still
  /// hold the same, when a run had those. Paths do not count.
  std::uint64_t fingerprint_of(const DataConfig& data) const;

  /// Orders the samples anew, for a run that goes on. Usage errors as of the constructor.
  void go_on_with(const DataHistory& history);

  /// The seq_len + 1 tokens of a window.
  void read_window(const Sample& sample, std::vector<std::int32_t>& tokens) const;

 private:
  void make_order();
  void check_sizes() const;
  std::int64_t first_sample(std::int64_t batch_index, const BatchLayout& layout, std::int64_t m) const;
  void put(const Sample& sample, std::int64_t row, Batch& batch, std::vector<std::int32_t>& scratch) const;
  /// Of the seq_len + 1 tokens of a window.
  void find_window_documents(const Sample& sample, std::vector<std::int32_t>& begin) const;
  void put_documents(const Sample& sample, std::int64_t row, Batch& batch, std::vector<std::int32_t>& scratch) const;
  StepWork work_of(const Sample& sample, std::vector<std::int32_t>& scratch) const;

  std::vector<DataSource> sources_;
  SamplerConfig config_;
  std::vector<TokenFile> files_;
  std::unique_ptr<const SampleOrder> order_;
};

/// What is wrong with a file, told with the option that names it, and with the place `origin` where that is set.
Error error_of_data_train(const Error& error, const std::string& origin);

/// Windows of seq_len + 1 tokens with stride seq_len.
constexpr std::int64_t windows_of(std::int64_t tokens, std::int64_t seq_len) {
  return tokens > seq_len ? (tokens - 1) / seq_len : 0;
}

}  // namespace octet
