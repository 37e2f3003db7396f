// A checkpoint of one small file. HDF5 crashes on damaged metadata, so a shard is opened only when its hash is that of
// the manifest: the reader "shard" is as in use. "shard-hdf5" gives the changed file a fitting hash, to record what
// HDF5 does with it; run.py leaves it out unless --hdf5 asks for it.
#include <array>
#include <numeric>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/hugging_face/hugging_face.h"
#include "checkpoints/hugging_face/safetensors.h"
#include "checkpoints/restore/resharding.h"
#include "checkpoints/restore/verification.h"
#include "src/base/error.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

using namespace checkpoint;

struct Small {
  Manifest manifest;
  std::string shard;  ///< the file's bytes
};

/// One tensor in two pieces, in one file that stays in the program's folder.
const Small& small() {
  static const Small made = [] {
    Small s;
    std::array<float, 24> values{};
    std::iota(values.begin(), values.end(), 1.0f);
    const StoredTensor tensor{"master/norm.weight", DType::f32, {6, 4}};
    s.manifest.state = {.step = 3,
                        .seed = 7,
                        .data_fingerprint = 9,
                        .loss = 2.5,
                        .config = "train:\n  steps: 3\n",
                        .layout = "dp_shard 1",
                        .program = "octet"};
    s.manifest.tensors = {tensor};
    s.manifest.pieces = {{.tensor = 0, .file = 0, .box = {{0, 0}, {4, 4}}},
                         {.tensor = 0, .file = 0, .box = {{4, 0}, {2, 4}}}};
    const std::vector<PieceData> pieces = {{tensor, s.manifest.pieces[0].box, values.data()},
                                           {tensor, s.manifest.pieces[1].box, values.data() + 16}};
    const std::string path = folder() / file_name(0);
    std::filesystem::remove(path);
    s.manifest.files = {write_shard_file(path, s.manifest.state, pieces)};
    s.shard = read_text_file(path).value();
    return s;
  }();
  return made;
}

/// As a run does that resumes: find_damage, then read.
void read_checkpoint(const Manifest& manifest) {
  if (!find_damage(folder(), manifest, 1).empty()) return;
  std::vector<std::vector<float>> memory;
  std::vector<WantedPiece> wanted;
  for (const StoredTensor& tensor : manifest.tensors) {
    if (tensor.dtype != DType::f32 || tensor.shape.elements() > 4096) continue;
    auto& to = memory.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    wanted.push_back({tensor.name, {{}, tensor.shape}, to.data(), DType::f32, tensor.shape});
  }
  read_pieces(folder(), manifest, wanted);
}

/// The text without its last line, to which the hash of itself is put: a changed text is to come past it.
void read_manifest_text(const std::string& text) {
  put(file_name(0), small().shard);
  read_checkpoint(parse_manifest(text + manifest_last_line(hash_of(text)), "manifest.json"));
}

std::string manifest_seed() {
  const std::string text = to_json(small().manifest);
  return text.substr(0, text.size() - manifest_last_line(self_hash(text)).size());
}

void read_shard(const std::string& bytes) {
  put(file_name(0), bytes);
  read_checkpoint(small().manifest);
}

void read_shard_with_its_hash(const std::string& bytes) {
  Manifest manifest = small().manifest;
  put(file_name(0), bytes);
  manifest.files[0].bytes = static_cast<std::int64_t>(bytes.size());
  manifest.files[0].hash = hash_of(bytes);
  read_checkpoint(manifest);
}

void read_safetensors(const std::string& bytes) {
  const SafetensorsReader reader(put("input.safetensors", bytes));
  for (const SafetensorsEntry& tensor : reader.header().tensors) {
    std::vector<char> to(static_cast<std::size_t>(std::min<std::int64_t>(tensor.bytes(), 4096)));
    reader.read(tensor, 0, static_cast<std::int64_t>(to.size()), to.data());
  }
}

std::vector<std::string> safetensors_seed() {
  const SafetensorsHeader header = lay_out_safetensors(
      {{.name = "model.norm.weight", .dtype = "F32", .shape = {2, 3}, .begin = 0, .end = 24},
       {.name = "model.embed_tokens.weight", .dtype = "BF16", .shape = {4}, .begin = 24, .end = 32}},
      {{"format", "pt"}});
  return {format_safetensors_header(header) + std::string(32, '\1')};
}

ModelConfig llama() {
  ModelConfig model{.name = "small",
                    .dim = 20,
                    .layers = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 6,
                    .ffn_dim = 31,
                    .vocab_size = 45};
  model.finish();
  return model;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"manifest", read_manifest_text, [] { return std::vector{manifest_seed()}; }},
      {"shard", read_shard, [] { return std::vector{small().shard}; }},
      {"shard-hdf5", read_shard_with_its_hash, [] { return std::vector{small().shard}; }},
      {"safetensors", read_safetensors, safetensors_seed},
      {"hugging-face", [](const std::string& text) { parse_hugging_face_config(text, "config.json"); },
       [] { return std::vector{hugging_face_config(llama(), 8192, "bfloat16")}; }},
      {"special-ids", [](const std::string& text) { parse_special_ids(text, "config.json"); },
       [] {
         return std::vector{hugging_face_config(llama(), 8192, "bfloat16", {.bos = {1}, .eos = {2, 3}, .pad = 0})};
       }},
  };
  return all;
}

}  // namespace octet::fuzz
