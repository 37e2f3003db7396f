#include "src/cluster/slurm_version.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

struct SlurmFeatureRange {
  SlurmFeature feature;
  SlurmVersion since;   ///< first release that has it
  SlurmVersion before;  ///< first release that has it no more
  std::string_view source;
};

constexpr SlurmVersion always{99, 12};

constexpr std::array features{
    SlurmFeatureRange{SlurmFeature::srun_ignores_cpus_per_task,
                      {22, 5},
                      {23, 11},
                      "Slurm's release notes of 22.05 and 23.11; seen with 22.05.8"},
    SlurmFeatureRange{
        SlurmFeature::end_time_in_environment, {23, 2}, always, "Slurm's release notes of 23.02; absent in 22.05.8"},
    SlurmFeatureRange{SlurmFeature::block_topology, {23, 11}, always, "Slurm's release notes of 23.11"},
    SlurmFeatureRange{SlurmFeature::segment, {24, 5}, always, "Slurm's release notes of 24.05"},
};

/// "22.05" at the beginning of the text: two digits, a point, two digits.
std::optional<SlurmVersion> version_at(std::string_view text) {
  SlurmVersion out;
  const auto two = [&](std::size_t from, int& value) {
    if (text.size() < from + 2) return false;
    const char* begin = text.data() + from;
    return std::from_chars(begin, begin + 2, value).ptr == begin + 2;
  };
  if (!two(0, out.year) || text.size() < 5 || text[2] != '.' || !two(3, out.month)) return std::nullopt;
  if (text.size() > 5 && text[5] >= '0' && text[5] <= '9') return std::nullopt;
  return out;
}

}  // namespace

SlurmVersion parse_slurm_version(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && ((text[i - 1] >= '0' && text[i - 1] <= '9') || text[i - 1] == '.')) continue;
    const auto found = version_at(text.substr(i));
    if (!found) continue;
    if (*found < oldest_slurm) {
      throw usage_error("cluster", "Slurm {}: expected {} or newer", to_text(*found), to_text(oldest_slurm));
    }
    return *found;
  }
  throw usage_error("cluster", "version of Slurm: found {}, expected a text like \"slurm 22.05.8\"", in_quotes(text));
}

std::string to_text(SlurmVersion version) {
  return fmt::format("{:02}.{:02}", version.year, version.month);
}

bool has(SlurmVersion version, SlurmFeature feature) {
  const auto* range = std::ranges::find(features, feature, &SlurmFeatureRange::feature);
  if (range == features.end()) throw internal_error("cluster", "a feature of Slurm is not in the table");
  return !(version < range->since) && version < range->before;
}

}  // namespace octet
