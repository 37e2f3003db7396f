#include "src/corpus/existing_outputs.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "src/base/error.h"
#include "src/data/data_facts.h"
#include "src/data/token_file.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

std::optional<std::string> some_file_of_pair(const std::string& prefix) {
  for (const std::string& path : token_file_paths(prefix)) {
    std::error_code failed;  // of a path that leads nowhere, which whoever writes there finds too
    if (fs::exists(path, failed)) return path;
  }
  return std::nullopt;
}

/// What stands at a prefix.
enum class Standing {
  nothing,
  whole,  ///< what a run of the same command has made
  begun,  ///< what one has begun: tokens without their index
  other
};
/// By the side file and the fingerprint; `command` is DataOrigin::command.
Standing standing_of(const std::string& prefix, std::uint64_t command) {
  std::error_code failed;  // of a path that leads nowhere, which whoever writes there finds too
  const auto [bin, idx] = token_file_paths(prefix);
  const bool has_bin = fs::exists(bin, failed), has_idx = fs::exists(idx, failed);
  if (!has_bin && !has_idx) return Standing::nothing;
  const auto record = read_data_record(data_facts_path(prefix));
  if (!has_bin || !record || !record->origin || record->origin->command != command) return Standing::other;
  if (!has_idx) return Standing::begun;  // the .idx file gets its name last
  try {
    const TokenPair pair(prefix);
    const bool same = pair.fingerprint() == record->fingerprint && pair.tokens() == record->tokens;
    return same ? Standing::whole : Standing::other;
  } catch (const Error&) {
    return Standing::other;
  }
}

}  // namespace

bool is_made(const Outputs& outputs, std::uint64_t command) {
  const auto is_whole = [&](const std::string& prefix) { return standing_of(prefix, command) == Standing::whole; };
  return is_whole(outputs.kept) && (outputs.held_out.empty() || is_whole(outputs.held_out));
}

void refuse_pair_beside_parts(const std::string& prefix, const Share& share, bool holdout) {
  const Outputs whole = outputs_of(prefix, {}, holdout);
  for (const std::string& name : {whole.kept, whole.held_out}) {
    if (name.empty()) continue;
    const auto other = share.shares == 1 ? some_part_of(name) : some_file_of_pair(name);
    if (!other) continue;
    throw usage_error(
        "corpus",
        "{} is there, and {} would be written beside it: one of them is a data set in one pair of files, the other a "
        "part of one, and a run could not tell which is meant; move the old files away, or take another --output",
        *other, outputs_of(name, share, false).kept);
  }
}

void refuse_existing(const Outputs& outputs, std::uint64_t command) {
  for (const std::string& prefix : {outputs.kept, outputs.held_out}) {
    if (prefix.empty() || standing_of(prefix, command) != Standing::other) continue;
    const auto path = some_file_of_pair(prefix);
    if (path) throw usage_error("corpus", "{} exists; --overwrite replaces it", *path);
  }
}

void refuse_old_holdout(const std::string& prefix, const Share& share) {
  const std::string held_out = outputs_of(prefix, {}, true).held_out;
  const auto pair = some_file_of_pair(held_out), part = some_part_of(held_out);
  for (const auto& path : {pair, part}) {
    if (!path) continue;
    const auto record = read_data_record(data_facts_path(token_prefix_of(*path)));
    const bool is_told = record && record->origin && record->origin->making.contains("--holdout");
    if (is_told && record->origin->making.at("--holdout") == "0") continue;  // a data set of that name
    throw usage_error("corpus",
                      "{} exists: the documents that an earlier run held out there {} be in {} too, since --holdout is "
                      "0; give --holdout as before, move the files {}* away, or take another --output",
                      *path, is_told ? "would" : "may", outputs_of(prefix, share, false).kept,
                      held_out + (path == part ? "-" : "."));
  }
}

bool is_kept_without_held_out(const Outputs& outputs, std::uint64_t command) {
  return !outputs.held_out.empty() && standing_of(outputs.kept, command) == Standing::whole &&
         standing_of(outputs.held_out, command) == Standing::nothing;
}

TokenCounts counts_of(const std::string& prefix) {
  const TokenFile file(prefix);
  TokenCounts counts{.documents = file.documents(), .tokens = file.tokens()};
  const auto facts = read_data_facts(data_facts_path(prefix), file);
  if (!facts) return counts;
  counts.text_bytes = facts->text_bytes.value_or(0);
  counts.range = facts->range;
  return counts;
}

}  // namespace octet
