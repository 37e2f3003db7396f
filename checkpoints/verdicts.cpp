#include "checkpoints/verdicts.h"

#include <algorithm>

namespace octet::checkpoint {

Verdicts::Files Verdicts::look_at(const std::string& directory, const std::vector<StoredFile>& files) {
  Files found{{manifest_name, identity_of(directory + "/" + manifest_name)}};
  for (const StoredFile& file : files) found[file.name] = identity_of(directory + "/" + file.name);
  return found;
}

std::optional<bool> Verdicts::find(const std::string& directory) const {
  const auto known = known_.find(directory);
  if (known == known_.end()) return std::nullopt;
  const Verdict& verdict = known->second;
  const bool same = std::ranges::all_of(
      verdict.files, [&](const auto& file) { return file.second == identity_of(directory + "/" + file.first); });
  return same ? std::optional(verdict.whole) : std::nullopt;
}

}  // namespace octet::checkpoint
