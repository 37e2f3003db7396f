#include "src/train/start/open_token_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "src/base/is_there.h"
#include "src/base/read_file.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"
#include "src/comm/look_together.h"
#include "src/comm/packing.h"
#include "src/comm/read_together.h"

namespace octet {
namespace {

using Prefixes = std::vector<std::vector<std::string>>;  // of each path those of its pairs

void put(const Failure& failure, Packer& packer) {
  packer.put(failure.code, failure.text);
}

/// Throws what one rank has found, on all.
[[noreturn]] void throw_told(Unpacker& unpacker, const ErrorOfData& error_of) {
  const auto code = unpacker.take<ExitCode>();
  throw error_of(Error(code, unpacker.take_text(), true));
}

/// failure_of, but for a ReadError, which comes out: that is a matter of this host, and no damage of the data.
std::optional<Failure> failure_of_data(const std::function<void()>& work) {
  std::optional<files::ReadError> unread;
  auto failure = failure_of([&] {
    try {
      work();
    } catch (const files::ReadError& error) {
      unread = error;
    }
  });
  if (unread) throw files::ReadError(*unread);
  return failure;
}

Prefixes list(const std::vector<std::string>& paths) {
  Prefixes prefixes;
  for (const std::string& path : paths) prefixes.push_back(token_prefixes(path));
  return prefixes;
}

/// How many pairs this host sees. A path where there is nothing is in the list too, for the pair that it names, but
/// does not count.
std::int32_t count(const Prefixes& prefixes) {
  std::size_t pairs = 0;
  for (const auto& of_path : prefixes) {
    const bool there = of_path.size() > 1 || std::ranges::any_of(token_file_paths(of_path.front()), is_there);
    pairs += there ? of_path.size() : 0;
  }
  return static_cast<std::int32_t>(pairs);
}

/// The same on every rank: the list of the host that sees most, since one that lacks a mount sees no parts.
Prefixes list_together(const std::vector<std::string>& paths, const ErrorOfData& error_of, Communicator& control) {
  const bool looks = files::looks_for_node(control);
  Prefixes mine;
  std::optional<Failure> failure;
  files::look_together(control, [&] {
    if (looks) failure = failure_of_data([&] { mine = list(paths); });
  });
  Packer packer;
  packer.put(failure.has_value());
  if (failure) put(*failure, packer);
  for (const auto& of_path : mine) {
    packer.put(static_cast<std::int64_t>(of_path.size()));
    for (const std::string& prefix : of_path) packer.put(prefix);
  }
  const std::int32_t pairs = looks && !failure ? count(mine) : 0, most = largest(pairs, control);
  const bool may_tell = looks && pairs == most;
  const int root = control.size() - largest(may_tell ? control.size() - control.rank() : 0, control);
  const std::string told = broadcast_bytes(packer.bytes(), root, control);
  Unpacker unpacker(told);
  if (unpacker.take<bool>()) throw_told(unpacker, error_of);
  Prefixes all(paths.size());
  for (auto& of_path : all) {
    of_path.resize(static_cast<std::size_t>(unpacker.take<std::int64_t>()));
    for (std::string& prefix : of_path) prefix = unpacker.take_text();
  }
  unpacker.expect_end();
  return all;
}

std::vector<std::string> flat(const Prefixes& prefixes) {
  std::vector<std::string> all;
  for (const auto& of_path : prefixes) all.insert(all.end(), of_path.begin(), of_path.end());
  return all;
}

/// Files are mapped late, and then stay mapped: a run with too many would fail hours later, so it is refused before
/// anything is opened.
/// Every pair's .bin file is mapped by each rank, and its .idx file where documents are read, or to validate it.
void expect_mappable(std::size_t pairs, PairUse use, std::int32_t limit, const ErrorOfData& error_of,
                     Communicator& control) {
  constexpr std::int64_t of_others = 8192;  // libraries, threads and memory of the process
  const auto bins = static_cast<std::int64_t>(pairs), ranks = static_cast<std::int64_t>(control.size());
  const std::int64_t indexes = use == PairUse::documents ? bins : (bins + ranks - 1) / ranks;
  const std::int64_t lowest = -std::int64_t{largest(-limit, control)};
  if (bins + indexes <= lowest - of_others) return;
  const Error refused = usage_error("data",
                                    "{} pairs of token files take {} memory mappings, and a process may have {} beside "
                                    "{} for all else (vm.max_map_count {}); expected fewer parts (octet prepare --part "
                                    "k/N), or a larger limit on each node: sysctl -w vm.max_map_count={}",
                                    bins, bins + indexes, std::max<std::int64_t>(lowest - of_others, 0), of_others,
                                    lowest, bins + indexes + of_others);
  throw error_of(Error(refused.code(), refused.what(), true));
}

void expect_same_data(const std::vector<std::string>& prefixes, Communicator& control) {
  std::vector<std::string> paths;
  for (const std::string& prefix : prefixes) {
    for (std::string& path : token_file_paths(prefix)) paths.push_back(std::move(path));
  }
  files::expect_same_files(paths, control);
}

/// One of all pairs, as this rank has found it.
struct Found {
  std::optional<TokenPair> pair;  ///< with its fingerprint made; nothing where it failed
  Failure failure;
};

Found validate(const std::string& prefix, files::ReadProgress& progress) {
  Found found;
  progress.begin(prefix + ".idx");
  files::with_retries(progress, [&] {
    const auto failure = failure_of_data([&] {
      TokenPair pair(prefix, [&](std::int64_t bytes) { progress.add(bytes); });
      pair.fingerprint();
      found.pair.emplace(std::move(pair));
    });
    if (failure) found.failure = *failure;
  });
  progress.add(1);
  return found;
}

std::string packed(const Found& found) {
  Packer packer;
  packer.put(found.pair.has_value());
  if (!found.pair) {
    put(found.failure, packer);
    return packer.bytes();
  }
  const PairFacts facts = found.pair->facts();
  packer.put(facts.type, facts.sequences, facts.documents, facts.bin_bytes, facts.fingerprint);
  return packer.bytes();
}

PairFacts take_facts(Unpacker& unpacker) {
  PairFacts facts{.type = unpacker.take<TokenType>()};
  facts.sequences = unpacker.take<std::int64_t>();
  facts.documents = unpacker.take<std::int64_t>();
  facts.bin_bytes = unpacker.take<std::int64_t>();
  facts.fingerprint = unpacker.take<std::uint64_t>();
  return facts;
}

/// Rank i validates pairs i, i + ranks and so on. Of several that are damaged all ranks name the first.
std::vector<TokenPair> validate_together(const std::vector<std::string>& prefixes, const ErrorOfData& error_of,
                                         Communicator& control) {
  const auto ranks = static_cast<std::size_t>(control.size()), rank = static_cast<std::size_t>(control.rank());
  std::vector<Found> mine;
  files::ReadProgress progress;
  const auto absent = files::read_together("check of token data", control, progress, [&] {
    for (std::size_t i = rank; i < prefixes.size(); i += ranks) mine.push_back(validate(prefixes[i], progress));
  });
  if (absent) throw error_of(Error(ExitCode::usage, "[data] cannot open " + *absent, true));
  std::string told;
  for (const Found& found : mine) told += packed(found);
  const std::vector<std::string> all = gather_bytes(told, control);
  std::vector<Unpacker> unpackers(all.begin(), all.end());
  std::vector<TokenPair> pairs;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    Unpacker& unpacker = unpackers[i % ranks];
    if (!unpacker.take<bool>()) throw_told(unpacker, error_of);
    const PairFacts facts = take_facts(unpacker);
    if (i % ranks == rank) {
      pairs.push_back(std::move(*mine[i / ranks].pair));
    } else {
      pairs.emplace_back(prefixes[i], facts);
    }
  }
  for (const Unpacker& unpacker : unpackers) unpacker.expect_end();
  return pairs;
}

}  // namespace

std::int32_t mapping_limit() {
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int64_t limit = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> limit)) return none;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(limit, 0, none));
}

std::vector<TokenFile> open_token_files(const std::vector<std::string>& paths, PairUse use, const ErrorOfData& error_of,
                                        Communicator& control, std::int32_t limit) {
  const Prefixes prefixes = list_together(paths, error_of, control);
  const std::vector<std::string> all = flat(prefixes);
  expect_mappable(all.size(), use, limit, error_of, control);
  expect_same_data(all, control);
  std::vector<TokenPair> pairs = validate_together(all, error_of, control);
  auto next = pairs.begin();
  std::vector<TokenFile> files;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(prefixes[i].size());
    try {
      files.emplace_back(paths[i], std::vector<TokenPair>(std::move_iterator(next), std::move_iterator(end)));
    } catch (const Error& error) {
      throw error_of(Error(error.code(), error.what(), true));
    }
    next = end;
  }
  return files;
}

}  // namespace octet
