#include "jobs/evaluate/results_file.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"

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
    auto difference = first_difference(found[key], value, fmt::format("{}.{}", member, key));
    if (difference) return difference;
  }
  return std::nullopt;
}

constexpr const char* instead = "expected another folder in --output, or --overwrite";

/// The first member that would be merged with new results and is no object; empty where there is none.
std::string first_odd(const Json& json, const std::string& at) {
  for (const char* member :
       {"results", "groups", "n-shot", "n-samples", "bootstrap", "before_each_document", "compare", "difference"}) {
    if (!json.contains(member)) continue;
    const std::string name = member;
    std::string place = at + name;
    if (!json[name].is_object()) return place;
    if (name == "results" || name == "groups" || name == "n-samples") {
      for (const auto& [key, value] : json[name].items()) {
        if (!value.is_object()) return fmt::format("{}.{}", place, key);
      }
    }
  }
  return json.contains("compare") ? first_odd(json["compare"], at + "compare.") : "";
}

/// "runs/a in bf16", as far as the file says it.
std::string model_text(const Json& of) {
  const auto text = [&](const char* key, const char* otherwise) {
    return of.contains(key) && of[key].is_string() ? of[key].get<std::string>() : otherwise;
  };
  return fmt::format("{} in {}", text("model", "a model"), text("precision", "some precision"));
}

}  // namespace

ResultsFile::ResultsFile(const std::string& folder, bool overwrite, Json evaluation, Communicator& control)
    : folder_(folder), evaluation_(std::move(evaluation)) {
  if (folder_.empty()) return;
  std::string refusal;
  if (log::rank() == 0) {
    try {
      read();
      check();
    } catch (const Error& error) {
      refusal = error.what();
    }
    if (overwrite && !refusal.empty()) {
      log::info("{}: of another evaluation, is replaced (--overwrite)", path());
      earlier_ = Json::object();
      refusal.clear();
    }
  }
  refusal = broadcast_bytes(refusal, 0, control);
  if (!refusal.empty()) throw Error(ExitCode::usage, refusal, true);
}

void ResultsFile::read() {
  const auto text = read_text_file(path());
  if (!text) {
    if (errno == ENOENT) return;
    throw usage_error("evaluate", "{}: cannot be read: {}", path(), reason_not_read(errno));
  }
  // It is parsed twice: the first is strict and bounds the depth, and the second keeps the order of the keys.
  parse_json(*text, "evaluate", path(), "results of octet-evaluate, another folder in --output, or --overwrite");
  earlier_ = Json::parse(*text);
  if (!earlier_.is_object() || !earlier_.contains("evaluation") || !earlier_["evaluation"].is_object()) {
    throw usage_error("evaluate",
                      "{}: does not say which evaluation its results are of, and they would be replaced; {}", path(),
                      instead);
  }
}

void ResultsFile::check() const {
  if (!earlier_.contains("evaluation")) return;
  std::string odd = first_odd(earlier_, "");
  // The difference of texts has numbers of its own beside those of the tasks.
  if (odd.empty() && earlier_.contains("difference") && evaluation_.contains("results")) {
    for (const auto& [name, of] : evaluation_["results"].items()) {
      const auto found = earlier_["difference"].find(name);
      if (found != earlier_["difference"].end() && !found->is_object()) odd = "difference." + name;
    }
  }
  if (!odd.empty()) {
    throw usage_error("evaluate", "{}: {} is no object, as octet-evaluate writes it; {}", path(), odd, instead);
  }
  const auto difference = first_difference(earlier_["evaluation"], evaluation_, "evaluation");
  if (!difference) return;
  throw usage_error("evaluate",
                    "{}: has results of {} that would be replaced: its {} is {}, and this evaluation's {}; {}", path(),
                    model_text(earlier_), difference->member, difference->found, difference->expected, instead);
}

void ResultsFile::write(const Json& json, const std::string& texts) const {
  if (folder_.empty() || log::rank() != 0) return;
  Json all = earlier_, evaluation = evaluation_;
  for (const char* member : {"compare", "bootstrap"}) {
    if (!json.contains(member)) evaluation.erase(member);  // nothing is of it yet
  }
  all.update(json, true);
  all["evaluation"].update(evaluation, true);
  write_result(folder_, "results.json", all.dump(2) + "\n");
  log::info("written: {}, {}", path(), texts);
}

}  // namespace octet::evaluate
