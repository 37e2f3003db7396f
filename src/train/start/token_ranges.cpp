#include "src/train/start/token_ranges.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/read_file.h"
#include "src/base/round_up.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/comm/packing.h"
#include "src/comm/read_together.h"
#include "src/data/data_facts.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;
using Files = std::vector<const TokenFile*>;

/// Those whose type has room for ids that are not in the vocabulary.
Files files_to_check(const Sampler& sampler) {
  Files files;
  for (const TokenFile& file : sampler.files()) {
    if (may_leave_vocabulary(file.type(), sampler.config().vocab_size)) files.push_back(&file);
  }
  return files;
}

/// The range of tokens [begin, end); `progress` hears of bytes.
TokenRange scan(const TokenFile& file, std::int64_t begin, std::int64_t end,
                const std::function<void(std::int64_t)>& progress) {
  const std::int64_t width = size_of(file.type());
  TokenRangeScan scan(file.type(), begin);
  for (const TokenFile::Stretch& stretch : file.stretches(begin, end)) {
    files::InputFile(stretch.bin_path)
        .read_blocks(
            [&](std::span<const char> block) {
              scan.add(block);
              progress(static_cast<std::int64_t>(block.size()));
            },
            {.offset = stretch.first * width, .bytes = stretch.tokens * width});
  }
  return scan.range();
}

/// What is known of a file's ids, and the tokens of which it is not.
struct Known {
  TokenRange range{};
  std::vector<TokenInterval> left{};
};

std::int64_t bytes_left(const TokenFile& file, const Known& known) {
  std::int64_t tokens = 0;
  for (const TokenInterval& interval : known.left) tokens += interval.end - interval.begin;
  return tokens * size_of(file.type());
}

void tell(const TokenFile& file, const TokenRange& range, std::int64_t scanned, Clock::time_point begin,
          const std::string& remembered) {
  log::info("data: {} has token ids from {} to {}; {} scanned in {:.1f} s, {}", file.bin_path(), range.smallest.id,
            range.largest.id, format_bytes(scanned), seconds_since(begin), remembered);
}

/// In this process alone.
TokenRange scan_here(const TokenFile& file, const Known& known) {
  TokenRange whole = known.range;
  if (known.left.empty()) return whole;
  Progress progress("scan", bytes_left(file, known));
  for (const TokenInterval& interval : known.left) {
    whole.merge(scan(file, interval.begin, interval.end, [&](std::int64_t bytes) { progress.advance(bytes); }));
  }
  return whole;
}

/// Where the run itself remembers the range of a file that has no side file; named by what the file holds.
std::string path_in(const std::string& run_directory, const TokenFile& file) {
  return fmt::format("{}/token-ranges/{:016x}.json", run_directory, file.fingerprint());
}

Known recall(const TokenFile& file, const std::string& run_directory) {
  Known known{.range = {}, .left = {{0, file.tokens()}}};
  for (const std::string& path : {data_facts_path(file.prefix()), path_in(run_directory, file)}) {
    if (auto facts = read_data_facts(path, file)) known = {facts->range, std::move(facts->unknown)};
    if (run_directory.empty() || known.left.empty()) break;
  }
  return known;
}

/// Says where it is remembered. A run that is refused leaves nothing in its directory.
std::string remember(const TokenFile& file, const TokenRange& range, const RunDirectory& run, bool is_refused) {
  if (is_refused) return "not remembered";
  run.owner.verify();
  const std::string own = path_in(run.path, file);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(own).parent_path(), ignored);
  if (write_data_facts(own, file, {.range = range})) return "remembered in " + own;
  return fmt::format("not remembered, since {} cannot be written: {}", own, std::strerror(errno));
}

void put(const TokenRange& range, Packer& packer) {
  for (const TokenAt& at : {range.smallest, range.largest}) packer.put(at.id, at.position);
}

TokenRange take(Unpacker& unpacker) {
  TokenRange range;
  for (TokenAt* at : {&range.smallest, &range.largest}) {
    at->id = unpacker.take<std::int64_t>();
    at->position = unpacker.take<std::int64_t>();
  }
  return range;
}

/// What is known of each file, or why that could not be read: parts may not belong together.
std::string packed_known(const Files& files, const RunDirectory& run) {
  Packer packer;
  packer.put(std::string_view());
  try {
    for (const TokenFile* file : files) {
      const Known known = recall(*file, run.path);
      put(known.range, packer);
      packer.put(static_cast<std::int64_t>(known.left.size()));
      for (const TokenInterval& interval : known.left) packer.put(interval.begin, interval.end);
    }
  } catch (const Error& error) {
    return Packer().put(std::string_view(error.what())).bytes();
  }
  return packer.bytes();
}

