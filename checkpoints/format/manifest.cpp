#include "checkpoints/format/manifest.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "checkpoints/format/format.h"
#include "checkpoints/format/hash.h"
#include "checkpoints/format/unknown_format.h"
#include "src/base/json_reader.h"
#include "src/base/printable.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {
namespace {

RunState read_state(const JsonReader& json) {
  RunState state{json.integer("step", 0),
                 json.at("seed").unsigned_integer(),
                 json.at("data_fingerprint").unsigned_integer(),
                 json.at("loss").number_or_nan(),
                 json.text("config"),
                 json.text("layout"),
                 json.text("program")};
  json.finish();
  return state;
}

StoredTensor read_tensor(const JsonReader& json) {
  StoredTensor tensor{json.text("name"), json.choice<DType>("dtype"), {}};
  if (!is_tensor_name(tensor.name)) throw json.at("name").refuse("the name of a tensor");
  const std::vector<std::int64_t> shape = json.at("shape").integers(0, INT64_MAX);
  if (shape.empty() || shape.size() > Shape::max_rank) {
    throw json.at("shape").refuse(fmt::format("1 to {} dimensions", Shape::max_rank));
  }
  std::int64_t bytes = size_of(tensor.dtype);
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) throw json.at("shape").refuse("less than 2^63 bytes");
  }
  tensor.shape = make_shape(shape);
  json.finish();
  return tensor;
}

StoredFile read_file_entry(const JsonReader& json) {
  StoredFile file{json.text("name"), json.integer("bytes", 0), json.text("xxh3_128")};
  // Never outside the directory, and never the manifest.
  if (!is_tensor_name(file.name) || file.name.find('/') != std::string::npos || file.name == manifest_name) {
    throw json.at("name").refuse("the name of a file of the checkpoint");
  }
  if (!is_hash(file.hash)) throw json.at("xxh3_128").refuse("32 hexadecimal digits");
  json.finish();
  return file;
}

StoredPiece read_piece(const JsonReader& json, const Manifest& manifest) {
  // What names another dataset than the derived one has more.
  if (json.size() != 4) throw json.refuse("tensor, file, offset and extent");
  const auto index = [&](std::size_t i, std::size_t size) {
    if (size == 0) throw json.element(i).refuse("no piece, since there are no tensors or no files");
    return static_cast<std::int32_t>(json.element(i).integer(std::int64_t{0}, static_cast<std::int64_t>(size) - 1));
  };
  StoredPiece piece;
  piece.tensor = index(0, manifest.tensors.size());
  piece.file = index(1, manifest.files.size());
  const int rank = manifest.tensors[static_cast<std::size_t>(piece.tensor)].shape.rank();
  const std::vector<std::int64_t> offset = json.element(2).integers(0, INT64_MAX, rank);
  const std::vector<std::int64_t> extent = json.element(3).integers(0, INT64_MAX, rank);
  std::copy(offset.begin(), offset.end(), piece.box.offset.begin());
  piece.box.extent = make_shape(extent);
  return piece;
}

void expect_distinct(std::vector<std::string> names, const std::string& path, const char* what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw usage_error("checkpoints", "{}: {} {} is there twice", path, what, *twice);
}

/// All but the pieces.
Manifest summary_of(const JsonReader& json, const std::string& path) {
  Manifest manifest;
  manifest.version = static_cast<int>(json.integer("version", format_version, format_version_with_files));
  manifest.state = read_state(json.at("state"));
  std::vector<std::string> tensors, files;
  for (const JsonReader& tensor : json.list("tensors")) {
    manifest.tensors.push_back(read_tensor(tensor));
    tensors.push_back(manifest.tensors.back().name);
  }
  for (const JsonReader& file : json.list("files")) {
    manifest.files.push_back(read_file_entry(file));
    files.push_back(manifest.files.back().name);
  }
  expect_distinct(std::move(tensors), path, "tensor");
  expect_distinct(std::move(files), path, "file");
  for (const char* checked : {"format", "xxh3_128", "pieces"}) json.at(checked);
  json.finish();
  return manifest;
}

void add_pieces(Manifest& manifest, const JsonReader& json, const std::string& path) {
  const JsonReader pieces = json.at("pieces");  // there can be millions
  manifest.pieces.reserve(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) manifest.pieces.push_back(read_piece(pieces.element(i), manifest));
  check_coverage(manifest, path);
}

}  // namespace

std::vector<std::string> plain_files(const Manifest& manifest) {
  std::vector<std::string> names;
  if (manifest.version < format_version_with_files) return names;
  std::vector<bool> has_pieces(manifest.files.size(), false);
  for (const StoredPiece& piece : manifest.pieces) has_pieces[static_cast<std::size_t>(piece.file)] = true;
  for (std::size_t f = 0; f < has_pieces.size(); ++f) {
    if (!has_pieces[f]) names.push_back(manifest.files[f].name);
  }
  return names;
}

