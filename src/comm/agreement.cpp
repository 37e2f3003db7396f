#include "src/comm/agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/packing.h"

namespace octet {
namespace {

std::string_view without_room(std::string_view text) {
  const std::size_t end = text.find("] ");
  return text.starts_with('[') && end < text.find(' ') ? text.substr(end + 2) : text;
}

/// What a rank tells the others.
struct Told {
  std::string host;
  std::optional<Failure> failure;
};

std::vector<Told> tell_all(const std::optional<Failure>& mine, Communicator& control) {
  Packer packer;
  packer.put(std::string(log::host()), static_cast<std::uint8_t>(mine.has_value()));
  if (mine) packer.put(mine->code, mine->text);
  std::vector<Told> all;
  for (const std::string& bytes : gather_bytes(packer.bytes(), control)) {
    Unpacker unpacker(bytes);
    Told& told = all.emplace_back(Told{.host = unpacker.take_text(), .failure = {}});
    if (unpacker.take<std::uint8_t>() != 0) {
      told.failure.emplace().code = unpacker.take<ExitCode>();
      told.failure->text = unpacker.take_text();
    }
    unpacker.expect_end();
  }
  return all;
}

bool has_failed(const Told& told) {
  return told.failure.has_value();
}

/// The first rank that has failed; at least one has.
std::vector<Told>::const_iterator first_failed(const std::vector<Told>& all) {
  return std::find_if(all.begin(), all.end(), has_failed);
}

/// Names the rank that failed, since one rank speaks for all and may be another one.
std::string said_by(std::ptrdiff_t rank, const Told& told) {
  return fmt::format("rank {} on {}: {}", rank, told.host, without_room(told.failure->text));
}

void add_once(std::vector<std::string>& hosts, const std::string& host) {
  if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
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

void agree(std::string_view room, const std::string& what, const std::optional<Failure>& mine, Communicator& control) {
  if (largest(mine ? 1 : 0, control) == 0) return;
  const std::vector<Told> all = tell_all(mine, control);
  const auto first = first_failed(all);
  const auto more = std::count_if(first + 1, all.end(), has_failed);
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more rank(s) failed)", more);
  throw Error(first->failure->code,
              fmt::format("[{}] {}: {}{}", room, what, said_by(first - all.begin(), *first), others), true);
}

void together(std::string_view room, const std::string& what, Communicator& control,
              const std::function<void()>& work) {
  agree(room, what, failure_of(work), control);
}

void together_by_host(std::string_view room, const std::string& what, Communicator& control,
                      const std::function<void()>& work) {
  const std::optional<Failure> mine = failure_of(work);
  if (largest(mine ? 1 : 0, control) == 0) return;
  const std::vector<Told> all = tell_all(mine, control);
  std::vector<std::string> names, failed;
  for (const Told& told : all) {
    add_once(names, told.host);
    if (told.failure) add_once(failed, told.host);
  }
  const auto first = first_failed(all);
  if (2 * failed.size() > names.size()) {
    throw Error(first->failure->code, fmt::format("[{}] {}", room, said_by(first - all.begin(), *first)), true);
  }
  throw Error(ExitCode::unhealthy,
              fmt::format("[{}] {}{} of {} host(s) {}: {}", room, leave_out(failed), failed.size(), names.size(), what,
                          said_by(first - all.begin(), *first)),
              true);
}

}  // namespace octet
