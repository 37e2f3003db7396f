#include "checkpoints/restore/shared_hashing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

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

constexpr std::size_t most_named = 3;

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
                    files::ReadProgress& progress) {
  Findings findings;
  for (const std::size_t i : share_of(rank, ranks, files)) {
    const std::string path = directory + "/" + files[i].name;
    progress.begin(path);
    std::string wrong;
    files::with_retries(progress, [&] { wrong = judge(path, files[i], progress); });
    if (!wrong.empty()) findings.add(std::move(wrong));
  }
  return findings;
}

Findings try_hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                        files::ReadProgress& progress) {
  try {
    return hash_share(directory, files, rank, ranks, progress);
  } catch (const files::ReadStopped&) {
    return {.wrong = {directory + ": was not read to the end"}, .complete = false};
  } catch (const files::ReadError& error) {
    return {.wrong = {error.what()}, .complete = false};
  }
}

Findings of_all_ranks(const Findings& mine, Communicator& world) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.complete), mine.more, std::ssize(mine.wrong));
  for (const std::string& wrong : mine.wrong) packer.put(wrong);
  Findings all;
  for (const std::string& bytes : gather_bytes(packer.bytes(), world)) {
    Unpacker unpacker(bytes);
    if (unpacker.take<std::uint8_t>() == 0) all.complete = false;
    all.more += unpacker.take<std::int64_t>();
    for (auto left = unpacker.take<std::ptrdiff_t>(); left > 0; --left) all.add(unpacker.take_text());
    unpacker.expect_end();
  }
  return all;
}

}  // namespace octet::checkpoint
