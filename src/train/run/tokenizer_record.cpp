#include "src/train/run/tokenizer_record.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "checkpoints/hugging_face_files.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/comm/host_exchange.h"

namespace octet {
namespace {

using Facts = std::vector<std::optional<DataFacts>>;

Facts read_facts(const Sampler& sampler) {
  Facts facts;
  for (const TokenFile& file : sampler.files()) {
    facts.push_back(read_data_facts(data_facts_path(file.prefix()), file));
  }
  return facts;
}

/// What identify looks at, or why rank 0 could not read it.
std::string packed_facts(const Sampler& sampler) {
  nlohmann::json packed;
  try {
    for (const auto& facts : read_facts(sampler)) {
      nlohmann::json one = nlohmann::json::object();
      if (facts && facts->tokenizer) one["tokenizer"] = json_of(*facts->tokenizer);
      if (facts && facts->text_bytes) one["text_bytes"] = *facts->text_bytes;
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
    facts.emplace_back(std::move(of_one));
  }
  return facts;
}

DataIdentity told_identity(const Sampler& sampler, const Facts& facts, bool tells) {
  DataIdentity identity = identify(sampler.files(), facts, sampler.config().vocab_size);
  const std::string warning = unknown_tokenizer_text(identity);
  if (tells && identity.tokenizer) log::info("data: made with the tokenizer {}", text_of(*identity.tokenizer));
  if (tells && !warning.empty()) log::warning("{}", warning);
  return identity;
}

/// The copy beside the data that is the tokenizer of that fingerprint.
std::optional<std::string> file_beside(const Sampler& sampler, const TokenizerIdentity& tokenizer) {
  for (const TokenFile& file : sampler.files()) {
    std::vector<std::string> prefixes = {file.prefix()};
    for (const auto& pair : file.pairs()) prefixes.push_back(pair.prefix());
    for (const std::string& prefix : prefixes) {
      auto text = read_text_file(tokenizer_copy_path(prefix, tokenizer.kind));
      if (text && tokenizer_fingerprint(*text) == tokenizer.fingerprint) return text;
    }
  }
  return std::nullopt;
}

struct FileOfWeights {
  std::string folder, text;
};

/// The file of that tokenizer in a Hugging Face folder, or in a checkpoint that one was imported to; or the copy of the
/// run that the weights, or their checkpoint, are of.
std::optional<FileOfWeights> file_of_weights(const std::string& from, const TokenizerIdentity& tokenizer) {
  if (from.empty()) return std::nullopt;
  const std::string_view copy = tokenizer_file_name(tokenizer.kind);
  const std::string_view its = tokenizer.kind == TokenizerKind::bpe ? "tokenizer.json" : "tokenizer.model";
  for (const auto& [below, name] : {std::pair("", its), {"/tokenizer", copy}, {"/../../tokenizer", copy}}) {
    const std::string folder = from + below;
    auto text = read_text_file(fmt::format("{}/{}", folder, name));
    if (text && tokenizer_fingerprint(*text) == tokenizer.fingerprint) return FileOfWeights{folder, *std::move(text)};
  }
  return std::nullopt;
}

}  // namespace

DataIdentity identify_data(const Sampler& sampler, Communicator& hosts) {
  const bool tells = hosts.rank() == 0;
  const std::string packed = broadcast_bytes(tells ? packed_facts(sampler) : std::string(), 0, hosts);
  return told_identity(sampler, unpacked_facts(packed), tells);
}

DataIdentity identify_data(const Sampler& sampler) {
  return told_identity(sampler, read_facts(sampler), true);
}

std::string tokenizer_text(const DataIdentity& identity) {
  return identity.tokenizer ? json_of(*identity.tokenizer).dump() : "";
}

std::string kept_tokenizer_path(const std::string& run_directory, TokenizerKind kind) {
  const std::string_view name = tokenizer_file_name(kind);
  return name.empty() ? "" : fmt::format("{}/tokenizer/{}", run_directory, name);
}

void keep_tokenizer(const RunDirectory& run, const Sampler& sampler, const TokenizerIdentity& tokenizer,
                    const std::string& began_with) {
  run.owner.verify();
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = run.path + "/tokenizer/" + name;
    if (!replace_file(path, text)) log::warning("{}: cannot be written: {}", path, std::strerror(errno));
  };
  std::error_code ignored;
  std::filesystem::create_directories(run.path + "/tokenizer", ignored);
  write("identity.json", json_of(tokenizer).dump(2) + "\n");
  const std::string kept = kept_tokenizer_path(run.path, tokenizer.kind);
  if (kept.empty()) return;
  if (const auto before = read_text_file(kept); before && tokenizer_fingerprint(*before) == tokenizer.fingerprint) {
    return;
  }
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
    const auto text = of_weights ? read_text_file(fmt::format("{}/{}", of_weights->folder, name)) : std::nullopt;
    if (text) write(name, *text);
  }
}

}  // namespace octet
