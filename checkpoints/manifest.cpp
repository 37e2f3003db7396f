#include "checkpoints/manifest.h"

#include <algorithm>

#include "checkpoints/box.h"
#include "checkpoints/hash.h"
#include "checkpoints/manifest_json.h"
#include "checkpoints/read_file.h"

namespace octet::checkpoint {
namespace {

using json_value::Json;

struct Reader {
  std::string path;

  RunState state(const Json& json) const {
    const std::string where = path + ": state";
    json_value::expect_keys(json, {"step", "seed", "data_fingerprint", "loss", "config", "layout", "program"}, where);
    return {json_value::natural(json["step"], where + ".step"),
            json_value::bits(json["seed"], where + ".seed"),
            json_value::bits(json["data_fingerprint"], where + ".data_fingerprint"),
            json_value::number_or_nan(json["loss"], where + ".loss"),
            json_value::text(json["config"], where + ".config"),
            json_value::text(json["layout"], where + ".layout"),
            json_value::text(json["program"], where + ".program")};
  }

  StoredTensor tensor(const Json& json, std::size_t i) const {
    const std::string where = fmt::format("{}: tensors[{}]", path, i);
    json_value::expect_keys(json, {"name", "dtype", "shape"}, where);
    StoredTensor tensor;
    tensor.name = json_value::text(json["name"], where + ".name");
    if (!is_tensor_name(tensor.name)) throw usage_error("checkpoints", "{} has the bad name {}", where, tensor.name);
    tensor.dtype = json_value::dtype(json["dtype"], where + ".dtype");
    const auto shape = json_value::naturals(json["shape"], where + ".shape");
    if (shape.empty() || shape.size() > Shape::max_rank) {
      throw usage_error("checkpoints", "{} has {} dimensions, expected 1 to {}", where, shape.size(), Shape::max_rank);
    }
    std::int64_t bytes = size_of(tensor.dtype);
    for (const std::int64_t extent : shape) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) {
        throw usage_error("checkpoints", "{} has more than 2^63 bytes: {}", where, json["shape"].dump());
      }
    }
    tensor.shape = make_shape(shape);
    return tensor;
  }

  StoredFile file(const Json& json, std::size_t i) const {
    const std::string where = fmt::format("{}: files[{}]", path, i);
    json_value::expect_keys(json, {"name", "bytes", "xxh3_128"}, where);
    StoredFile file{json_value::text(json["name"], where + ".name"),
                    json_value::natural(json["bytes"], where + ".bytes"),
                    json_value::text(json["xxh3_128"], where + ".xxh3_128")};
    // Never outside the directory, and never the manifest.
    if (!is_tensor_name(file.name) || file.name.find('/') != std::string::npos || file.name == manifest_name) {
      throw usage_error("checkpoints", "{} has the bad name {}", where, file.name);
    }
    if (!is_hash(file.hash)) {
      throw usage_error("checkpoints", "{} has the hash {}, expected 32 hexadecimal digits", where, file.hash);
    }
    return file;
  }

  StoredPiece piece(const Json& json, std::size_t i, const Manifest& manifest) const {
    const std::string where = fmt::format("{}: pieces[{}]", path, i);
    const std::size_t fields = json_value::expect_array(json, where).size();
    if (fields != 4) {  // what names another dataset than the derived one too
      throw usage_error("checkpoints", "{} has {} fields, expected tensor, file, offset and extent", where, fields);
    }
    StoredPiece piece;
    piece.tensor = json_value::index(json[0], manifest.tensors.size(), where + "[0] (tensor)");
    piece.file = json_value::index(json[1], manifest.files.size(), where + "[1] (file)");
    const auto offset = json_value::naturals(json[2], where + "[2] (offset)");
    const auto extent = json_value::naturals(json[3], where + "[3] (extent)");
    const StoredTensor& tensor = manifest.tensors[static_cast<std::size_t>(piece.tensor)];
    const auto rank = static_cast<std::size_t>(tensor.shape.rank());
    if (offset.size() != rank || extent.size() != rank) {
      throw usage_error("checkpoints", "{} has {} offsets and {} extents, tensor {} has {} dimensions", where,
                        offset.size(), extent.size(), tensor.name, rank);
    }
    std::copy(offset.begin(), offset.end(), piece.box.offset.begin());
    piece.box.extent = make_shape(extent);
    return piece;
  }
};

void expect_distinct(std::vector<std::string> names, const std::string& path, const char* what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw usage_error("checkpoints", "{}: {} {} is there twice", path, what, *twice);
}

Manifest from_json(const Json& json, const std::string& path) {
  json_value::expect_keys(json, {"format", "version", "state", "tensors", "files", "pieces", "xxh3_128"}, path);
  const Reader reader{path};
  Manifest manifest;
  manifest.state = reader.state(json["state"]);
  std::vector<std::string> tensors, files;
  for (const Json& tensor : json_value::expect_array(json["tensors"], path + ": tensors")) {
    manifest.tensors.push_back(reader.tensor(tensor, manifest.tensors.size()));
    tensors.push_back(manifest.tensors.back().name);
  }
  for (const Json& file : json_value::expect_array(json["files"], path + ": files")) {
    manifest.files.push_back(reader.file(file, manifest.files.size()));
    files.push_back(manifest.files.back().name);
  }
  expect_distinct(std::move(tensors), path, "tensor");
  expect_distinct(std::move(files), path, "file");
  for (const Json& piece : json_value::expect_array(json["pieces"], path + ": pieces")) {
    manifest.pieces.push_back(reader.piece(piece, manifest.pieces.size(), manifest));
  }
  check_coverage(manifest, path);
  return manifest;
}

}  // namespace

std::string self_hash(std::string_view text) {
  const std::size_t tail = json_value::last_line(std::string(32, '0')).size();
  if (text.size() < tail) return {};
  const std::string_view body = text.substr(0, text.size() - tail);
  std::string hash = hash_of(body);
  return text.substr(body.size()) == json_value::last_line(hash) ? hash : std::string();
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  if (self_hash(text).empty()) {
    throw usage_error("checkpoints",
                      "{}: the hash in its last line is not that of the lines before: damaged or cut off", path);
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw usage_error("checkpoints", "{} is not a JSON object", path);
  if (json.value("format", Json()) != format_name) {
    throw usage_error("checkpoints", "{} has no \"format\": \"{}\"", path, format_name);
  }
  if (json.value("version", Json()) != format_version) {
    throw usage_error("checkpoints", "{} is of version {}; this program reads version {}", path,
                      json.value("version", Json()).dump(), format_version);
  }
  return from_json(json, path);
}

Manifest read_manifest(const std::string& checkpoint_directory) {
  const std::string path = checkpoint_directory + "/" + manifest_name;
  return parse_manifest(read_file(path), path);
}

}  // namespace octet::checkpoint
