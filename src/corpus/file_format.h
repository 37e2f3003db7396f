#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/corpus/byte_stream.h"

namespace octet {

/// What the records of a file are.
enum class TextFormat : std::uint8_t { text, jsonl, parquet };
constexpr auto names_of(TextFormat) {
  return std::to_array<std::string_view>({"text", "jsonl", "parquet"});
}
/// What --format says; nothing for auto. Usage error for any other word.
std::optional<TextFormat> text_format_from(std::string_view name);

struct FileFormat {
  TextFormat text = TextFormat::text;
  Packing packing = Packing::none;

  bool operator==(const FileFormat&) const = default;
};

/// "jsonl", "jsonl in gzip", as the log says it.
std::string text_of(const FileFormat& format);

/// What a file's name says: .gz, .zst and .zstd how it is packed; before that .txt, .md, .jsonl, .ndjson, .json and
/// .parquet what is in it.
struct NamedFormat {
  std::optional<TextFormat> text{};
  std::optional<Packing> packing{};
};
NamedFormat format_by_name(std::string_view path);

/// How a file that begins so is packed. Usage error for packings that are not read: xz, bzip2, zip.
Packing packing_by_content(std::string_view beginning, const std::string& path);

/// What a file is, by its content and its name together. Usage error where they disagree, for a file that begins as
/// JSONL does with a first line that is broken and a name that does not say what it is, and for an empty file whose
/// name says that it is packed. `asked`: what the user says that it is, which overrules what name and content say of
/// text and JSONL.
FileFormat format_of_file(const std::string& path, std::optional<TextFormat> asked);

}  // namespace octet
