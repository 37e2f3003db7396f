#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <string>

#include "checkpoints/format/owner.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// The most pieces of which a run makes a view: HDF5 needs 1 to 2 seconds of rank 0 for so many. While it makes that of
/// a larger one, the file that rank 0 writes for the next checkpoint would wait, and at a run's end all GPUs.
inline constexpr std::int64_t most_viewed_pieces = 100'000;

/// The view.h5 of the checkpoint that was committed last, which a thread of rank 0 makes. It is for people, and no part
/// of the checkpoint: that it cannot be made is a warning. It is waited for when this goes.
class BackgroundView {
 public:
  explicit BackgroundView(std::int64_t most_pieces) : most_pieces_(most_pieces) {}

  /// Begins to make the view of a committed checkpoint of so many pieces. Of more than the most it is not made, which
  /// the log says once, with the command that makes it. Rank 0.
  void start(const std::string& directory, std::int64_t pieces, const Owner& owner);
  /// What calls HDF5 until it is ready, for one thread at a time may; not valid where nothing does.
  const std::shared_future<void>& running() const { return running_; }
  /// Waits for it on every rank, and says so where it takes long. Collective.
  void wait(Communicator& control) const;

 private:
  bool is_made(std::chrono::seconds patience) const;

  std::int64_t most_pieces_;
  std::shared_future<void> running_;
  std::string path_;  ///< what that makes
  bool told_ = false;
};

}  // namespace octet::checkpoint
