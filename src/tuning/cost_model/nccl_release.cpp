#include "src/tuning/cost_model/nccl_release.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/cluster/machine/known_versions.h"

namespace octet {
namespace {

int last_patch(int minor) {
  return minor == 28 ? 9 : 7;  // 2.27.7, 2.28.9, 2.29.7, 2.30.7
}

}  // namespace

bool has_cost_model(std::string_view text) {
  const Version numbers = parse_version(text);
  return numbers.size() >= 2 && numbers[0] == 2 && numbers[1] >= 27 && numbers[1] <= 30;
}

NcclVersion parse_nccl_version(std::string_view text) {
  const Version numbers = parse_version(text);
  if (!has_cost_model(text)) {
    throw usage_error(
        "tuning", "NCCL \"{}\": the cost models of 2.27 to 2.30 are known, expected a version such as 2.28.9", text);
  }
  return {2, numbers[1], numbers.size() > 2 ? numbers[2] : last_patch(numbers[1])};
}

bool search_is_known(const NcclVersion& version) {
  return version < NcclVersion{2, 30, 0};
}

std::string to_text(const NcclVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace octet
