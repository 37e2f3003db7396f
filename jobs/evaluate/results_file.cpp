#include "jobs/evaluate/results_file.h"

#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/comm/host_exchange.h"

namespace octet::evaluate {
namespace {

struct Difference {
  std::string member, found, expected;
};

/// The first member that both have and that is not the same.
std::optional<Difference> first_difference(const Json& found, const Json& expected, const std::string& member) {
  if (!found.is_object() || !expected.is_object()) {
    if (found == expected) return std::nullopt;
    return Difference{member, found.dump(), expected.dump()};
  }
  for (const auto& [key, value] : expected.items()) {
    if (!found.contains(key)) continue;
    auto difference = first_difference(found[key], value, member + "." + key);
    if (difference) return difference;
  }
  return std::nullopt;
}

constexpr const char* instead = "expected another folder in --output, or an empty one";

}  // namespace

ResultsFile::ResultsFile(const std::string& folder, Json evaluation, Communicator& hosts)
    : folder_(folder), evaluation_(std::move(evaluation)) {
  if (folder_.empty()) return;
  std::string refusal;
  if (log::rank() == 0) {
    try {
      read();
    } catch (const Error& error) {
      refusal = error.what();
    }
  }
  refusal = broadcast_bytes(refusal, 0, hosts);
  if (!refusal.empty()) throw Error(ExitCode::usage, refusal, true);
}

void ResultsFile::read() {
  const auto text = read_text_file(path());
  if (!text) return;
  earlier_ = Json::parse(*text, nullptr, false);
  if (!earlier_.is_object() || !earlier_.contains("evaluation") || !earlier_["evaluation"].is_object()) {
    throw usage_error("evaluate", "{}: does not say of what its results are, which would be replaced; {}", path(),
                      instead);
  }
  const auto difference = first_difference(earlier_["evaluation"], evaluation_, "evaluation");
  if (!difference) return;
  const Json model = earlier_.value("model", Json()), precision = earlier_.value("precision", Json());
  throw usage_error(
      "evaluate", "{}: has results of {} in {} that would be replaced: its {} is {}, and this evaluation's {}; {}",
      path(), model.dump(), precision.dump(), difference->member, difference->found, difference->expected, instead);
}

void ResultsFile::write(const Json& json, const std::string& texts) const {
  if (folder_.empty() || log::rank() != 0) return;
  Json all = earlier_, evaluation = evaluation_;
  if (!json.contains("compare")) evaluation.erase("compare");  // nothing is of it yet
  all.update(json, true);
  all["evaluation"].update(evaluation, true);
  write_result(folder_, "results.json", all.dump(2) + "\n");
  log::info("written: {}, {}", path(), texts);
}

}  // namespace octet::evaluate
