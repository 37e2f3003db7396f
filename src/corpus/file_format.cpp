#include "src/corpus/file_format.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/corpus/json_line.h"

namespace octet {
namespace {

constexpr std::size_t beginning_bytes = 64 << 10;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

constexpr auto text_suffixes =
    std::to_array<std::pair<std::string_view, TextFormat>>({{".txt", TextFormat::text},
                                                            {".text", TextFormat::text},
                                                            {".md", TextFormat::text},
                                                            {".jsonl", TextFormat::jsonl},
                                                            {".ndjson", TextFormat::jsonl},
                                                            {".json", TextFormat::jsonl},
                                                            {".parquet", TextFormat::parquet}});
constexpr auto packed_suffixes = std::to_array<std::pair<std::string_view, Packing>>(
    {{".gz", Packing::gzip}, {".zst", Packing::zstd}, {".zstd", Packing::zstd}});

template <typename Table>
auto take_suffix(std::string_view& name, const Table& table) {
  std::optional<typename Table::value_type::second_type> found;
  for (const auto& [suffix, meaning] : table) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    found = meaning;
    break;
  }
  return found;
}

/// Whether the first line begins as a record does, whatever is broken in the rest of it. A brace alone on its line
/// begins JSON that goes over several lines, and no record.
bool begins_record(std::string_view beginning) {
  if (beginning.starts_with(byte_order_mark)) beginning.remove_prefix(byte_order_mark.size());
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || beginning[first] != '{') return false;
  const std::size_t next = beginning.find_first_not_of(" \t\r", first + 1);
  return next != std::string_view::npos && beginning[next] != '\n';
}

/// Whether the first line begins with an object and its first key, as hardly a text does.
bool begins_with_key(std::string_view beginning) {
  if (!begins_record(beginning)) return false;
  const std::size_t brace = beginning.find('{');
  return beginning[beginning.find_first_not_of(" \t\r", brace + 1)] == '"';
}

std::string beginning_of(ByteStream& stream) {
  std::string text(beginning_bytes, '\0');
  text.resize(stream.read(text));
  return text;
}

Error disagree(const std::string& path, std::string_view by_name, std::string_view by_content,
               std::string_view advice) {
  return usage_error("corpus", "{}: its name says {}, its content {}; {}", path, by_name, by_content, advice);
}

Packing packing_of(const std::string& path, std::string_view beginning, const NamedFormat& named) {
  const Packing packing = packing_by_content(beginning, path);
  if (!named.packing && named.text && packing != Packing::none) {
    throw disagree(path, name_of(*named.text), name_of(packing), "expected a name that ends in .gz, .zst or .zstd");
  }
  if (named.packing && *named.packing != packing) {
    throw disagree(path, name_of(*named.packing), beginning.empty() ? "that it is empty" : name_of(packing),
                   "is it whole? expected both to be the same");
  }
  return packing;
}

/// What a file is that begins so when unpacked: JSONL begins with a JSON object on one line, of which the beginning may
/// not show the end. Nothing for an empty file. Usage error for JSON over several lines, where the name says JSON.
std::optional<TextFormat> format_by_content(std::string_view beginning) {
  if (beginning.empty()) return std::nullopt;
  if (beginning.starts_with(byte_order_mark)) beginning.remove_prefix(byte_order_mark.size());
  if (beginning.starts_with("PAR1")) return TextFormat::parquet;
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || beginning[first] != '{') return TextFormat::text;
  const std::string_view line = beginning.substr(first, beginning.find('\n', first) - first);
  if (first + line.size() < beginning.size() || beginning.size() < beginning_bytes) {
    return is_json_object(line) ? TextFormat::jsonl : TextFormat::text;
  }
  const std::size_t key = line.find_first_not_of(" \t", 1);  // the line's end is not in sight
  return key != std::string_view::npos && line[key] == '"' ? TextFormat::jsonl : TextFormat::text;
}

}  // namespace

