#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json_reader.h"

namespace octet {

/// Takes a row by its columns, and as a whole: rows of the same columns and values are equal, whatever file they are
/// of.
using TakeRow = std::function<void(const JsonReader& row, const nlohmann::json& json)>;

/// The files that are a dataset's split, in their order: FOLDER/SPLIT.jsonl, FOLDER/SPLIT.parquet, or the pieces of the
/// latter as Hugging Face names them, SPLIT-00000-of-00002.parquet and so on. Usage error where none is there, a piece
/// is missing, or more than one of these is there.
std::vector<std::string> dataset_files(const std::string& folder, std::string_view split);

/// Calls take for each row of a file: of Parquet where its name ends so, of JSONL otherwise. Returns XXH3-64 of its
/// bytes. Usage error that names file and line, or row, for what is no JSON object, for a file that cannot be read, and
/// for one without a row.
std::uint64_t read_dataset_file(const std::string& path, const TakeRow& take);
/// The same of the text of JSONL.
void read_dataset_text(std::string_view text, const std::string& path, const TakeRow& take);
/// The same of the bytes of Parquet.
void read_dataset_parquet(std::string_view bytes, const std::string& path, const TakeRow& take);

}  // namespace octet
