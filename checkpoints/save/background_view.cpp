#include "checkpoints/save/background_view.h"

#include <exception>

#include "checkpoints/format/view.h"
#include "checkpoints/save/file_wait.h"
#include "src/base/log.h"

namespace octet::checkpoint {
namespace {

/// For people, and no part of the checkpoint: that it cannot be made is no failure.
void make_view(const std::string& directory, const Owner& owner) {
  try {
    owner.check();
    ensure_view(directory);
  } catch (const std::exception& error) {
    log::warning("{} (the checkpoint is whole without its view.h5)", error.what());
  }
}

}  // namespace

/// One thread at a time calls HDF5: this begins when all is written, and the next write waits for it.
void BackgroundView::start(const std::string& directory, std::int64_t pieces, const Owner& owner) {
  if (pieces > most_pieces_) {
    if (!told_) {
      log::info(
          "{}: is whole, and has no view.h5, which a run makes of {} pieces at most, and this has {}; octet checkpoint "
          "view makes it of this and of later ones",
          directory, most_pieces_, pieces);
    }
    told_ = true;
    return;
  }
  try {
    running_ = std::async(std::launch::async, make_view, directory, owner).share();
    path_ = directory + "/" + view_name;
  } catch (const std::exception& error) {
    log::warning("{}: no thread for its view.h5: {}", directory, error.what());
  }
}

bool BackgroundView::is_made(std::chrono::seconds patience) const {
  return !running_.valid() || running_.wait_for(patience) != std::future_status::timeout;
}

void BackgroundView::wait(Communicator& control) const {
  if (!is_made(std::chrono::seconds(1))) {
    log::info(
        "waiting for the view.h5 of the last checkpoint, which is whole without it; octet checkpoint view makes it "
        "too");
  }
  wait_for_files("wait for the view of a checkpoint", path_, control, [&] { return is_made(std::chrono::seconds(0)); });
}

}  // namespace octet::checkpoint
