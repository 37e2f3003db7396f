#include "checkpoints/reading.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "src/base/log.h"

namespace octet::checkpoint {
namespace {

using std::chrono::milliseconds;

constexpr std::array pauses{milliseconds(500), milliseconds(1000), milliseconds(2000)};

/// Shorter for tests, which have no file system that needs the time.
milliseconds shortened(milliseconds pause) {
  const char* for_tests = std::getenv("OCTET_TEST_PAUSES");
  const double factor = for_tests == nullptr ? 0 : std::atof(for_tests);
  return factor > 0 ? milliseconds(static_cast<int>(static_cast<double>(pause.count()) * factor)) : pause;
}

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
  for (const milliseconds full : pauses) {
    const milliseconds length = shortened(full);
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
