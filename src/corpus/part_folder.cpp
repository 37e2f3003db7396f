#include "src/corpus/part_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "src/base/error.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

nlohmann::ordered_json json_of(const TokenAt& token) {
  return {{"id", token.id}, {"position", token.position}};
}

nlohmann::ordered_json json_of(const TokenCounts& counts) {
  return {{"documents", counts.documents},
          {"tokens", counts.tokens},
          {"text_bytes", counts.text_bytes},
          {"smallest", json_of(counts.range.smallest)},
          {"largest", json_of(counts.range.largest)}};
}

TokenAt token_at(const JsonReader& json) {
  return {.id = json.integer("id"), .position = json.integer("position", -1)};
}

TokenCounts token_counts(const JsonReader& json) {
  return {.documents = json.integer("documents", 0),
          .tokens = json.integer("tokens", 0),
          .text_bytes = json.integer("text_bytes", 0),
          .range = {.smallest = token_at(json.at("smallest")), .largest = token_at(json.at("largest"))}};
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

std::optional<Making> read_making(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  try {
    const nlohmann::json parsed = parse_json(*text, "corpus", path, "what the parts are made of");
    Making making;
    for (const auto& [name, value] : JsonReader(parsed, "corpus", path).members()) making[name] = value.text();
    return making;
  } catch (const Error& error) {
    log::warning("{}; the parts are made anew", error.what());
    return std::nullopt;
  }
}

/// All but the lock and these.
void empty_folder(const std::string& path, const std::set<std::string>& but = {}) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
    const std::string name = entry.path().filename();
    if (name != "lock" && !but.contains(name)) files.push_back(entry.path());
  }
  for (const fs::path& file : files) fs::remove(file, failed);
}

void write_counts(const std::string& path, const PartCounts& counts) {
  const nlohmann::ordered_json json = {{"kept", json_of(counts.kept)},      {"held_out", json_of(counts.held_out)},
                                       {"empty_files", counts.empty_files}, {"empty_documents", counts.empty_documents},
                                       {"broken", counts.broken},           {"replaced", counts.replaced}};
  if (!replace_file(path, json.dump() + "\n")) throw not_written("corpus", path);
}

}  // namespace

bool PartFolder::is_begun(const std::string& prefix, const Making& making) {
  const auto begun = read_making(path_of(prefix) + "/making.json");
  return begun && *begun == making;
}

PartFolder::PartFolder(const std::string& prefix, const Making& making, bool overwrite) : path_(path_of(prefix)) {
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) throw usage_error("corpus", "cannot create the folder {}: {}", path_, failed.message());
  lock_ = open_to_write((path_ + "/lock").c_str(), O_RDWR);
  if (!lock_) throw not_written("corpus", path_ + "/lock");
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw usage_error("corpus", "{} is being written by another process", path_);
  }
  const std::string file = path_ + "/making.json";
  const std::optional<Making> before = read_making(file);
  if (before && *before == making) return;
  if (before && !overwrite) {
    throw usage_error("corpus", "{} has parts of a run that was made otherwise ({}); --overwrite begins anew", path_,
                      differences(*before, making));
  }
  empty_folder(path_);
  if (!replace_file(file, nlohmann::json(making).dump(1) + "\n")) throw not_written("corpus", file);
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
  write_counts(prefix_of(part) + ".json", counts);
}

void PartFolder::set_joined(const PartCounts& counts) const {
  write_counts(path_ + "/joined.json", counts);
}

void PartFolder::remove() {
  std::error_code failed;
  empty_folder(path_, {"making.json", "joined.json"});  // as long as these are there it can go on from here
  fs::remove(path_ + "/making.json", failed);
  fs::remove(path_ + "/joined.json", failed);
  fs::remove(path_ + "/lock", failed);
  fs::remove(path_, failed);
  if (fs::exists(path_)) log::warning("{}: cannot be removed; nothing in it is needed any more", path_);
}

}  // namespace octet
