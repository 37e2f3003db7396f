#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/data/token_writer.h"
#include "src/train/step/trainer.h"

namespace octet {

/// All ranks of the test program, a folder that they share with a small token file in it, and the configuration of a
/// tiny model that trains on that.
class TrainerTest : public testing::Test {
 protected:
  TrainerTest() : stream_(cpu_device().make_stream()), world_(make_mpi_communicator(*stream_, "files")) {
    std::int32_t id = getpid();
    world_->broadcast(&id, 1, DType::i32, 0);
    folder_ = std::filesystem::temp_directory_path() / fmt::format("octet-trainer-{}", id);
    if (world_->rank() == 0) write_data();
    world_->barrier();
    // Odd dimensions, so that 2, 3 and 4 ranks all pad.
    config_.model = {.name = "odd",
                     .dim = 20,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 1,
                     .head_dim = 6,
                     .ffn_dim = 27,
                     .vocab_size = 50};
    config_.precision = Precision::fp32;
    config_.seed = 7;
    config_.train.seq_len = seq;
    config_.train.global_batch = batch;
    config_.data.train = {{folder_ / "data", 1.0}};
    config_.data.validation_fraction = 0.1;
  }
  ~TrainerTest() override {
    world_->barrier();
    std::error_code ignored;
    if (world_->rank() == 0) std::filesystem::remove_all(folder_, ignored);
  }

  void write_data() const {
    std::filesystem::create_directories(folder_);
    TokenFileWriter writer(folder_ / "data", TokenType::u8);
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 1500; ++i) ids.push_back(i * i % 47);
    writer.append(ids);
    writer.end_document();
    writer.finish();
  }

  /// The same tokens in many documents, of which some have one token.
  std::string write_documents() const {
    if (world_->rank() == 0) {
      TokenFileWriter writer(folder_ / "documents", TokenType::u8);
      for (std::int32_t i = 0, length = 1; i < 1500; i += length, length = i * 7 % 23 + 1) {
        std::vector<std::int32_t> ids;
        for (std::int32_t j = i; j < std::min(i + length, 1500); ++j) ids.push_back(j * j % 47);
        writer.append(ids);
        writer.end_document();
      }
      writer.finish();
    }
    world_->barrier();
    return folder_ / "documents";
  }

  /// One step, and its result at once.
  static StepResult train_step(Trainer& trainer, std::int64_t step) {
    trainer.launch(step);
    return trainer.collect();
  }

  static constexpr std::int64_t batch = 12, seq = 16;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicator> world_;
  std::filesystem::path folder_;
  RunConfig config_;
};

}  // namespace octet
