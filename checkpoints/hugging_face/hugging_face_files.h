#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"

namespace octet::checkpoint {

// What stands beside the weights of a Hugging Face folder: the files of its tokenizer, and how texts begin and end. An
// imported checkpoint keeps them as plain files of the same names, so that an export writes them again, and who loads
// the checkpoint finds its tokenizer.

/// Where a checkpoint keeps the config.json of its folder: under that name its own folder would be taken for one of
/// Hugging Face. Only the ids are read from it; the model's shape is in the checkpoint's configuration.
inline constexpr const char* kept_config = "hugging_face_config.json";
inline constexpr const char* generation_config = "generation_config.json";

/// What Hugging Face's library reads beside a tokenizer.json or a tokenizer.model.
inline constexpr std::array tokenizer_companions = {"tokenizer_config.json", "special_tokens_map.json",
                                                    "added_tokens.json", "chat_template.jinja"};

/// Ids that begin and end a text, of which Hugging Face has one or a list, and the one that fills up batches, which
/// nothing here needs: exports say it as the folder did.
struct SpecialIds {
  std::vector<std::int64_t> bos{}, eos{};
  std::optional<std::int64_t> pad{};

  bool empty() const { return bos.empty() && eos.empty() && !pad; }
};

/// The ids that a config.json or generation_config.json says. Usage error that names the file and the key.
SpecialIds parse_special_ids(const std::string& json, const std::string& path);
SpecialIds read_special_ids(const std::string& path);

/// What an import keeps of a folder: the tokenizer's files, generation_config.json and, where it says ids or one of
/// these is there, config.json. Throws ReadError, and as read_special_ids; ids of config.json have to be below its
/// vocab_size. Usage error for a pointer of Git LFS in place of one.
std::vector<PlainFile> files_beside(const std::string& folder);

/// Whether a tokenizer.json or a tokenizer.model is among these names, which plain_files of a checkpoint gives.
bool has_tokenizer(const std::vector<std::string>& names);

}  // namespace octet::checkpoint