std::string manifest_last_line(const std::string& hash) {
  return "\"xxh3_128\": \"" + hash + "\"}\n";
}

std::string self_hash(std::string_view text) {
  const std::size_t tail = manifest_last_line(std::string(32, '0')).size();
  if (text.size() < tail) return {};
  const std::string_view body = text.substr(0, text.size() - tail);
  std::string hash = hash_of(body);
  return text.substr(body.size()) == manifest_last_line(hash) ? hash : std::string();
}

namespace {

/// Its hash is right, so nobody has edited it: what is not known here was written by a program that is newer.
void expect_known(const nlohmann::json& json, const std::string& path) {
  const nlohmann::json version = json.value("version", nlohmann::json());
  if (version.is_number_integer() && version > format_version_with_files) {
    throw UnknownFormat(path, fmt::format("of version {}, which this program does not know (it reads {} and {})",
                                          version.dump(), format_version, format_version_with_files));
  }
  const auto expect_keys = [&](const nlohmann::json& object, const char* of, std::span<const std::string_view> known) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      throw UnknownFormat(
          path, fmt::format("with the key {}{}, which this program does not know", of, readable(cut_off(key, 80))));
    }
  };
  constexpr std::string_view keys[] = {"format", "version", "state", "tensors", "files", "pieces", "xxh3_128"};
  constexpr std::string_view of_state[] = {"step", "seed", "data_fingerprint", "loss", "config", "layout", "program"};
  expect_keys(json, "", keys);
  expect_keys(json.value("state", nlohmann::json()), "state.", of_state);
}

void expect_self_hash(const std::string& text, const std::string& path) {
  if (!self_hash(text).empty()) return;
  throw usage_error("checkpoints", "{}: the hash in its last line is not that of the lines before: damaged or cut off",
                    path);
}

/// The JSON of a manifest that this program knows.
nlohmann::json known_json(const std::string& text, const std::string& path) {
  auto json = parse_json(text, "checkpoints", path, "the manifest of a checkpoint");
  if (!json.is_object()) throw usage_error("checkpoints", "{} is not a JSON object", path);
  if (json.value("format", nlohmann::json()) != format_name) {
    throw usage_error("checkpoints", "{} has no \"format\": \"{}\"", path, format_name);
  }
  expect_known(json, path);
  if (const auto version = json.value("version", nlohmann::json());
      version != format_version && version != format_version_with_files) {
    throw usage_error("checkpoints", "{} is of version {}; this program reads versions {} and {}", path,
                      JsonReader(version, "checkpoints", path).shown(), format_version, format_version_with_files);
  }
  return json;
}

/// The text of a manifest with an empty list of pieces. Where it is not laid out in lines as to_json does it, all of
/// it, which says the same.
std::string without_pieces(const std::string& text) {
  constexpr std::string_view begin = "\n\"pieces\": [\n", end = "],\n";
  const std::size_t last_line = text.size() - manifest_last_line(std::string(32, '0')).size();
  const std::size_t found = text.find(begin);
  if (found == std::string::npos || last_line < end.size() + found + begin.size()) return text;
  const std::size_t list = found + begin.size(), list_end = last_line - end.size();
  // A piece's line begins with a bracket. A key behind the pieces, which a newer program may write, has to be seen.
  const bool is_last_key = text.find("\n\"", list - 1) == last_line - 1;
  if (!is_last_key || text.compare(list_end, end.size(), end) != 0) return text;
  return text.substr(0, list) + text.substr(list_end);
}

}  // namespace

Manifest parse_manifest(const std::string& text, const std::string& path) {
  expect_self_hash(text, path);
  const nlohmann::json json = known_json(text, path);
  const JsonReader reader(json, "checkpoints", path);
  Manifest manifest = summary_of(reader, path);
  add_pieces(manifest, reader, path);
  return manifest;
}

ManifestSummary parse_summary(const std::string& text, const std::string& path) {
  expect_self_hash(text, path);
  const nlohmann::json json = known_json(without_pieces(text), path);
  Manifest manifest = summary_of(JsonReader(json, "checkpoints", path), path);
  return {std::move(manifest.state), std::move(manifest.files)};
}

Manifest read_manifest(const std::string& checkpoint_directory) {
  const std::string path = checkpoint_directory + "/" + manifest_name;
  return parse_manifest(files::read_file(path), path);
}

ManifestSummary read_summary(const std::string& checkpoint_directory) {
  const std::string path = checkpoint_directory + "/" + manifest_name;
  return parse_summary(files::read_file(path), path);
}

}  // namespace octet::checkpoint
