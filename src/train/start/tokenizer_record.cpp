#include "src/train/start/tokenizer_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "checkpoints/hugging_face/hugging_face_files.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/comm/control_exchange.h"

namespace octet {
namespace {

using Files = std::span<const TokenFile>;
using Facts = std::vector<std::optional<DataFacts>>;

Facts read_facts(Files files) {
  Facts facts;
  for (const TokenFile& file : files) {
    facts.push_back(read_data_facts(data_facts_path(file.prefix()), file));
  }
  return facts;
}

/// What identify looks at, or why rank 0 could not read it.
std::string packed_facts(Files files) {
  nlohmann::json packed;
  try {
    for (const auto& facts : read_facts(files)) {
      nlohmann::json one = nlohmann::json::object();
      if (facts && facts->tokenizer) one["tokenizer"] = json_of(*facts->tokenizer);
      if (facts && facts->text_bytes) one["text_bytes"] = *facts->text_bytes;
      if (facts && facts->origin) one["made"] = json_of(*facts->origin);
      packed["sources"].push_back(one);
    }
  } catch (const Error& error) {
    packed = {{"error", error.what()}};
  }
  return packed.dump();
}

Facts unpacked_facts(const std::string& text) {
  const nlohmann::json packed = parse_json(text, "train", "what rank 0 has read", "the facts of data");
  if (packed.contains("error")) throw Error(ExitCode::usage, packed["error"].get<std::string>(), true);
  Facts facts;
  for (const nlohmann::json& one : packed.at("sources")) {
    DataFacts of_one;
    if (one.contains("tokenizer")) {
      of_one.tokenizer = tokenizer_identity_of(JsonReader(one["tokenizer"], "train", "what rank 0 has read"));
    }
    if (one.contains("text_bytes")) of_one.text_bytes = one["text_bytes"].get<std::int64_t>();
    if (one.contains("made")) of_one.origin = data_origin_of(JsonReader(one["made"], "train", "what rank 0 has read"));
    facts.emplace_back(std::move(of_one));
  }
  return facts;
}

/// Of each file what rank 0 has read.
Facts facts_together(Files files, Communicator& control) {
  return unpacked_facts(broadcast_bytes(control.rank() == 0 ? packed_facts(files) : std::string(), 0, control));
}

DataIdentity told_identity(const Sampler& sampler, const Facts& facts, bool tells) {
  DataIdentity identity = identify(sampler.files(), facts, sampler.config().vocab_size);
  const std::string warning = unknown_tokenizer_text(identity);
  if (tells && identity.tokenizer) log::info("data: made with the tokenizer {}", text_of(*identity.tokenizer));
  if (tells && !warning.empty()) log::warning("{}", warning);
  return identity;
}

bool is_that_of(const std::optional<std::string>& file, const TokenizerIdentity& tokenizer) {
  return file && tokenizer_fingerprint(*file) == tokenizer.fingerprint;
}

/// The copy beside the data that is the tokenizer of that fingerprint.
std::optional<std::string> file_beside(const Sampler& sampler, const TokenizerIdentity& tokenizer) {
  for (const TokenFile& file : sampler.files()) {
    std::vector<std::string> prefixes = {file.prefix()};
    for (const auto& pair : file.pairs()) prefixes.push_back(pair.prefix());
    for (const std::string& prefix : prefixes) {
      auto text = read_text_file(tokenizer_copy_path(prefix, tokenizer.kind));
      if (is_that_of(text, tokenizer)) return text;
    }
  }
  return std::nullopt;
}

using Companions = std::vector<std::pair<std::string, std::string>>;  // names and texts

/// A tokenizer's file beside weights, and what stands beside it.
struct FileOfWeights {
  std::string text;
  Companions companions;
};

Companions companions_in(const std::string& folder) {
  Companions found;
  for (const char* name : checkpoint::tokenizer_companions) {
    if (auto text = read_text_file(fmt::format("{}/{}", folder, name))) found.emplace_back(name, *std::move(text));
  }
  return found;
}

/// The folders that may be the run of a checkpoint, and have its tokenizer: two above by the text of its path, then two
/// above where it stands when links are followed, if that is another one.
std::vector<std::string> runs_of_checkpoint(const std::string& checkpoint) {
  namespace fs = std::filesystem;
  const auto two_above = [](const fs::path& path) {
    const fs::path folder = path.has_filename() ? path : path.parent_path();  // "." leaves a slash at the end
    return folder.parent_path().parent_path().string();
  };
  std::vector<std::string> runs = {two_above(fs::absolute(checkpoint).lexically_normal())};
  std::error_code error;
  const fs::path stands = fs::canonical(checkpoint, error);
  if (!error && two_above(stands) != runs.front()) runs.push_back(two_above(stands));
  return runs;
}

/// The file of that tokenizer: in a Hugging Face folder, in a checkpoint that was imported from one, or the copy that
/// is kept by the run which the weights, or their checkpoint, came from. The first that has companions, or else the
/// first.
std::optional<FileOfWeights> file_of_weights(const std::vector<std::string>& began_with,
                                             const TokenizerIdentity& tokenizer) {
  const std::string copy(tokenizer_file_name(tokenizer.kind));
  const std::string its = tokenizer.kind == TokenizerKind::bpe ? "tokenizer.json" : "tokenizer.model";
  std::optional<FileOfWeights> first;
  for (const std::string& from : began_with) {
    if (from.empty()) continue;
    std::vector<std::pair<std::string, std::string>> places = {{from, its}, {from + "/tokenizer", copy}};
    for (const std::string& run : runs_of_checkpoint(from)) places.emplace_back(run + "/tokenizer", copy);
    for (const auto& [folder, name] : places) {
      auto text = read_text_file(fmt::format("{}/{}", folder, name));
      if (!is_that_of(text, tokenizer)) continue;
      FileOfWeights found{*std::move(text), companions_in(folder)};
      if (!found.companions.empty()) return found;
      if (!first) first = std::move(found);
    }
  }
  return first;
}

/// Where a run keeps the copy of its tokenizer's file; empty for bytes.
std::string kept_tokenizer_path(const std::string& run_directory, TokenizerKind kind) {
  const std::string_view name = tokenizer_file_name(kind);
  return name.empty() ? "" : fmt::format("{}/tokenizer/{}", run_directory, name);
}

}  // namespace

DataIdentity identify_data(const Sampler& sampler, Communicator& control) {
  const bool tells = control.rank() == 0;
  return told_identity(sampler, facts_together(sampler.files(), control), tells);
}

DataIdentity identify_data(const Sampler& sampler) {
  return told_identity(sampler, read_facts(sampler.files()), true);
}

std::optional<TokenizerIdentity> tokenizer_of_data(const TokenFile& file, Communicator& control) {
  return facts_together({&file, 1}, control).front()->tokenizer;
}

std::string tokenizer_text(const DataIdentity& identity) {
  return identity.tokenizer ? json_of(*identity.tokenizer).dump() : "";
}

std::string tokenizer_of_checkpoint(const std::string& checkpoint, const TokenizerIdentity& tokenizer) {
  std::string there;
  const std::vector<std::string> runs = runs_of_checkpoint(checkpoint);
  for (const std::string& run : runs) {
    std::string kept = kept_tokenizer_path(run, tokenizer.kind);
    const auto file = kept.empty() ? std::nullopt : read_text_file(kept);
    if (is_that_of(file, tokenizer)) return kept;
    if (file && there.empty()) there = std::move(kept);
  }
  return there.empty() ? kept_tokenizer_path(runs.front(), tokenizer.kind) : there;
}

void keep_tokenizer(const RunDirectory& run, const Sampler& sampler, const TokenizerIdentity& tokenizer,
                    const std::vector<std::string>& began_with) {
  run.owner.verify();
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = run.path + "/tokenizer/" + name;
    replace_file_or_warn(path, text);
  };
  std::error_code ignored;
  std::filesystem::create_directories(run.path + "/tokenizer", ignored);
  write("identity.json", json_of(tokenizer).dump(2) + "\n");
  const std::string kept = kept_tokenizer_path(run.path, tokenizer.kind);
  if (kept.empty()) return;
  if (is_that_of(read_text_file(kept), tokenizer)) return;
  const auto of_weights = file_of_weights(began_with, tokenizer);
  const auto of_data = file_beside(sampler, tokenizer);
  if (!of_data && !of_weights) {
    log::warning("the file of the tokenizer {} is not beside the data ({}): the run has no copy, nor will exports",
                 text_of(tokenizer), tokenizer_copy_path(sampler.files().front().prefix(), tokenizer.kind));
    return;
  }
  write(std::string(tokenizer_file_name(tokenizer.kind)), of_data ? *of_data : of_weights->text);
  for (const char* name : checkpoint::tokenizer_companions) {
    std::filesystem::remove(fmt::format("{}/tokenizer/{}", run.path, name), ignored);  // another tokenizer's
  }
  for (const auto& [name, text] : of_weights ? of_weights->companions : Companions()) write(name, text);
}

}  // namespace octet
