#include "src/report/profile.h"

#include "src/base/error.h"
#include "src/report/text_file.h"

namespace octet {
namespace {

using nlohmann::json;

Profile::Rank rank_of(const json& entry) {
  Profile::Rank rank{.rank = entry.at("rank"), .node = entry.at("node"), .wall = entry.at("wall"), .seconds = {}};
  for (std::size_t i = 0; i < Profile::kinds.size(); ++i) {
    rank.seconds[i] = entry.at("seconds").at(std::string(Profile::kinds[i]));
  }
  return rank;
}

Profile::Kernel kernel_of(const json& entry) {
  return {.name = entry.at("name"),
          .kind = entry.at("kind"),
          .phase = entry.at("phase"),
          .calls = entry.at("calls"),
          .seconds = entry.at("seconds"),
          .bytes = entry.at("bytes")};
}

}  // namespace

Profile read_profile(const std::string& path) {
  const json file = read_json(path);
  try {
    Profile profile{
        .first_step = file.at("steps").at(0), .last_step = file.at("steps").at(1), .ranks = {}, .kernels = {}};
    for (const json& entry : file.at("ranks")) profile.ranks.push_back(rank_of(entry));
    for (const json& entry : file.at("kernels")) profile.kernels.push_back(kernel_of(entry));
    return profile;
  } catch (const json::exception& error) {
    throw usage_error("report", "{}: no profile of a run: {}", path, error.what());
  }
}

}  // namespace octet