std::string text_of(const FileFormat& format) {
  if (format.packing == Packing::none) return std::string(name_of(format.text));
  return fmt::format("{} in {}", name_of(format.text), name_of(format.packing));
}

NamedFormat format_by_name(std::string_view path) {
  NamedFormat named;
  named.packing = take_suffix(path, packed_suffixes);
  named.text = take_suffix(path, text_suffixes);
  return named;
}

Packing packing_by_content(std::string_view beginning, const std::string& path) {
  using namespace std::string_view_literals;
  constexpr auto refused = std::to_array<std::pair<std::string_view, std::string_view>>({{"\xFD"
                                                                                          "7zXZ"sv,
                                                                                          "xz"},
                                                                                         {"BZh91AY"sv, "bzip2"},
                                                                                         {"PK\x03\x04"sv, "zip"}});
  for (const auto& [magic, packer] : refused) {
    if (!beginning.starts_with(magic)) continue;
    throw usage_error("corpus", "{}: is packed by {}; expected text, gzip or zstd: unpack it first", path, packer);
  }
  if (beginning.starts_with("\x1F\x8B"sv)) return Packing::gzip;
  if (beginning.starts_with("\x28\xB5\x2F\xFD"sv)) return Packing::zstd;
  // A frame to be skipped, as pzstd begins with.
  const bool skipped =
      beginning.size() >= 4 && beginning.substr(1, 3) == "\x2A\x4D\x18"sv && (beginning[0] & 0xF0) == 0x50;
  return skipped ? Packing::zstd : Packing::none;
}

std::optional<TextFormat> text_format_from(std::string_view name) {
  if (name == "auto") return std::nullopt;
  if (const auto format = value_named<TextFormat>(name)) return *format;
  throw usage_error("corpus", "--format is \"{}\"; expected auto, text, jsonl or parquet", name);
}

FileFormat format_of_file(const std::string& path, std::optional<TextFormat> asked) {
  const NamedFormat named = format_by_name(path);
  FileFormat format;
  std::string beginning = beginning_of(*open_plain(path));
  format.packing = packing_of(path, beginning, named);
  if (format.packing != Packing::none) beginning = beginning_of(*open_packed(path, format.packing));
  const std::optional<TextFormat> content = format_by_content(beginning);

  const bool is_parquet = content == TextFormat::parquet;
  const bool says_parquet = asked.value_or(named.text.value_or(TextFormat::text)) == TextFormat::parquet;
  if (is_parquet != says_parquet && (asked || named.text)) {
    throw disagree(path, says_parquet ? "parquet" : name_of(asked.value_or(*named.text)),
                   is_parquet ? "parquet" : "something else", "is it whole? expected both to be the same");
  }
  if (is_parquet && format.packing != Packing::none) {
    throw usage_error("corpus", "{}: is Parquet in {}; Parquet packs by itself: unpack it first", path,
                      name_of(format.packing));
  }
  if (asked || is_parquet || !content) {
    format.text = asked.value_or(content.value_or(named.text.value_or(TextFormat::text)));
    return format;
  }
  if (named.text == TextFormat::jsonl && begins_record(beginning)) {
    format.text = TextFormat::jsonl;  // a first line that is broken is dealt with as a later one is
    return format;
  }
  if (!named.text && content == TextFormat::text && begins_with_key(beginning)) {
    throw usage_error(
        "corpus",
        "{}: it begins as JSONL does, but its first line is no JSON object, and its name does not say what "
        "it is; expected --format jsonl or --format text",
        path);
  }
  if (named.text && *named.text != *content) {
    throw disagree(path, name_of(*named.text), name_of(*content),
                   *content == TextFormat::jsonl
                       ? "rename it, or say what it is by --format"
                       : "its first line is no JSON object; expected an object a line, or --format");
  }
  format.text = *content;
  return format;
}

}  // namespace octet
