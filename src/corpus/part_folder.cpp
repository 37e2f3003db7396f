#include "src/corpus/part_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include "src/base/error.h"
#include "src/base/hex_text.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/data/token_join.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

nlohmann::ordered_json json_of(const TokenAt& token) {
  return {{"id", token.id}, {"position", token.position}};
}

nlohmann::ordered_json json_of(const TokenCounts& counts) {
  nlohmann::ordered_json json = {{"documents", counts.documents},
                                 {"tokens", counts.tokens},
                                 {"text_bytes", counts.text_bytes},
                                 {"smallest", json_of(counts.range.smallest)},
                                 {"largest", json_of(counts.range.largest)}};
  if (counts.sum) json["content"] = hex_text(counts.sum->value());
  return json;
}

TokenAt token_at(const JsonReader& json) {
  return {.id = json.integer("id"), .position = json.integer("position", -1)};
}

TokenCounts token_counts(const JsonReader& json) {
  TokenCounts counts{.documents = json.integer("documents", 0),
                     .tokens = json.integer("tokens", 0),
                     .text_bytes = json.integer("text_bytes", 0),
                     .range = {.smallest = token_at(json.at("smallest")), .largest = token_at(json.at("largest"))},
                     .sum = std::nullopt};
  if (json.contains("content")) counts.sum = TokenSum(hex_of(json.at("content")), counts.tokens);
  return counts;
}

/// What differs, for a message.
std::string differences(const Making& before, const Making& now) {
  std::string text;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    if (old != before.end() && old->second == value) continue;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", name,
                        old == before.end() ? "not known" : old->second, value);
  }
  return text.empty() ? "another version of octet wrote it" : text;
}

/// Whether only the input has changed, but for what a run may go on with anyway.
bool is_of_other_input(Making before, const Making& now) {
  if (const auto input = now.find("--input"); input != now.end()) before["--input"] = input->second;
  return can_go_on(before, now);
}

/// `input`: what a part is made of; the whole has none.
void write_counts(const std::string& path, const PartCounts& counts, const std::string& input = "") {
  nlohmann::ordered_json json = {{"kept", json_of(counts.kept)},      {"held_out", json_of(counts.held_out)},
                                 {"empty_files", counts.empty_files}, {"empty_documents", counts.empty_documents},
                                 {"broken", counts.broken},           {"replaced", counts.replaced}};
  if (!input.empty()) json["input"] = input;
  if (!replace_file(path, json.dump() + "\n")) throw not_written("corpus", path);
}

}  // namespace

bool PartFolder::is_begun(const std::string& prefix, const Making& making) {
  const auto files = PartFiles::find(path_of(prefix));
  const auto begun = files ? files->making() : std::nullopt;
  return begun && can_go_on(*begun, making);
}

PartFolder::PartFolder(const std::string& prefix, const Making& making, bool overwrite,
                       const std::vector<InputPart>& plan, const std::string& holdout)
    : PartFolder(path_of(prefix), PartFiles::make(path_of(prefix))) {
  for (const InputPart& part : plan) inputs_.push_back(text_of_input(part));
  const std::optional<Making> before = files_.making();
  if (before && *before == making) return;
  const bool same_parts = before && can_go_on(*before, making);
  const bool goes_on =
      same_parts || (before && !overwrite && is_of_other_input(*before, making) && keep_unchanged(prefix, holdout));
  if (before && !goes_on && !overwrite) {
    throw usage_error("corpus", "{} has parts of a run that was made otherwise ({}); --overwrite begins anew", path_,
                      differences(*before, making));
  }
  // There is always a making.json, and it is on the disk before any part: without it the folder might be anybody's.
  if (goes_on) {
    log::info("{}: goes on with the parts that are as they would be made now ({})", path_,
              differences(*before, making));
  } else if (const auto stay = files_.remove_files({"making.json"}); !stay.empty()) {
    throw not_written("corpus", path_ + "/" + stay.front());
  }
  write_making(making);
  if (goes_on) before_ = before;
}

void PartFolder::write_making(const Making& making) const {
  const std::string file = path_ + "/making.json";
  if (!replace_file_durably(file, nlohmann::json(making).dump(1) + "\n")) throw not_written("corpus", file);
}

PartFolder::PartFolder(std::string path, PartFiles files) : path_(std::move(path)), files_(std::move(files)) {
  files_.claim();
}

std::optional<PartFolder> PartFolder::left(const std::string& prefix) {
  auto files = PartFiles::find(path_of(prefix));
  if (!files) return std::nullopt;
  return PartFolder(path_of(prefix), *std::move(files));
}

bool PartFolder::has_parts() const {
  return files_.making().has_value();
}

std::string PartFolder::prefix_of(std::size_t part) const {
  return fmt::format("{}/{:05}", path_, part);
}

std::string PartFolder::holdout_of(std::size_t part) const {
  return prefix_of(part) + "-holdout";
}

