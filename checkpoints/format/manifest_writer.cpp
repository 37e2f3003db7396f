#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/manifest.h"

namespace octet::checkpoint {
namespace {

using Json = nlohmann::json;

void append_list(std::string& out, const char* key, const std::vector<std::string>& lines) {
  out += fmt::format("\"{}\": [", key);
  for (const std::string& line : lines) {
    out += &line == lines.data() ? "\n" : ",\n";
    out += line;
  }
  out += "\n],\n";
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

/// "[TENSOR,FILE,[OFFSET],[EXTENT]]". There can be millions: without a JSON value for each.
void append_piece(std::string& out, const StoredPiece& piece) {
  const std::int64_t* offset = piece.box.offset.data();
  fmt::format_to(std::back_inserter(out), "[{},{},[{}],[{}]]", piece.tensor, piece.file,
                 fmt::join(offset, offset + piece.box.extent.rank(), ","), fmt::join(piece.box.extent.list(), ","));
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
          Json{{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape.list()}}.dump());
    }
    append_list(out, "tensors", lines);
    lines.clear();
    for (const StoredFile& file : manifest.files) {
      lines.push_back(Json{{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash}}.dump());
    }
    append_list(out, "files", lines);
    out += "\"pieces\": [";
    for (const StoredPiece& piece : manifest.pieces) {
      out += &piece == manifest.pieces.data() ? "\n" : ",\n";
      append_piece(out, piece);
    }
    out += "\n],\n";
  } catch (const Json::exception& e) {  // text that is not UTF-8
    throw internal_error("checkpoints", "a manifest of step {} cannot be written as JSON: {}", manifest.state.step,
                         e.what());
  }
  return out + manifest_last_line(hash_of(out));
}

}  // namespace octet::checkpoint
