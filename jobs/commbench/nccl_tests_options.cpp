#include "jobs/commbench/nccl_tests_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "src/base/error.h"

namespace octet::commbench {
namespace {

struct NcclTestsOption {
  char letter;
  std::string_view name;
  std::string_view ours{};    ///< option of ours that means the same; empty: there is none
  std::string_view only{};    ///< the one value that is taken where there is none; empty: none is
  std::string_view reason{};  ///< why no other is
};

constexpr std::string_view one_call = "a call is timed by itself, in turn with no other";

constexpr std::array options = std::to_array<NcclTestsOption>({
    {'b', "minbytes", "min"},
    {'e', "maxbytes", "max"},
    {'f', "stepfactor", "factor"},
    {'n', "iters", "iterations"},
    {'w', "warmup_iters", "warmup"},
    {'c', "check", "check"},
    {'d', "datatype", "dtype"},
    {'T', "timeout", "timeout"},
    {'J', "output_file", "json"},
    {'g', "ngpus", "", "1", "a rank has one GPU, as in training: start as many times the ranks"},
    {'t', "nthreads", "", "1", "a rank is one process: start as many times the ranks"},
    {'o', "op", "", "sum", "training sums"},
    {'r', "root", "", "0", "broadcasts are from rank 0"},
    {'m', "agg_iters", "", "1", one_call},
    {'N', "run_cycles", "", "1", "a sweep is run once"},
    {'p', "parallel_init", "", "0", "a rank is one process"},
    {'z', "blocking", "", "0", "iterations follow each other without a wait"},
    {'y', "stream_null", "", "0", "calls are ordered on a stream of their own"},
    {'G', "cudagraph", "", "0", "calls are not captured"},
    {'C', "report_cputime", "", "0", "times are those of the collective"},
    {'S', "report_timestamps", "", "0", "the file of --json says when it was measured"},
    {'a', "average", "", "3", "times are those of the slowest rank"},
    {'R', "local_register", "", "0", "nccl.dp_shard_buffers of a run says what is registered"},
    {'u', "unalign", "", "0", "buffers are aligned"},
    {'I', "per_iter_timing", "", "0", "--json has the 95th percentile of the iterations"},
    {'i', "stepbytes", "", "", "sizes grow by a factor: -f"},
});

const NcclTestsOption* find(std::string_view word, bool is_long) {
  const auto found = std::ranges::find_if(options, [&](const NcclTestsOption& option) {
    return is_long ? option.name == word : word.size() == 1 && option.letter == word[0];
  });
  return found == options.end() ? nullptr : &*found;
}

/// What stands there, taken apart: an option of nccl-tests that is none of ours, and the value in the same word.
struct Taken {
  const NcclTestsOption* option;
  std::optional<std::string> value;
};

std::optional<Taken> take(const std::string& word) {
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    const NcclTestsOption* option =
        find(std::string_view(word).substr(2, equals == word.npos ? equals : equals - 2), true);
    if (option == nullptr || option->ours == option->name) return std::nullopt;
    return Taken{option, equals == word.npos ? std::nullopt : std::optional(word.substr(equals + 1))};
  }
  if (word.size() < 2 || word[0] != '-' || std::isalpha(static_cast<unsigned char>(word[1])) == 0) return std::nullopt;
  const NcclTestsOption* option = find(std::string_view(word).substr(1, 1), false);
  if (option == nullptr) return std::nullopt;
  return Taken{option, word.size() == 2 ? std::nullopt : std::optional(word.substr(2))};
}

void expect_only(const NcclTestsOption& option, const std::string& value) {
  if (!option.only.empty() && value == option.only) return;
  throw usage_error("commbench", "-{} {} (--{} of nccl-tests): expected {}: {}", option.letter, value, option.name,
                    option.only.empty() ? "none" : option.only, option.reason);
}

}  // namespace

std::vector<std::string> without_nccl_tests_options(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-h") {
      out.emplace_back("--help");
      continue;
    }
    std::optional<Taken> taken = take(words[i]);
    if (!taken) {
      out.push_back(words[i]);
      continue;
    }
    const NcclTestsOption& option = *taken->option;
    if (!taken->value) {
      if (i + 1 == words.size()) throw usage_error("commbench", "{}: expected a value behind it", words[i]);
      taken->value = words[++i];
    }
    if (option.ours.empty()) {
      expect_only(option, *taken->value);
    } else {
      out.push_back(fmt::format("--{}={}", option.ours, *taken->value));
    }
  }
  return out;
}

}  // namespace octet::commbench
