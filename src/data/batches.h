#pragma once

#include <cstdint>
#include <vector>

namespace octet {

/// A data-parallel rank's place. Its part of a global batch is the contiguous range of global_batch / ranks samples
/// from rank * global_batch / ranks on, in micro-batches of micro_batch.
struct BatchLayout {
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  std::int64_t micro_batch = 1;
};

/// Row-major [micro_batch, seq_len] both. targets[i] is the token after tokens[i]; -1 marks a position that does not
/// count towards loss (padding of the last validation batch).
struct Batch {
  std::int64_t micro_batch = 0;
  std::int64_t seq_len = 0;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  /// [micro_batch, seq_len]: where in its row the document of a token begins (data.document_mask). Empty where every
  /// row is one document.
  std::vector<std::int32_t> document_begin{};

  void resize(std::int64_t sequences, std::int64_t tokens_each);
};

/// What a step computes, over all ranks.
struct StepWork {
  std::int64_t targets = 0;  ///< tokens that count towards the loss
  /// The sum of the squares of the documents' lengths, with which attention's work grows.
  std::int64_t pairs_of_tokens = 0;

  StepWork& operator+=(const StepWork& other) {
    targets += other.targets;
    pairs_of_tokens += other.pairs_of_tokens;
    return *this;
  }
  bool operator==(const StepWork&) const = default;
};

/// Samples `first`, first + `every` and so on of a global batch, or of those validated on; by default all of them.
struct WorkShare {
  std::int64_t first = 0;
  std::int64_t every = 1;

  /// How many of so many samples these are.
  std::int64_t of(std::int64_t samples) const;
};

/// Where a trainer's batches come from: a run's Sampler, or nowhere (DryBatches).
class Batches {
 public:
  virtual ~Batches() = default;

  /// Micro-batches a step of every rank. Usage error unless ranks * micro_batch divides the global batch.
  virtual std::int64_t micro_batches(const BatchLayout& layout) const = 0;
  /// Micro-batch m of the rank's part of global batch `step`; reuses the batch's memory. Usage error for a token id
  /// that is not in the vocabulary.
  virtual void train_batch(std::int64_t step, const BatchLayout& layout, std::int64_t m, Batch& batch) const = 0;

  /// Says whether the work of every step is the same.
  virtual bool has_equal_steps() const = 0;
  /// Of those samples of global batch `step`, any step from 0 on. With document masks it looks each of them up in the
  /// index of its file, about 4 us a sample, so that the ranks share it (src/train/step/step_works.h).
  virtual StepWork step_work(std::int64_t step, const WorkShare& share) const = 0;
  StepWork step_work(std::int64_t step) const { return step_work(step, WorkShare{}); }

  /// Global batches that hold the validation split; the last is padded. Usage error when the split is empty.
  virtual std::int64_t validation_batches() const = 0;
  /// The same as train_batch, for global validation batch `index` in [0, validation_batches()).
  virtual void validation_batch(std::int64_t index, const BatchLayout& layout, std::int64_t m, Batch& batch) const = 0;
  /// Targets of those samples of the first `batches` validation batches. Costs as step_work where not every window has
  /// as many, so that the ranks share it too.
  virtual std::int64_t validation_targets(std::int64_t batches, const WorkShare& share) const = 0;
  std::int64_t validation_targets(std::int64_t batches) const { return validation_targets(batches, WorkShare{}); }
};

/// Global batches of `global_batch` samples of `seq_len` tokens, all of token 0, for steps that compute nothing; one of
/// them is the validation split.
class DryBatches final : public Batches {
 public:
  DryBatches(std::int64_t global_batch, std::int64_t seq_len) : global_batch_(global_batch), seq_len_(seq_len) {}

  std::int64_t micro_batches(const BatchLayout& layout) const override;
  void train_batch(std::int64_t step, const BatchLayout& layout, std::int64_t m, Batch& batch) const override;
  bool has_equal_steps() const override { return true; }
  using Batches::step_work;
  StepWork step_work(std::int64_t step, const WorkShare& share) const override;
  std::int64_t validation_batches() const override { return 1; }
  void validation_batch(std::int64_t index, const BatchLayout& layout, std::int64_t m, Batch& batch) const override;
  using Batches::validation_targets;
  std::int64_t validation_targets(std::int64_t batches, const WorkShare& share) const override {
    return share.of(batches * global_batch_) * seq_len_;
  }

 private:
  std::int64_t global_batch_, seq_len_;
};

/// global_batch / (ranks * micro_batch). Usage error with the numbers where that is no integer.
std::int64_t micro_batches_of(std::int64_t global_batch, const BatchLayout& layout);

}  // namespace octet
