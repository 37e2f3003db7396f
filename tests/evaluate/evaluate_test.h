#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/evaluate/model_scorer.h"
#include "src/evaluate/model_source.h"

namespace octet::test {

/// A model of the disk on all ranks, or on each rank alone, with its scorer.
class LoadedModel {
 public:
  struct Options {
    int tp = 1;
    Precision precision = Precision::fp32;
    std::string recipe = "tensorwise";
    std::int64_t row_tokens = 64;
    bool alone = false;
  };

  LoadedModel(const std::string& path, const Options& options)
      : control_(options.alone ? make_self_communicator(*stream_, "control")
                               : make_mpi_communicator(*stream_, "control")),
        mesh_(control_->on_stream(*stream_, "world"), {.dp_shard = control_->size() / options.tp, .tp = options.tp}),
        source_(find_model(path, *control_)),
        model_({.model = source_.model,
                .precision = options.precision,
                .float8 = {.recipe = options.recipe},
                .micro_batch = 1,
                .seq_len = options.row_tokens,
                .tp = {mesh_.tp().rank(), options.tp}},
               mesh_, *stream_),
        scorer_(model_, source_.window, mesh_, *control_) {
    load_weights(source_, model_, *stream_, *control_);
  }

  Scorer& scorer() { return scorer_; }
  const ModelSource& source() const { return source_; }

 private:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_;
  Mesh mesh_;
  ModelSource source_;
  ForwardModel model_;
  ModelScorer scorer_;
};

inline int ranks() {
  const auto stream = cpu_device().make_stream();
  return make_mpi_communicator(*stream, "ranks")->size();
}

inline const std::string golden_folder = OCTET_SOURCE_DIR "/tests/evaluate/golden";

}  // namespace octet::test
