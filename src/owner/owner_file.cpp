#include "src/owner/owner_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"

namespace octet {
namespace {

constexpr int most_tries = 100;  // of a claim; each next one means that another was faster

/// Nothing where there is no such file. A network file system can lose a file between its name and its content when it
/// is replaced (ESTALE): the name then leads to another one. One failed read (EIO) says little of a network's disk.
std::optional<std::string> read_text(const std::string& path) {
  for (int tries = 0;; ++tries) {
    const FileHandle file = open_to_read(path.c_str());
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file && errno == ENOTSUP) return "";  // it names nobody
    std::array<char, 4096> text{};             // a record has a few hundred bytes
    const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (n >= 0) return std::string(text.data(), static_cast<std::size_t>(n));
    if ((errno != ESTALE && errno != EINTR && errno != EIO) || tries == 10) {
      throw internal_error("owner", "{}: cannot be read: {}", path, std::strerror(errno));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::optional<OwnerRecord> read_record(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  if (auto record = parse_owner(*text)) return record;
  throw usage_error("owner", "{}: does not say who owns the run directory; remove it when no run is at work there",
                    path);
}

Error refused_by_system(const std::string& path) {
  return not_written("owner", "run.dir: " + path);
}

Error refuse(const std::string& run_dir, const OwnerStanding& other) {
  const std::string heard = other.age_seconds ? fmt::format("last heard of {:.0f} s ago", *other.age_seconds)
                                              : "when it was last heard of cannot be told";
  return usage_error("owner",
                     "run.dir = {}: another run is at work there: {}; {}. Wait until that run has ended, end it (a "
                     "file named stop in the directory makes it save and end), or choose another directory. If that "
                     "run is gone already, a new start takes the directory over as soon as it can tell, at the latest "
                     "after {:.0f} s of silence (docs/problems.md, \"The run directory is in use\")",
                     run_dir, describe_fully(other.owner), heard, owner_patience_seconds());
}

/// The record in a file that nobody else has, on the disk, open for writing.
FileHandle write_record(const std::string& path, const OwnerRecord& record) {
  FileHandle file = open_to_write(path.c_str(), O_RDWR | O_TRUNC);
  if (!file || !write_all(file.get(), to_json(record)) || ::fsync(file.get()) != 0) {
    const Error error = refused_by_system(path);
    ::unlink(path.c_str());
    throw error;
  }
  return file;
}

/// Whether `path` has got the second name `to`, which it alone can have. A server's answer can be lost, and the client
/// then finds the name taken, by itself: the count of names tells.
bool link_to(const std::string& path, const std::string& to, const FileHandle& file) {
  if (::link(path.c_str(), to.c_str()) == 0) return true;
  const int why = errno;
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && info.st_nlink == 2) return true;
  errno = why;
  if (why != EEXIST) throw refused_by_system(to);
  return false;
}

/// One way to a claim; its files but owner.json itself are removed at the end.
class Attempt {
 public:
  Attempt(std::string run_dir, OwnerRecord me, const Examine& examine)
      : run_dir_(std::move(run_dir)),
        me_(std::move(me)),
        examine_(examine),
        temporary_(fmt::format("{}.{}.tmp", owner_path(run_dir_), me_.name)) {}
  Attempt(const Attempt&) = delete;
  ~Attempt() { ::unlink(temporary_.c_str()); }

  /// Nothing where another was faster, and all is to be looked at again.
  std::optional<Claim> make() {
    const auto found = read_record(owner_path(run_dir_));
    const std::int64_t before = found ? found->generation : 0;
    std::optional<OwnerStanding> standing;
    if (found) standing = examined(*found, owner_path(run_dir_));
    if (!take_turn(before + 1)) return std::nullopt;
    const auto now = read_record(owner_path(run_dir_));  // the turn may be one that others have had long ago
    const bool same = now.has_value() == found.has_value() && (!now || now->name == found->name);
    if (same && std::rename(temporary_.c_str(), owner_path(run_dir_).c_str()) != 0) {
      const Error error = refused_by_system(owner_path(run_dir_));
      ::unlink(claim_path(me_.generation).c_str());
      throw error;
    }
    for (std::int64_t g = same ? before + 1 : me_.generation; g <= me_.generation; ++g) {
      ::unlink(claim_path(g).c_str());
    }
    if (!same) return std::nullopt;
    return Claim{me_, std::move(file_), standing};
  }

 private:
  std::string claim_path(std::int64_t generation) const {
    return fmt::format("{}.claim-{}", owner_path(run_dir_), generation);
  }

  OwnerStanding examined(const OwnerRecord& owner, const std::string& file) const {
    OwnerStanding standing = examine_(owner, file);
    if (!standing.gone()) throw refuse(run_dir_, standing);
    return standing;
  }

  /// Takes the first generation from this on that no one at work has claimed.
  bool take_turn(std::int64_t generation) {
    for (;; ++generation) {
      me_.generation = generation;
      file_ = write_record(temporary_, me_);
      if (link_to(temporary_, claim_path(generation), file_)) return true;
      const auto other = read_record(claim_path(generation));
      if (!other) return false;  // that one owns the directory by now, or gave up
      examined(*other, claim_path(generation));
    }
  }

  std::string run_dir_;
  OwnerRecord me_;
  const Examine& examine_;
  std::string temporary_;
  FileHandle file_;
};

}  // namespace

std::string owner_path(const std::string& run_dir) {
  return run_dir + "/owner.json";
}

std::optional<OwnerRecord> read_owner(const std::string& run_dir) {
  return read_record(owner_path(run_dir));
}

Claim claim_directory(const std::string& run_dir, OwnerRecord me, const Examine& examine) {
  Attempt attempt(run_dir, std::move(me), examine);
  for (int tries = 0; tries < most_tries; ++tries) {
    if (auto claim = attempt.make()) return std::move(*claim);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw internal_error("owner",
                       "{}: this start could not claim the run directory, since other starts claimed it and gave it up "
                       "again at every try; start again",
                       owner_path(run_dir));
}

void OwnerMark::verify() const {
  if (name.empty()) return;
  const auto owner = read_owner(run_dir);
  if (!owner || owner->name == name) return;
  throw Error(
      ExitCode::lost_peer,
      fmt::format("[owner] run.dir = {}: is another run's now: {}. This one ({}) had not been heard of, and was "
                  "taken for gone; it writes nothing there any more",
                  run_dir, describe(*owner), name));
}

bool OwnerMark::holds() const noexcept {
  try {
    verify();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace octet
