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
#include "src/comm/host_exchange.h"
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

std::int64_t bytes_of(const TokenFile& file) {
  return file.tokens() * size_of(file.type());
}

void tell(const TokenFile& file, const TokenRange& range, Clock::time_point begin, const std::string& remembered) {
  log::info("data: {} has token ids from {} to {}; {} scanned in {:.1f} s, {}", file.bin_path(), range.smallest.id,
            range.largest.id, format_bytes(bytes_of(file)), seconds_since(begin), remembered);
}

/// Where the run itself remembers the range of a file that has no side file; named by what the file holds.
std::string path_in(const std::string& run_directory, const TokenFile& file) {
  return fmt::format("{}/token-ranges/{:016x}.json", run_directory, file.fingerprint());
}

std::optional<TokenRange> recall(const TokenFile& file, const std::string& run_directory) {
  for (const std::string& path : {data_facts_path(file.prefix()), path_in(run_directory, file)}) {
    if (const auto facts = read_data_facts(path, file)) return facts->range;
    if (run_directory.empty()) break;
  }
  return std::nullopt;
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

/// What rank 0 knows of each file, for all.
std::vector<std::optional<TokenRange>> recalled_by_rank0(const Files& files, const RunDirectory& run,
                                                         Communicator& hosts) {
  Packer packer;
  for (const TokenFile* file : files) {
    if (hosts.rank() != 0) break;
    const std::optional<TokenRange> range = recall(*file, run.path);
    packer.put(static_cast<std::uint8_t>(range.has_value()));
    put(range.value_or(TokenRange{}), packer);
  }
  const std::string bytes = broadcast_bytes(packer.bytes(), 0, hosts);
  Unpacker unpacker(bytes);
  std::vector<std::optional<TokenRange>> known;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool is_known = unpacker.take<std::uint8_t>() != 0;
    const TokenRange range = take(unpacker);
    known.push_back(is_known ? std::optional(range) : std::nullopt);
  }
  unpacker.expect_end();
  return known;
}

TokenRange scan_together(const TokenFile& file, Communicator& hosts) {
  const std::int64_t ranks = hosts.size(), each = ceil_div(file.tokens(), ranks);
  const std::int64_t begin = std::min(each * hosts.rank(), file.tokens()), end = std::min(begin + each, file.tokens());
  TokenRange mine;
  files::ReadProgress progress;
  const auto absent = files::read_together("scan of token ids", hosts, progress, [&] {
    progress.begin(file.bin_path());
    files::with_retries(progress,
                        [&] { mine = scan(file, begin, end, [&](std::int64_t bytes) { progress.add(bytes); }); });
  });
  if (absent) throw Error(ExitCode::usage, fmt::format("[data] data.train: cannot open {}", *absent), true);
  Packer packer;
  put(mine, packer);
  TokenRange whole;
  for (const std::string& bytes : gather_bytes(packer.bytes(), hosts)) {
    Unpacker unpacker(bytes);
    whole.merge(take(unpacker));
    unpacker.expect_end();
  }
  return whole;
}

}  // namespace

void check_token_ranges(const Sampler& sampler, const RunDirectory& run, Communicator& hosts) {
  const Files files = files_to_check(sampler);
  const auto known = recalled_by_rank0(files, run, hosts);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const TokenFile& file = *files[i];
    const auto begin = Clock::now();
    const TokenRange range = known[i] ? *known[i] : scan_together(file, hosts);
    const std::int64_t vocab_size = sampler.config().vocab_size;
    if (!known[i] && hosts.rank() == 0) {
      tell(file, range, begin, remember(file, range, run, !is_in_vocabulary(range, vocab_size)));
    }
    expect_in_vocabulary(file, range, vocab_size);
  }
}

void check_token_range(const TokenFile& file, std::int64_t vocab_size, Communicator& hosts) {
  if (!may_leave_vocabulary(file.type(), vocab_size)) return;
  const auto known = recalled_by_rank0({&file}, RunDirectory{}, hosts).front();
  expect_in_vocabulary(file, known ? *known : scan_together(file, hosts), vocab_size, "--data");
}

void check_token_ranges(const Sampler& sampler, const std::string& run_directory, std::int64_t most_scanned) {
  std::int64_t left = most_scanned;
  for (const TokenFile* file : files_to_check(sampler)) {
    auto range = recall(*file, run_directory);
    if (!range && bytes_of(*file) > left) {
      log::info(
          "data: {} has {}, whose token ids are not looked at here, where {} are scanned at most, but when the run "
          "starts (octet inspect --remember does it now)",
          file->bin_path(), format_bytes(bytes_of(*file)), format_bytes(most_scanned));
      continue;
    }
    if (!range) {
      left -= bytes_of(*file);
      const auto begin = Clock::now();
      range = scan_tokens(*file);
      tell(*file, *range, begin, "not remembered (octet inspect --remember does)");
    }
    expect_in_vocabulary(*file, *range, sampler.config().vocab_size);
  }
}

TokenRange scan_tokens(const TokenFile& file) {
  Progress progress("scan", bytes_of(file));
  return scan(file, 0, file.tokens(), [&](std::int64_t bytes) { progress.advance(bytes); });
}

}  // namespace octet