std::optional<PartCounts> PartFolder::finished(std::size_t part) const {
  if (!fs::exists(prefix_of(part) + ".idx")) return std::nullopt;
  return read(prefix_of(part) + ".json");
}

/// Removes all but the parts that can stay (unchanged_parts). False, with nothing removed, where no part would be left,
/// where tokens that were already taken over from the parts that stay are gone, and where all parts are joined, so that
/// some of them may be found at PREFIX only.
bool PartFolder::keep_unchanged(const std::string& prefix, const std::string& holdout) const {
  if (fs::exists(path_ + "/joined.json")) return false;
  const std::vector<std::size_t> parts = unchanged_parts();
  std::vector<std::string> kept, held_out;
  std::set<std::string> stay = {"making.json"};
  for (const std::size_t part : parts) {
    kept.push_back(prefix_of(part));
    if (!holdout.empty()) held_out.push_back(holdout_of(part));
    const std::string name = fs::path(prefix_of(part)).filename().string();
    for (const char* const suffix : {".bin", ".idx", ".json", "-holdout.bin", "-holdout.idx"}) {
      stay.insert(name + suffix);
    }
  }
  if (parts.empty() || !TokenJoin::has_taken(kept, prefix) || !TokenJoin::has_taken(held_out, holdout)) return false;
  if (const auto left = files_.remove_files(stay); !left.empty()) {
    throw not_written("corpus", path_ + "/" + left.front());
  }
  return true;
}

/// The parts that are as they would be made now. A part that was taken over lies behind the parts before it in the
/// output, so after a part that has changed only those can stay that are still in this folder.
std::vector<std::size_t> PartFolder::unchanged_parts() const {
  std::vector<std::size_t> parts;
  bool all_before = true;
  for (std::size_t part = 0; part < inputs_.size(); ++part) {
    const bool stays = is_unchanged(part) && (all_before || !is_taken(part));
    all_before = all_before && stays;
    if (stays) parts.push_back(part);
  }
  return parts;
}

bool PartFolder::is_unchanged(std::size_t part) const {
  const std::string path = prefix_of(part) + ".json";
  const std::optional<std::string> text = finished(part) ? read_text_file(path) : std::nullopt;
  if (!text) return false;
  const nlohmann::json parsed = parse_json(*text, "corpus", path, "what a part has");
  const JsonReader json(parsed, "corpus", path);
  return json.contains("input") && json.at("input").is_text() && json.at("input").text() == inputs_[part];
}

bool PartFolder::is_taken(std::size_t part) const {
  const auto taken = [](const std::string& prefix) {
    return fs::exists(prefix + ".idx") && !fs::exists(prefix + ".bin");
  };
  return taken(prefix_of(part)) || taken(holdout_of(part));
}

std::optional<PartCounts> PartFolder::joined() const {
  return read(path_ + "/joined.json");
}

std::optional<PartCounts> PartFolder::read(const std::string& path) const {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  try {
    const nlohmann::json parsed = parse_json(*text, "corpus", path, "what a part has");
    const JsonReader json(parsed, "corpus", path);
    return PartCounts{.kept = token_counts(json.at("kept")),
                      .held_out = token_counts(json.at("held_out")),
                      .empty_files = json.integer("empty_files", 0),
                      .empty_documents = json.integer("empty_documents", 0),
                      .broken = json.integer("broken", 0),
                      .replaced = json.integer("replaced", 0)};
  } catch (const Error& error) {
    log::warning("{}; it is made anew", error.what());
    return std::nullopt;
  }
}

void PartFolder::set_finished(std::size_t part, const PartCounts& counts) const {
  write_counts(prefix_of(part) + ".json", counts, part < inputs_.size() ? inputs_[part] : "");
}

void PartFolder::set_joined(const PartCounts& counts) const {
  write_counts(path_ + "/joined.json", counts);
}

void PartFolder::take_back() {
  if (!before_) return remove();
  write_making(*before_);
}

void PartFolder::remove() {
  // These two go last: making.json tells this folder from one of the user's, and with joined.json a later call goes on
  // from here.
  std::vector<std::string> stay;
  for (const std::set<std::string>& last : {std::set<std::string>{"making.json", "joined.json"}, {"making.json"}, {}}) {
    if (stay.empty()) stay = files_.remove_files(last);
  }
  if (!stay.empty()) {
    const char* const why = std::strerror(errno);
    log::warning("{}/{}: cannot be removed: {}; nothing in {} is needed for the tokens any more", path_, stay.front(),
                 why, path_);
    return;
  }
  if (files_.remove_folder()) return;
  const char* const why = std::strerror(errno);
  log::warning(
      "{}: cannot be removed: {}; nothing in it is needed for the tokens any more, and what octet prepare did "
      "not write there stays",
      path_, why);
}

}  // namespace octet
