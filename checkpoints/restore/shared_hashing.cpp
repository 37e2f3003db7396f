#include "checkpoints/restore/shared_hashing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stop_token>
#include <utility>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/restore/on_threads.h"
#include "src/comm/control_exchange.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {
namespace {

constexpr std::size_t most_named = 3;

/// Called after each block that was read.
using AfterBlock = std::function<void(std::int64_t bytes)>;

/// One open file is looked at, read and hashed. What is wrong with it; empty when nothing is.
std::string judge(const std::string& path, const StoredFile& expected, const AfterBlock& after_block) {
  const files::InputFile file(path);
  const std::int64_t bytes = file.size();
  if (bytes != expected.bytes) {  // no need to read it all
    return fmt::format("{}: found {} bytes, expected {}", path, bytes, expected.bytes);
  }
  const StoredFile found = hash_file(file, expected.name, after_block);
  if (found.hash == expected.hash && found.bytes == expected.bytes) return {};
  return fmt::format("{}: found hash {}, expected {}", path, found.hash, expected.hash);
}

/// Tells the one who waits what is read: of several files at a time one that is still being read.
class FilesInWork {
 public:
  explicit FilesInWork(files::ReadProgress& progress) : progress_(progress) {}

  /// One of them, for as long as this lives.
  class One {
   public:
    One(FilesInWork& all, const std::string& path) : all_(all), path_(path) { all_.begin(path_); }
    ~One() { all_.end(path_); }
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    FilesInWork& all_;
    const std::string& path_;
  };

 private:
  void begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(path);
    progress_.begin(path);
  }
  void end(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
    if (!paths_.empty()) progress_.begin(*paths_.begin());
  }

  files::ReadProgress& progress_;
  std::mutex mutex_;
  std::set<std::string> paths_;
};

}  // namespace

std::vector<std::size_t> share_of(int rank, int ranks, const std::vector<StoredFile>& files) {
  std::vector<std::size_t> mine;
  if (files.size() <= static_cast<std::size_t>(ranks)) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (i * static_cast<std::size_t>(ranks) / files.size() == static_cast<std::size_t>(rank)) mine.push_back(i);
    }
    return mine;
  }
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return files[i].bytes; });
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks));
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    *least += std::max<std::int64_t>(files[i].bytes, 1);
    if (least - loads.begin() == rank) mine.push_back(i);
  }
  return mine;
}

void Findings::add(std::string what) {
  if (wrong.size() < most_named) {
    wrong.push_back(std::move(what));
  } else {
    ++more;
  }
}

std::string Findings::text() const {
  std::string text = fmt::format("{}", fmt::join(wrong, "; "));
  if (more > 0) text += fmt::format("; and {} more file{}", more, more == 1 ? "" : "s");
  return text;
}

Findings hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                    int threads, files::ReadProgress& progress, ReadPace* pace) {
  const std::vector<std::size_t> mine = share_of(rank, ranks, files);
  std::vector<std::string> wrong(mine.size());
  FilesInWork in_work(progress);
  on_threads(mine.size(), threads, [&](std::size_t i, const std::stop_token& stop) {
    const StoredFile& file = files[mine[i]];
    const std::string path = directory + "/" + file.name;
    const auto after_block = [&](std::int64_t bytes) {
      progress.add(bytes);
      if (stop.stop_requested()) throw files::ReadStopped{};
      if (pace != nullptr) pace->rest();
    };
    const FilesInWork::One in_hand(in_work, path);
    try {
      files::with_retries(progress, [&] {
        if (stop.stop_requested()) throw files::ReadStopped{};
        wrong[i] = judge(path, file, after_block);
      });
    } catch (const files::ReadError& error) {
      progress.fail(error);  // is told though another read may hang
      throw;
    }
  });
  Findings findings;
  for (std::string& what : wrong) {
    if (!what.empty()) findings.add(std::move(what));
  }
  return findings;
}

Findings try_hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                        files::ReadProgress& progress, ReadPace& pace) {
  try {
    pace.begin();
    return hash_share(directory, files, rank, ranks, 1, progress, &pace);
  } catch (const files::ReadStopped&) {
    return {.wrong = {directory + ": was not read to the end"}, .complete = false};
  } catch (const files::ReadError& error) {
    return {.wrong = {error.what()}, .complete = false};
  }
}

Findings of_all_ranks(const Findings& mine, Communicator& control) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.complete), mine.more, std::ssize(mine.wrong));
  for (const std::string& wrong : mine.wrong) packer.put(wrong);
  Findings all;
  for (const std::string& bytes : gather_bytes(packer.bytes(), control)) {
    Unpacker unpacker(bytes);
    if (unpacker.take<std::uint8_t>() == 0) all.complete = false;
    all.more += unpacker.take<std::int64_t>();
    for (auto left = unpacker.take<std::ptrdiff_t>(); left > 0; --left) all.add(unpacker.take_text());
    unpacker.expect_end();
  }
  return all;
}

}  // namespace octet::checkpoint
