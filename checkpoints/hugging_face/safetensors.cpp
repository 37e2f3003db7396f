#include "checkpoints/hugging_face/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/json_reader.h"
#include "src/base/printable.h"

static_assert(std::endian::native == std::endian::little, "lengths and elements are stored as they lie in memory");

namespace octet::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr const char* metadata_key = "__metadata__";
constexpr std::size_t most_of_a_name = 200;  ///< in a message

/// Cut off where it is long.
std::string shown(const Json& value) {
  return JsonReader(value, "checkpoints", "").shown();
}

std::vector<std::int64_t> integers(const Json& list, const char* what, const std::string& where) {
  std::vector<std::int64_t> out;
  if (!list.is_array()) throw usage_error("checkpoints", "{}: {} is no list", where, what);
  for (const Json& value : list) {
    // Above 63 bits the library has no signed number, and says unsigned.
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    if (!fits) throw usage_error("checkpoints", "{}: {} has {}, expected an integer >= 0", where, what, shown(value));
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

/// Bytes of an element; nothing for a name that is not of the format, and for those below a byte.
std::optional<std::int64_t> bytes_of_element(std::string_view dtype) {
  static const std::map<std::string_view, std::int64_t> bytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8},
  };
  const auto found = bytes.find(dtype);
  return found == bytes.end() ? std::nullopt : std::optional(found->second);
}

/// Bytes of a shape; throws where they are beyond 63 bits.
std::int64_t bytes_of_shape(const SafetensorsEntry& t, std::int64_t element_bytes, const std::string& where) {
  // With an extent of 0 the others may be anything.
  if (std::ranges::find(t.shape, 0) != t.shape.end()) return 0;
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : t.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) throw usage_error("checkpoints", "{}: shape too large", where);
  }
  return bytes;
}

SafetensorsEntry parse_entry(const std::string& name, const Json& json, const std::string& path) {
  const std::string where = fmt::format("{}: tensor {}", path, readable(cut_off(name, most_of_a_name)));
  if (!json.is_object()) throw usage_error("checkpoints", "{} is no JSON object", where);
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) throw usage_error("checkpoints", "{} has no {}", where, key);
  }
  SafetensorsEntry t{.name = name, .dtype = {}, .shape = integers(json["shape"], "shape", where)};
  if (json["dtype"].is_string()) t.dtype = json["dtype"].get<std::string>();
  const auto element_bytes = bytes_of_element(t.dtype);
  if (!element_bytes) throw usage_error("checkpoints", "{} has the unknown dtype {}", where, shown(json["dtype"]));

  const auto offsets = integers(json["data_offsets"], "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw usage_error("checkpoints", "{}: data_offsets {}, expected [begin, end]", where, shown(json["data_offsets"]));
  }
  t.begin = offsets[0];
  t.end = offsets[1];
  const std::int64_t expected = bytes_of_shape(t, *element_bytes, where);
  if (t.bytes() != expected) {
    throw usage_error("checkpoints", "{} has {} bytes between its offsets; shape {} of {} needs {}", where, t.bytes(),
                      shown(json["shape"]), t.dtype, expected);
  }
  return t;
}

std::map<std::string, std::string> parse_metadata(const Json& json, const std::string& path) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      throw usage_error("checkpoints", "{}: {} has {} = {}", path, metadata_key, readable(cut_off(key, most_of_a_name)),
                        shown(value));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// The tensors fill the data from end to end.
void check_tiling(const std::vector<SafetensorsEntry>& sorted, std::int64_t data_bytes, const std::string& path) {
  std::int64_t end = 0;
  for (const SafetensorsEntry& t : sorted) {
    if (t.begin != end) {
      throw usage_error("checkpoints", "{}: tensor {} begins at byte {} of the data, expected {}", path,
                        readable(cut_off(t.name, most_of_a_name)), t.begin, end);
    }
    end = t.end;
  }
  if (end != data_bytes) {
    throw usage_error("checkpoints", "{}: the tensors end at byte {} of the data, but the file has {} bytes of data",
                      path, end, data_bytes);
  }
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &SafetensorsEntry::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsHeader lay_out_safetensors(std::vector<SafetensorsEntry> tensors,
                                      std::map<std::string, std::string> metadata) {
  std::int64_t end = 0;
  for (SafetensorsEntry& t : tensors) {
    const std::int64_t element_bytes = bytes_of_element(t.dtype).value_or(0);
    if (element_bytes == 0 || end % element_bytes != 0) {
      throw internal_error("checkpoints", "safetensors: tensor {} of {} cannot begin at byte {}", t.name, t.dtype, end);
    }
    t.begin = end;
    t.end = end += bytes_of_shape(t, element_bytes, t.name);
  }
  return {std::move(tensors), std::move(metadata)};
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) root[metadata_key] = header.metadata;
  for (const SafetensorsEntry& t : header.tensors) {
    root[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {t.begin, t.end}}};
  }
  std::string json = root.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string text(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(text.data(), &length, sizeof length);
  return text + json;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::int64_t data_bytes, const std::string& path) {
  SafetensorsHeader header;
  // A name that is given twice would silently win over the first, and is refused here.
  const Json root = parse_json(json, "checkpoints", path, "the header of a safetensors file");
  if (!root.is_object()) throw usage_error("checkpoints", "{}: the header is no JSON object", path);
  for (const auto& [name, value] : root.items()) {
    if (name == metadata_key) {
      header.metadata = parse_metadata(value, path);
    } else {
      header.tensors.push_back(parse_entry(name, value, path));
    }
  }
  // Those without elements stand in the order of their names.
  std::ranges::stable_sort(header.tensors, {}, [](const auto& t) { return std::pair(t.begin, t.end); });
  check_tiling(header.tensors, data_bytes, path);
  return header;
}

}  // namespace octet::checkpoint
