#include "src/comm/agreement.h"

#include <cstddef>
#include <cstdint>
#include <exception>

#include "src/base/log.h"
#include "src/comm/host_exchange.h"
#include "src/comm/packing.h"

namespace octet {
namespace {

std::string_view without_room(std::string_view text) {
  const std::size_t end = text.find("] ");
  return text.starts_with('[') && end < text.find(' ') ? text.substr(end + 2) : text;
}

}  // namespace

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

void agree(std::string_view room, const std::string& what, const std::optional<Failure>& mine, Communicator& world) {
  if (largest(mine ? 1 : 0, world) == 0) return;
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.has_value()));
  if (mine) packer.put(mine->code, mine->text, std::string(log::host()));
  int first = -1, more = 0;
  Failure failure;
  std::string host;
  const std::vector<std::string> all = gather_bytes(packer.bytes(), world);
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
    host = unpacker.take_text();
    unpacker.expect_end();
  }
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more rank(s) failed)", more);
  throw Error(failure.code,
              fmt::format("[{}] {}: rank {} on {}: {}{}", room, what, first, host, without_room(failure.text), others),
              true);
}

void together(std::string_view room, const std::string& what, Communicator& world, const std::function<void()>& work) {
  agree(room, what, failure_of(work), world);
}

}  // namespace octet
