#include <cmath>

#include "checkpoints/hash.h"
#include "checkpoints/manifest.h"
#include "checkpoints/manifest_json.h"

namespace octet::checkpoint {
namespace {

using json_value::Json;

void append_list(std::string& out, const char* key, const std::vector<std::string>& lines) {
  out += fmt::format("\"{}\": [", key);
  for (const std::string& line : lines) {
    out += &line == lines.data() ? "\n" : ",\n";
    out += line;
  }
  out += "\n],\n";
}

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> list;
  for (int i = 0; i < shape.rank(); ++i) list.push_back(shape[i]);
  return list;
}

Json state_json(const RunState& state) {
  return {{"step", state.step},
          {"seed", state.seed},
          {"data_fingerprint", state.data_fingerprint},
          {"loss", std::isfinite(state.loss) ? Json(state.loss) : Json()},
          {"config", state.config},
          {"layout", state.layout},
          {"program", state.program}};
}

std::string piece_json(const StoredPiece& piece, const std::vector<StoredTensor>& tensors) {
  const auto rank = static_cast<std::size_t>(piece.box.extent.rank());
  Json line = {piece.tensor, piece.file, std::vector(piece.box.offset.begin(), piece.box.offset.begin() + rank),
               extents(piece.box.extent)};
  // Left out where it follows from the rest: nearly half of a large manifest.
  const auto tensor = static_cast<std::size_t>(piece.tensor);
  if (tensor >= tensors.size() || piece.dataset != dataset_name(tensors[tensor].name, piece.box)) {
    line.push_back(piece.dataset);
  }
  return line.dump();
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  std::string out;
  try {
    out = fmt::format("{{\"format\": \"{}\", \"version\": {},\n\"state\": {},\n", format_name, manifest.version,
                      state_json(manifest.state).dump());
    std::vector<std::string> lines;
    for (const StoredTensor& tensor : manifest.tensors) {
      lines.push_back(
          Json{{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", extents(tensor.shape)}}.dump());
    }
    append_list(out, "tensors", lines);
    lines.clear();
    for (const StoredFile& file : manifest.files) {
      lines.push_back(Json{{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash}}.dump());
    }
    append_list(out, "files", lines);
    lines.clear();
    for (const StoredPiece& piece : manifest.pieces) lines.push_back(piece_json(piece, manifest.tensors));
    append_list(out, "pieces", lines);
  } catch (const Json::exception& e) {  // text that is not UTF-8
    throw internal_error("checkpoints", "a manifest of step {} cannot be written as JSON: {}", manifest.state.step,
                         e.what());
  }
  return out + json_value::last_line(hash_of(out));
}

}  // namespace octet::checkpoint
