#include "src/comm/control_exchange.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

void expect_cpu_stream(const Communicator& group) {
  if (group.stream().device().type() == DeviceType::cpu) return;
  throw internal_error("comm", "group {} is of device memory, expected one on a CPU stream", group.name());
}

}  // namespace

std::vector<std::string> gather_bytes(const std::string& mine, Communicator& group) {
  expect_cpu_stream(group);
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

std::vector<std::string> gather_bytes_to(int root, const std::string& mine, Communicator& group) {
  expect_cpu_stream(group);
  const auto own = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(group.size()));
  group.all_gather(&own, lengths.data(), sizeof own, DType::u8);
  if (group.rank() != root) {
    if (own > 0) group.send(mine.data(), own, DType::u8, root);
    return {};
  }
  std::vector<std::string> parts(lengths.size());
  for (int r = 0; r < group.size(); ++r) {
    std::string& part = parts[static_cast<std::size_t>(r)];
    const std::int64_t length = lengths[static_cast<std::size_t>(r)];
    if (r == root) {
      part = mine;
    } else if (length > 0) {
      part.resize(static_cast<std::size_t>(length));
      group.recv(part.data(), length, DType::u8, r);
    }
  }
  return parts;
}

std::string scatter_bytes(const std::vector<std::string>& of_root, int root, Communicator& group) {
  expect_cpu_stream(group);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(group.size()));
  if (group.rank() == root)
    std::ranges::transform(of_root, lengths.begin(), [](const auto& s) { return std::ssize(s); });
  group.broadcast(lengths.data(), static_cast<std::int64_t>(lengths.size() * sizeof(std::int64_t)), DType::u8, root);
  if (group.rank() != root) {
    std::string mine(static_cast<std::size_t>(lengths[static_cast<std::size_t>(group.rank())]), '\0');
    if (!mine.empty()) group.recv(mine.data(), std::ssize(mine), DType::u8, root);
    return mine;
  }
  for (int r = 0; r < group.size(); ++r) {
    const std::string& part = of_root[static_cast<std::size_t>(r)];
    if (r != root && !part.empty()) group.send(part.data(), std::ssize(part), DType::u8, r);
  }
  return of_root[static_cast<std::size_t>(root)];
}

std::string broadcast_bytes(const std::string& of_root, int root, Communicator& group) {
  expect_cpu_stream(group);
  auto length = static_cast<std::int64_t>(of_root.size());
  group.broadcast(&length, sizeof length, DType::u8, root);
  std::string text = group.rank() == root ? of_root : std::string(static_cast<std::size_t>(length), '\0');
  if (length > 0) group.broadcast(text.data(), length, DType::u8, root);
  return text;
}

void largest(std::int32_t* values, std::int64_t count, Communicator& group) {
  expect_cpu_stream(group);
  group.all_reduce(values, count, DType::i32, ReduceOp::max);
}

std::int32_t largest(std::int32_t mine, Communicator& group) {
  largest(&mine, 1, group);
  return mine;
}

}  // namespace octet
