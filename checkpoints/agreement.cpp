#include "checkpoints/agreement.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "checkpoints/packing.h"
#include "src/device/buffer.h"

namespace octet::checkpoint {
namespace {

/// `mine` of every rank, of the same length on each.
std::string gather_equal(const std::string& mine, Communicator& world, Stream& stream) {
  const auto bytes = static_cast<std::int64_t>(mine.size());
  if (bytes == 0) return {};
  Device& device = stream.device();
  const Buffer all(device, bytes * world.size(), Purpose::workspace);
  char* own = all.as<char>() + bytes * world.rank();
  device.copy_from_host(own, mine.data(), bytes, stream);
  world.all_gather(own, all.data(), bytes, DType::u8);
  std::string host(static_cast<std::size_t>(all.bytes()), '\0');
  device.copy_to_host(host.data(), all.data(), all.bytes(), stream);
  stream.synchronize();
  return host;
}

std::string_view without_room(std::string_view text) {
  constexpr std::string_view room = "[checkpoints] ";
  return text.starts_with(room) ? text.substr(room.size()) : text;
}

}  // namespace

std::vector<std::string> gather_bytes(const std::string& mine, Communicator& world, Stream& stream) {
  Packer length;
  length.put(static_cast<std::int64_t>(mine.size()));
  const std::string all_lengths = gather_equal(length.bytes(), world, stream);
  Unpacker lengths(all_lengths);
  std::vector<std::size_t> sizes;
  for (int r = 0; r < world.size(); ++r) sizes.push_back(static_cast<std::size_t>(lengths.take<std::int64_t>()));

  const std::size_t most = *std::ranges::max_element(sizes);
  std::string padded = mine;
  padded.resize(most, '\0');
  const std::string all = gather_equal(padded, world, stream);
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < sizes.size(); ++r) parts.push_back(all.substr(r * most, sizes[r]));
  return parts;
}

std::string broadcast_bytes(const std::string& of_root, int root, Communicator& world, Stream& stream) {
  Device& device = stream.device();
  const bool sends = world.rank() == root;
  const auto through_device = [&](void* host, std::int64_t bytes) {
    const Buffer buffer(device, bytes, Purpose::workspace);
    if (sends) device.copy_from_host(buffer.data(), host, bytes, stream);
    world.broadcast(buffer.data(), bytes, DType::u8, root);
    device.copy_to_host(host, buffer.data(), bytes, stream);
    stream.synchronize();
  };
  auto length = static_cast<std::int64_t>(of_root.size());
  through_device(&length, sizeof length);
  std::string text = sends ? of_root : std::string(static_cast<std::size_t>(length), '\0');
  if (length > 0) through_device(text.data(), length);
  return text;
}

std::int32_t largest(std::int32_t mine, Communicator& world, Stream& stream) {
  Device& device = stream.device();
  const Buffer value(device, sizeof mine, Purpose::workspace);
  device.copy_from_host(value.data(), &mine, sizeof mine, stream);
  world.all_reduce(value.data(), 1, DType::i32, ReduceOp::max);
  device.copy_to_host(&mine, value.data(), sizeof mine, stream);
  stream.synchronize();
  return mine;
}

std::optional<Failure> failure_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{ExitCode::internal, error.what()};
  }
}

void agree(const std::string& what, const std::optional<Failure>& mine, Communicator& world, Stream& stream) {
  if (largest(mine ? 1 : 0, world, stream) == 0) return;
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.has_value()));
  if (mine) {
    packer.put(mine->code);
    packer.put(mine->text);
  }
  int first = -1, more = 0;
  Failure failure;
  const std::vector<std::string> all = gather_bytes(packer.bytes(), world, stream);
  for (std::size_t r = 0; r < all.size(); ++r) {
    Unpacker unpacker(all[r]);
    if (unpacker.take<std::uint8_t>() == 0) continue;
    if (first >= 0) {
      ++more;
      continue;
    }
    first = static_cast<int>(r);
    failure.code = unpacker.take<ExitCode>();
    failure.text = unpacker.take_text();
  }
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more rank(s) failed)", more);
  throw Error(failure.code,
              fmt::format("[checkpoints] {}: rank {}: {}{}", what, first, without_room(failure.text), others));
}

void together(const std::string& what, Communicator& world, Stream& stream, const std::function<void()>& work) {
  agree(what, failure_of(work), world, stream);
}

}  // namespace octet::checkpoint