/// What rank 0 knows of each file, for all.
std::vector<Known> recalled_by_rank0(const Files& files, const RunDirectory& run, Communicator& control) {
  const std::string bytes = broadcast_bytes(control.rank() == 0 ? packed_known(files, run) : std::string(), 0, control);
  Unpacker unpacker(bytes);
  const std::string error = unpacker.take_text();
  if (!error.empty()) throw Error(ExitCode::usage, error, true);
  std::vector<Known> known;
  for (std::size_t i = 0; i < files.size(); ++i) {
    Known of_file{.range = take(unpacker)};
    for (auto left = unpacker.take<std::int64_t>(); left > 0; --left) {
      const auto begin = unpacker.take<std::int64_t>();
      of_file.left.push_back({begin, unpacker.take<std::int64_t>()});
    }
    known.push_back(std::move(of_file));
  }
  unpacker.expect_end();
  return known;
}

TokenRange scan_together(const TokenFile& file, const TokenInterval& interval, Communicator& control) {
  const std::int64_t ranks = control.size(), each = ceil_div(interval.end - interval.begin, ranks);
  const std::int64_t begin = std::min(interval.begin + each * control.rank(), interval.end);
  const std::int64_t end = std::min(begin + each, interval.end);
  TokenRange mine;
  files::ReadProgress progress;
  const auto absent = files::read_together("scan of token ids", control, progress, [&] {
    progress.begin(file.bin_path());
    files::with_retries(progress,
                        [&] { mine = scan(file, begin, end, [&](std::int64_t bytes) { progress.add(bytes); }); });
  });
  if (absent) throw Error(ExitCode::usage, fmt::format("[data] data.train: cannot open {}", *absent), true);
  Packer packer;
  put(mine, packer);
  TokenRange whole;
  for (const std::string& bytes : gather_bytes(packer.bytes(), control)) {
    Unpacker unpacker(bytes);
    whole.merge(take(unpacker));
    unpacker.expect_end();
  }
  return whole;
}

TokenRange scan_together(const TokenFile& file, const Known& known, Communicator& control) {
  TokenRange whole = known.range;
  for (const TokenInterval& interval : known.left) whole.merge(scan_together(file, interval, control));
  return whole;
}

}  // namespace

void check_token_ranges(const Sampler& sampler, const RunDirectory& run, Communicator& control) {
  const Files files = files_to_check(sampler);
  const auto known = recalled_by_rank0(files, run, control);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const TokenFile& file = *files[i];
    const auto begin = Clock::now();
    const TokenRange range = scan_together(file, known[i], control);
    const std::int64_t vocab_size = sampler.config().vocab_size;
    if (!known[i].left.empty() && control.rank() == 0) {
      tell(file, range, bytes_left(file, known[i]), begin,
           remember(file, range, run, !is_in_vocabulary(range, vocab_size)));
    }
    expect_in_vocabulary(file, range, vocab_size);
  }
}

void check_token_range(const TokenFile& file, std::int64_t vocab_size, Communicator& control) {
  if (!may_leave_vocabulary(file.type(), vocab_size)) return;
  const auto known = recalled_by_rank0({&file}, RunDirectory{}, control).front();
  expect_in_vocabulary(file, scan_together(file, known, control), vocab_size, "--data");
}

void check_token_ranges(const Sampler& sampler, const std::string& run_directory, std::int64_t most_scanned) {
  std::int64_t left = most_scanned;
  for (const TokenFile* file : files_to_check(sampler)) {
    const Known known = recall(*file, run_directory);
    const std::int64_t bytes = bytes_left(*file, known);
    if (bytes > left) {
      log::info(
          "data: {} has {}, whose token ids are not looked at here, where {} are scanned at most, but when the run "
          "starts (octet inspect --remember does it now)",
          file->bin_path(), format_bytes(bytes), format_bytes(most_scanned));
      continue;
    }
    left -= bytes;
    const auto begin = Clock::now();
    const TokenRange range = scan_here(*file, known);
    if (!known.left.empty()) tell(*file, range, bytes, begin, "not remembered (octet inspect --remember does)");
    expect_in_vocabulary(*file, range, sampler.config().vocab_size);
  }
}

}  // namespace octet
