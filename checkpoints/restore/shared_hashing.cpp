#include "checkpoints/restore/shared_hashing.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/shard_file.h"
#include "src/comm/host_exchange.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {
namespace {

std::vector<std::size_t> share_of(int rank, int ranks, const std::vector<StoredFile>& files) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return files[i].bytes; });
  std::vector<std::size_t> mine;
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks));
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    *least += std::max<std::int64_t>(files[i].bytes, 1);
    if (least - loads.begin() == rank) mine.push_back(i);
  }
  return mine;
}

void add(std::string& all, const std::string& more) {
  if (!more.empty() && !all.empty()) all += "; ";
  all += more;
}

/// One open file is looked at, read and hashed. What is wrong with it; empty when nothing is.
std::string judge(const std::string& path, const StoredFile& expected, files::ReadProgress& progress) {
  const files::InputFile file(path);
  const std::int64_t bytes = file.size();
  if (bytes != expected.bytes) {  // no need to read it all
    return fmt::format("{}: found {} bytes, expected {}", path, bytes, expected.bytes);
  }
  const StoredFile found = hash_file(file, expected.name, [&](std::int64_t read) { progress.add(read); });
  if (found.hash == expected.hash && found.bytes == expected.bytes) return {};
  return fmt::format("{}: found hash {}, expected {}", path, found.hash, expected.hash);
}

}  // namespace

Findings hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                    files::ReadProgress& progress) {
  Findings findings;
  for (const std::size_t i : share_of(rank, ranks, files)) {
    const std::string path = directory + "/" + files[i].name;
    progress.begin(path);
    files::with_retries(progress, [&] { add(findings.wrong, judge(path, files[i], progress)); });
  }
  return findings;
}

Findings try_hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                        files::ReadProgress& progress) {
  try {
    return hash_share(directory, files, rank, ranks, progress);
  } catch (const files::ReadStopped&) {
    return {.wrong = directory + ": was not read to the end", .complete = false};
  } catch (const files::ReadError& error) {
    return {.wrong = error.what(), .complete = false};
  }
}

Findings together(const Findings& mine, Communicator& world) {
  Packer packer;
  packer.put(mine.wrong);
  packer.put(static_cast<std::uint8_t>(mine.complete));
  Findings all;
  for (const std::string& bytes : gather_bytes(packer.bytes(), world)) {
    Unpacker unpacker(bytes);
    add(all.wrong, unpacker.take_text());
    if (unpacker.take<std::uint8_t>() == 0) all.complete = false;
  }
  return all;
}

}  // namespace octet::checkpoint
