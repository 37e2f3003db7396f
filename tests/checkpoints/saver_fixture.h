#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/virtual_run.h"

namespace octet::checkpoint::test {

/// A run of all ranks, each with a shard of the example tensors, and a root that they share. Tests are collective.
class SaverTest : public testing::Test {
 public:
  ~SaverTest() override { world_->barrier(); }  // others may still read what rank 0 will remove

 protected:
  SaverTest() : stream_(cpu_device().make_stream()), world_(make_mpi_communicator(*stream_, "world")) {
    if (world_->rank() == 0) directory_ = std::make_unique<TemporaryDirectory>();
    root_ = broadcast_bytes(directory_ ? *directory_ / "checkpoints" : "", 0, *world_);
    mine_ = std::make_unique<VirtualRank>(world_->rank(), world_->size());
  }
  int rank() const { return world_->rank(); }
  int size() const { return world_->size(); }
  bool last() const { return rank() == size() - 1; }

  Saver make_saver(int keep_last = 3, std::int64_t keep_every = 0) {
    const SaverOptions options{
        .root = root_, .keep_last = keep_last, .keep_every = keep_every, .writers_per_node = writers_per_node_};
    return Saver(options, *world_, *stream_);
  }
  void start(Saver& saver, std::int64_t step) {
    mine_->set(step);
    saver.start(state_at(step), mine_->pieces());
    mine_->set(step + 1);  // training goes on and must not show in the checkpoint
  }
  SaveReport save(Saver& saver, std::int64_t step) {
    start(saver, step);
    const std::optional<SaveReport> report = saver.finish();
    EXPECT_TRUE(report.has_value());
    return report.value_or(SaveReport{});
  }
  std::optional<Found> find() { return find_newest_valid(root_, *world_); }
  std::string path_of(std::int64_t step) const { return root_ + "/" + directory_name(step); }

  /// Steps of the committed checkpoints, newest first; between barriers, so that all ranks see the same.
  Steps steps() {
    world_->barrier();
    Steps found;
    for (const std::string& path : list_checkpoints(root_)) found.push_back(step_of(path).value());
    world_->barrier();
    return found;
  }
  /// Rank 0 alone does it, the others wait.
  void on_rank_0(const std::function<void()>& work) {
    if (rank() == 0) work();
    world_->barrier();
  }
  /// The error that `work` throws, which must be the same on every rank.
  std::string common_error(const std::function<void()>& work) {
    std::string text;
    try {
      work();
      ADD_FAILURE() << "nothing was thrown on rank " << rank();
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_EQ(text, broadcast_bytes(text, 0, *world_));
    return text;
  }

  std::unique_ptr<TemporaryDirectory> directory_;  ///< rank 0's
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicator> world_;
  std::string root_;
  std::unique_ptr<VirtualRank> mine_;
  int writers_per_node_ = 0;  ///< of the savers made from now on
};

}  // namespace octet::checkpoint::test
