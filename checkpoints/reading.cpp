#include "checkpoints/reading.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "src/base/log.h"

namespace octet::checkpoint {
namespace {

using std::chrono::milliseconds;

constexpr std::array pauses{milliseconds(500), milliseconds(1000), milliseconds(2000)};

bool may_pass(const ReadError& error) {
  if (error.error() == ENAMETOOLONG || error.error() == EACCES || error.error() == EPERM) return false;
  if (error.error() != ENOENT) return true;
  std::error_code ignored;
  return !std::filesystem::is_directory(std::filesystem::path(error.path()).parent_path(), ignored);
}

void pause(milliseconds length, ReadProgress& progress) {
  for (milliseconds slept{}; slept < length; slept += milliseconds(50)) {
    progress.add(0);
    std::this_thread::sleep_for(milliseconds(50));
  }
}

}  // namespace

void with_retries(ReadProgress& progress, const std::function<void()>& work) {
  for (const milliseconds length : pauses) {
    try {
      return work();
    } catch (const ReadError& error) {
      if (!may_pass(error)) throw;
      log::write_of_rank(log::Level::warning, fmt::format("{}; tried again in {} s", error.what(),
                                                          static_cast<double>(length.count()) / 1000));
    }
    pause(length, progress);
  }
  try {
    work();
  } catch (const ReadError& error) {
    log::write_of_rank(log::Level::warning, fmt::format("{}; given up", error.what()));
    throw;
  }
}

}  // namespace octet::checkpoint
