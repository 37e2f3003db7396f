#include "src/owner/lease.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/owner/evidence.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr int renewals = 20;         // in the time after which others take this run for gone
constexpr int watched_renewals = 2;  // which one that lives does while it is watched
constexpr int late = 4;  // 1 / late of that time without a renewal: then the run checks that it is still the owner

double seconds_of_machine() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The topmost of the folders to `path` that are missing.
std::string topmost_missing(const std::string& path) {
  std::error_code error;
  fs::path top;
  for (fs::path p = fs::absolute(path, error).lexically_normal(); !fs::exists(p, error) && p.has_relative_path();
       p = p.parent_path()) {
    if (p.has_filename()) top = p;
  }
  return top;
}

/// Durably: what is synced below it later is only there when it is.
void make_folders(const std::string& path, const std::string& topmost) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    errno = error.value();  // a disk that fails is no mistake of the command
    throw Error(not_written("owner", path).code(),
                fmt::format("[owner] run.dir = {}: cannot be made: {}", path, error.message()));
  }
  if (topmost.empty()) return;
  for (fs::path p = fs::absolute(path).lexically_normal(); p.has_relative_path(); p = p.parent_path()) {
    if (!sync_folder(p.parent_path())) {
      throw internal_error("owner", "{}: cannot be synced: {}", p.parent_path().string(), std::strerror(errno));
    }
    if (p == topmost) break;
  }
}

/// As examine() judges. One that is gone by nothing but its silence, of which Slurm does not say that it is gone
/// either, is watched before its directory is taken: its age may be the difference of two machines' clocks, and both
/// would write there then.
OwnerStanding examine_and_watch(const OwnerRecord& owner, const std::string& file, const JobLaunch& mine,
                                double patience, const std::function<void()>& while_watched) {
  OwnerStanding standing = examine(owner, file, mine, patience);
  if (standing.state != OwnerState::silent) return standing;
  if (ask_slurm(owner.job) == true) return {owner, OwnerState::job_over, standing.age_seconds};
  const double watch = patience * watched_renewals / renewals;
  log::info("{}: {} was last heard of {:.0f} s ago, as clocks here say; its file is watched for {:.0f} s", file,
            describe(owner), standing.age_seconds.value_or(0), watch);
  if (is_renewed_within(file, watch, while_watched)) return {owner, OwnerState::at_work, 0};
  return standing;
}

Claim claim_run_dir(const std::string& run_dir, const std::string& topmost_missing, double patience,
                    const std::function<void()>& while_watched) {
  make_folders(run_dir, topmost_missing);
  OwnerRecord me = this_process();
  const JobLaunch mine = me.job;
  return claim_directory(run_dir, std::move(me), [&](const OwnerRecord& owner, const std::string& file) {
    return examine_and_watch(owner, file, mine, patience, while_watched);
  });
}

/// Folders that are empty, from the deepest of them up to `top`.
void remove_empty(fs::path folder, const std::string& top) {
  std::error_code error;
  for (folder = fs::absolute(folder, error).lexically_normal(); !error; folder = folder.parent_path()) {
    if (!folder.has_filename()) continue;
    if (::rmdir(folder.c_str()) != 0 || folder == top) return;
  }
}

/// Says whether nothing else is in the folder.
bool has_one_entry(const std::string& folder) {
  std::error_code error;
  int entries = 0;
  for (fs::directory_iterator i(folder, error); !error && entries < 2 && i != fs::directory_iterator();
       i.increment(error)) {
    ++entries;
  }
  return !error && entries == 1;
}

}  // namespace

OwnerLease::OwnerLease(const std::string& run_dir, double patience, const std::function<void()>& while_watched)
    : made_(topmost_missing(run_dir)),
      patience_(patience),
      claim_(claim_run_dir(run_dir, made_, patience, while_watched)),
      mark_{run_dir, claim_.mine.name},
      renewed_(seconds_of_machine()) {
  if (claim_.before && claim_.before->state != OwnerState::released) {
    log::warning("run.dir = {}: taken over from {}: {}", run_dir, describe(claim_.before->owner),
                 text_of(claim_.before->state));
  }
  thread_ = std::thread([this] { renew_until_stopped(); });
}

OwnerLease::~OwnerLease() {
  give_back();
}

void OwnerLease::give_back() noexcept {
  release();
  const std::string file = owner_path(mark_.run_dir);
  const bool unused = !made_.empty() && has_one_entry(mark_.run_dir);
  if (!unused || !mark_.holds() || ::unlink(file.c_str()) != 0) return;
  remove_empty(mark_.run_dir, made_);
}

void OwnerLease::verify_if_late() const {
  if (is_late(seconds_of_machine())) mark_.verify();
}

bool OwnerLease::is_late(double now) const {
  return now - renewed_ > patience_ / late;
}

void OwnerLease::release() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  const auto at = static_cast<std::int64_t>(to_json(claim_.mine).find(unreleased_text));
  if (!write_all_at(claim_.file.get(), at, released_text, std::strlen(released_text)) ||
      ::fsync(claim_.file.get()) != 0) {
    log::warning("{}: the end of the run could not be noted there: {}", owner_path(mark_.run_dir),
                 std::strerror(errno));
  }
}

void OwnerLease::renew_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(patience_ / renewals), [this] { return stop_; })) renew();
}

void OwnerLease::renew() {
  const double now = seconds_of_machine();  // before, since the server's time is set later
  // By now another run may have taken this one for gone and put its own file in place: renewing the old one would not
  // help then.
  if (is_late(now) && !mark_.holds()) return;
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = 0, .tv_nsec = UTIME_NOW}};  // the server's
  if (::futimens(claim_.file.get(), times) == 0) {
    renewed_ = now;
  } else if (!warned_) {
    warned_ = true;
    log::warning(
        "{}: the mark that this run is at work cannot be renewed: {}; after {:.0f} s without it another start may take "
        "over the run directory",
        owner_path(mark_.run_dir), std::strerror(errno), patience_);
  }
}

}  // namespace octet
