#include "src/comm/host_exchange.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

void check_host(const Communicator& group) {
  if (group.stream().device().type() == DeviceType::cpu) return;
  throw internal_error("comm", "group {} is of device memory, expected one on a CPU stream", group.name());
}

}  // namespace

std::vector<std::string> gather_bytes(const std::string& mine, Communicator& group) {
  check_host(group);
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto own = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(ranks);
  group.all_gather(&own, lengths.data(), sizeof own, DType::u8);

  const auto most = static_cast<std::size_t>(*std::ranges::max_element(lengths));
  std::vector<std::string> parts(ranks);
  if (most == 0) return parts;
  std::string padded = mine;
  padded.resize(most, '\0');
  std::string all(most * ranks, '\0');
  group.all_gather(padded.data(), all.data(), static_cast<std::int64_t>(most), DType::u8);
  for (std::size_t r = 0; r < ranks; ++r) parts[r] = all.substr(r * most, static_cast<std::size_t>(lengths[r]));
  return parts;
}

std::string broadcast_bytes(const std::string& of_root, int root, Communicator& group) {
  check_host(group);
  auto length = static_cast<std::int64_t>(of_root.size());
  group.broadcast(&length, sizeof length, DType::u8, root);
  std::string text = group.rank() == root ? of_root : std::string(static_cast<std::size_t>(length), '\0');
  if (length > 0) group.broadcast(text.data(), length, DType::u8, root);
  return text;
}

void largest(std::int32_t* values, std::int64_t count, Communicator& group) {
  check_host(group);
  group.all_reduce(values, count, DType::i32, ReduceOp::max);
}

std::int32_t largest(std::int32_t mine, Communicator& group) {
  largest(&mine, 1, group);
  return mine;
}

}  // namespace octet
