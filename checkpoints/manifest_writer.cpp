#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "checkpoints/hash.h"
#include "checkpoints/manifest.h"

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

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> list;
  list.reserve(static_cast<std::size_t>(shape.rank()));
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

void append_numbers(std::string& out, const std::int64_t* numbers, int count) {
  for (int i = 0; i < count; ++i) fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "[" : ",", numbers[i]);
  out += ']';
}

/// "[TENSOR,FILE,[OFFSET],[EXTENT]]". There can be millions: without a JSON value for each.
void append_piece(std::string& out, const StoredPiece& piece) {
  fmt::format_to(std::back_inserter(out), "[{},{},", piece.tensor, piece.file);
  append_numbers(out, piece.box.offset.data(), piece.box.extent.rank());
  out += ',';
  std::array<std::int64_t, Shape::max_rank> extent{};
  for (int i = 0; i < piece.box.extent.rank(); ++i) extent[static_cast<std::size_t>(i)] = piece.box.extent[i];
  append_numbers(out, extent.data(), piece.box.extent.rank());
  out += ']';
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
