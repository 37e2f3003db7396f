#include "checkpoints/hugging_face/hugging_face.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "checkpoints/format/model_tensors.h"
#include "checkpoints/hugging_face/export.h"
#include "checkpoints/hugging_face/import.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::error_of;
using test::error_or_none;

ExportOptions small_options(WeightType type = WeightType::fp32, std::int64_t max_shard_bytes = 5'000'000'000,
                            bool tied = false) {
  ExportOptions options;
  options.model = test::small_model(tied);
  options.max_positions = 32;
  options.type = type;
  options.max_shard_bytes = max_shard_bytes;
  options.program = "octet test";
  return options;
}

class HuggingFace : public testing::Test {
 protected:
  ExportReport export_to(const std::string& name, const ExportOptions& options) {
    return export_hugging_face({whole("c")}, root_ / name, options);
  }
  WholeCheckpoint whole(const std::string& name) const { return {root_ / name, read_manifest(root_ / name)}; }
  /// Imports a folder and gives back all values.
  test::Values import_from(const std::string& name, int writers = 2) {
    const std::string to = root_ / (name + "-imported");
    import_hugging_face(HuggingFaceModel(root_ / name), to, test::small_state(0), writers);
    return test::read_values(to);
  }
  /// Changes a JSON file of a folder.
  void change(const std::string& file, const std::function<void(json&)>& by) {
    json content = json::parse(test::content_of(root_ / file));
    by(content);
    test::put_file(root_ / file, content.dump());
  }
  /// A folder with one file of these tensors.
  void write_single(const std::string& name, const std::vector<SafetensorsEntry>& tensors) {
    fs::create_directory(root_ / name);
    const SafetensorsHeader header = lay_out_safetensors(tensors, {});
    SafetensorsWriter file(root_ / (name + "/model.safetensors"), header);
    const std::string zeros(static_cast<std::size_t>(header.tensors.back().end), '\0');
    file.append(zeros.data(), header.tensors.back().end);
    file.finish();
    test::put_file(root_ / (name + "/config.json"), hugging_face_config(test::small_model(), 32, "float32"));
  }
  test::TemporaryDirectory root_;
};

/// What import makes of a checkpoint's values: the same weights, moments of zero.
test::Values weights_alone(test::Values values) {
  for (auto& [name, x] : values) {
    if (!name.starts_with("master/")) std::fill(x.begin(), x.end(), 0.0f);
  }
  return values;
}

std::vector<SafetensorsEntry> small_entries(const std::string& dtype = "F32") {
  std::vector<SafetensorsEntry> entries;
  for (const StoredTensor& t : model_tensors(test::small_model())) {
    std::vector<std::int64_t> shape;
    shape.reserve(static_cast<std::size_t>(t.shape.rank()));
    for (int i = 0; i < t.shape.rank(); ++i) shape.push_back(t.shape[i]);
    entries.push_back({.name = hugging_face_name(t.name), .dtype = dtype, .shape = shape});
  }
  return entries;
}

TEST_F(HuggingFace, NamesOfParameters) {
  EXPECT_EQ(hugging_face_name("tok_embeddings.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(hugging_face_name("layers.12.attention.wq.weight"), "model.layers.12.self_attn.q_proj.weight");
  EXPECT_EQ(hugging_face_name("layers.0.attention.wo.weight"), "model.layers.0.self_attn.o_proj.weight");
  EXPECT_EQ(hugging_face_name("layers.3.feed_forward.w1.weight"), "model.layers.3.mlp.gate_proj.weight");
  EXPECT_EQ(hugging_face_name("layers.3.feed_forward.w2.weight"), "model.layers.3.mlp.down_proj.weight");
  EXPECT_EQ(hugging_face_name("layers.3.feed_forward.w3.weight"), "model.layers.3.mlp.up_proj.weight");
  EXPECT_EQ(hugging_face_name("layers.3.ffn_norm.weight"), "model.layers.3.post_attention_layernorm.weight");
  EXPECT_EQ(hugging_face_name("norm.weight"), "model.norm.weight");
  EXPECT_EQ(hugging_face_name("output.weight"), "lm_head.weight");
  for (const char* name : {"layers.3.attention.wx.weight", "layers.", "layers", "", "norm"}) {
    EXPECT_HAS(error_of([&] { hugging_face_name(name); }, ExitCode::internal), "no parameter of Llama");
  }
}

TEST_F(HuggingFace, Fp32ComesBackToTheBit) {
  for (const bool tied : {false, true}) {
    fs::remove_all(root_ / "c");
    const auto values = test::write_small(root_ / "c", 9, 1, tied);
    const std::string folder = tied ? "tied" : "untied";
    const ExportReport report = export_to(folder, small_options(WeightType::fp32, 5'000'000'000, tied));
    EXPECT_EQ(report.files, 1);
    EXPECT_EQ(report.bytes, test::small_model(tied).parameters() * 4);
    EXPECT_EQ(HuggingFaceModel(root_ / folder).model().tied_embedding, tied);
    EXPECT_TRUE(test::same_bits(import_from(folder), weights_alone(values)));
  }
}

TEST_F(HuggingFace, Bf16ComesBackRoundedToNearestEven) {
  const auto tensors = training_tensors(test::small_model());
  test::Values values = test::values_of(tensors);
  for (auto& [name, x] : values) {
    for (float& v : x) v = v > 1e38f ? 1.5f : v;  // would round to infinity, which is not exported again
  }
  test::write_values(root_ / "c", test::small_state(9), tensors, values, 3);
  values = weights_alone(values);
  export_to("bf16", small_options(WeightType::bf16));
  for (auto& [name, x] : values) {
    for (float& v : x) v = static_cast<float>(bf16(v));
  }
  EXPECT_EQ(bf16::encode(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // a tie, to even
  EXPECT_TRUE(test::same_bits(import_from("bf16"), values));
  // What is bf16 already goes round without a change.
  export_hugging_face({whole("bf16-imported")}, root_ / "again", small_options(WeightType::bf16));
  EXPECT_EQ(test::content_of(root_ / "again/model-00001-of-00001.safetensors"),
            test::content_of(root_ / "bf16/model-00001-of-00001.safetensors"));
}

TEST_F(HuggingFace, FilesAreAsLargeAsAskedFor) {
  const auto values = test::write_small(root_ / "c", 9);
  const ExportReport report = export_to("many", small_options(WeightType::fp32, 4000));
  EXPECT_GT(report.files, 3);
  const json index = json::parse(test::content_of(root_ / "many/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], report.bytes);
  EXPECT_EQ(index["weight_map"].size(), static_cast<std::size_t>(report.tensors));
  std::size_t tensors = 0;
  for (int f = 1; f <= report.files; ++f) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", f, report.files);
    const SafetensorsReader file(root_ / ("many/" + name));
    EXPECT_EQ(file.header().metadata.at("format"), "pt");
    EXPECT_TRUE(file.header().tensors.size() == 1 || file.header().tensors.back().end <= 4000);
    for (const SafetensorsEntry& t : file.header().tensors) EXPECT_EQ(index["weight_map"][t.name], name);
    tensors += file.header().tensors.size();
  }
  EXPECT_EQ(tensors, static_cast<std::size_t>(report.tensors));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "many"), {}), report.files + 2);
  EXPECT_TRUE(test::same_bits(import_from("many", 5), weights_alone(values)));
}

TEST_F(HuggingFace, FoldersThatAreNotWholeAreRefused) {
  test::write_small(root_ / "c", 9);
  const ExportReport report = export_to("f", small_options(WeightType::fp32, 4000));
  const std::string last = fmt::format("f/model-{0:05}-of-{0:05}.safetensors", report.files);
  const auto refusal = [&](const std::string& folder = "f") {
    return error_or_none([&] { HuggingFaceModel model(root_ / folder); });
  };
  EXPECT_EQ(refusal(), "");
  fs::rename(root_ / last, root_ / "kept");
  EXPECT_HAS(refusal(), last + ": cannot be opened");
  fs::rename(root_ / "kept", root_ / last);

  const std::string index = test::content_of(root_ / "f/model.safetensors.index.json");
  change("f/model.safetensors.index.json", [](json& j) { j["weight_map"]["x"] = "../x.safetensors"; });
  EXPECT_HAS(refusal(), "not beside it");
  test::put_file(root_ / "f/model.safetensors.index.json", "{}");
  EXPECT_HAS(refusal(), "model.safetensors.index.json: weight_map is missing; expected an object");
  test::put_file(root_ / "f/model.safetensors.index.json", "{\"weight_map\": {\"x\": 1}}");
  EXPECT_HAS(refusal(), "weight_map.x is 1; expected a text");
  test::put_file(root_ / "f/model.safetensors.index.json", "{");
  EXPECT_HAS(refusal(), "expected an index of safetensors files");
  fs::remove(root_ / "f/model.safetensors.index.json");
  EXPECT_HAS(refusal(), "has neither model.safetensors nor");
  test::put_file(root_ / "f/model.safetensors.index.json", index);

  change("f/config.json", [](json& j) { j["intermediate_size"] = 32; });
  EXPECT_HAS(refusal(), "has shape [31,20]; config.json makes it [32,20]");
  change("f/config.json", [](json& j) { j["intermediate_size"] = 31, j["num_hidden_layers"] = 3; });
  EXPECT_HAS(refusal(), "no file has tensor model.layers.2.");
  change("f/config.json", [](json& j) { j["num_hidden_layers"] = 1; });
  EXPECT_HAS(refusal(), "tensor model.layers.1.");
  fs::remove(root_ / "f/config.json");
  EXPECT_HAS(refusal(), "f/config.json");
  EXPECT_HAS(refusal("none"), "none/config.json");
}

TEST_F(HuggingFace, TensorsThatAreOfAnotherTypeOrNoPartAreRefused) {
  auto entries = small_entries();
  write_single("good", entries);
  EXPECT_TRUE(HuggingFaceModel(root_ / "good").ignored().empty());

  entries.push_back({.name = "model.layers.0.self_attn.rotary_emb.inv_freq", .dtype = "F32", .shape = {3}});
  write_single("old", entries);
  EXPECT_EQ(HuggingFaceModel(root_ / "old").ignored().size(), 1u);

  entries.push_back({.name = "model.layers.0.self_attn.q_proj.bias", .dtype = "F32", .shape = {24}});
  write_single("bias", entries);
  EXPECT_HAS(error_of([&] { HuggingFaceModel model(root_ / "bias"); }), "q_proj.bias is no part of the model");

  // A head beside a tied embedding may be there as its copy; where it is another one, transformers reads both.
  write_single("tied", small_entries());
  change("tied/config.json", [](json& j) { j["tie_word_embeddings"] = true; });
  const std::string path = root_ / "tied/model.safetensors";
  EXPECT_EQ(HuggingFaceModel(root_ / "tied").ignored(), std::vector<std::string>{"lm_head.weight"});
  const std::int64_t end = SafetensorsReader(path).header().find("lm_head.weight")->end;
  std::string bytes = test::content_of(path);
  const std::int64_t data = std::ssize(bytes) - SafetensorsReader(path).header().tensors.back().end;
  bytes[static_cast<std::size_t>(data + end - 1)] = 1;
  test::put_file(path, bytes);
  EXPECT_HAS(error_of([&] { HuggingFaceModel model(root_ / "tied"); }),
             "tensor lm_head.weight is another one than model.embed_tokens.weight");

  write_single("f64", small_entries("F64"));
  EXPECT_HAS(error_of([&] { HuggingFaceModel model(root_ / "f64"); }), "is F64, expected F32, BF16 or F16");
}

TEST_F(HuggingFace, HalfPrecisionIsExact) {
  auto entries = small_entries("F16");
  fs::create_directory(root_ / "half");
  const SafetensorsHeader header = lay_out_safetensors(entries, {});
  {
    SafetensorsWriter file(root_ / "half/model.safetensors", header);
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(header.tensors.back().end / 2), 0);
    // The embedding comes first: one, the smallest and largest subnormal, the smallest normal and the largest number.
    const std::vector<std::uint16_t> first = {0x3C00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x8000};
    std::copy(first.begin(), first.end(), halves.begin());
    file.append(halves.data(), header.tensors.back().end);
    file.finish();
  }
  test::put_file(root_ / "half/config.json", hugging_face_config(test::small_model(), 32, "float16"));
  const auto values = import_from("half").at("master/tok_embeddings.weight");
  const std::vector<float> expected = {1.0f, 0x1p-24f, -1023 * 0x1p-24f, 0x1p-14f, 65504.0f, -65504.0f, -0.0f};
  EXPECT_TRUE(octet::test::same_bits(std::vector(values.begin(), values.begin() + 7), expected));
}

/// In each type, and whatever the place of the value; nothing is left of the checkpoint.
TEST_F(HuggingFace, WeightsThatAreNotFiniteAreNotImported) {
  struct Row {
    std::string dtype, bytes;
    const char* shown;
  };
  const std::vector<Row> rows = {{"F16", std::string("\x00\xFC", 2), "-inf"},
                                 {"BF16", std::string("\xC0\x7F", 2), "nan"},
                                 {"F32", std::string("\x00\x00\x80\x7F", 4), "inf"}};
  for (const Row& row : rows) {
    const std::string &dtype = row.dtype, &bytes = row.bytes;
    SCOPED_TRACE(dtype);
    write_single(dtype, small_entries(dtype));
    const std::string path = root_ / (dtype + "/model.safetensors");
    EXPECT_EQ(error_or_none([&] { import_from(dtype); }), "");
    fs::remove_all(root_ / (dtype + "-imported"));
    std::string content = test::content_of(path);
    const std::size_t last = content.size() - bytes.size();
    test::put_file(path, content.replace(last, bytes.size(), bytes));
    const std::string message = error_of([&] { import_from(dtype); });
    EXPECT_HAS(message, path + ": tensor " + small_entries().back().name + "[");
    EXPECT_HAS(message, fmt::format("] is {}; expected finite weights", row.shown));
    EXPECT_FALSE(fs::exists(root_ / (dtype + "-imported")));
  }
}

TEST_F(HuggingFace, RectanglesOfAParameter) {
  const auto values = test::write_small(root_ / "c", 9);
  export_to("f", small_options());
  const HuggingFaceModel model(root_ / "f");
  const auto& whole = values.at("master/output.weight");  // 45 x 20
  files::ReadProgress progress;
  std::vector<float> part(7 * 5);
  Box box;
  box.offset = {11, 3};
  box.extent = {7, 5};
  model.read_box("output.weight", box, part.data(), progress);
  for (std::size_t r = 0; r < 7; ++r) {
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(part[r * 5 + c], whole[(11 + r) * 20 + 3 + c]) << r << " " << c;
  }
  EXPECT_EQ(progress.bytes(), 7 * 20 * 4);
  box.offset = {4};
  box.extent = {6};
  model.read_box("norm.weight", box, part.data(), progress);
  const auto& norm = values.at("master/norm.weight");
  EXPECT_TRUE(std::equal(part.begin(), part.begin() + 6, norm.begin() + 4));
}

TEST_F(HuggingFace, AnotherModelThanTheCheckpointsIsRefused) {
  test::write_small(root_ / "c", 9);
  ExportOptions options = small_options();
  options.model.ffn_dim = 30;
  EXPECT_HAS(error_of([&] { export_to("x", options); }), "feed_forward.w1.weight is [31, 20] of f32");
  options = small_options();
  options.model.layers = 1;
  EXPECT_HAS(error_of([&] { export_to("x", options); }), "parameters, but model small has");
  options.model.layers = 3;
  EXPECT_HAS(error_of([&] { export_to("x", options); }), "has no master/layers.2.");
  EXPECT_HAS(error_of([&] { export_to("x", small_options(WeightType::fp32, 1000, true)); }), "parameters, but model");
  EXPECT_FALSE(fs::exists(root_ / "x"));
  EXPECT_FALSE(fs::exists(root_ / "x.tmp"));
}

/// Each file stays open, of which a folder may have more than a process may open at first.
TEST_F(HuggingFace, MoreFilesThanTheSoftLimitOfOpenOnes) {
  test::write_small(root_ / "c", 9);
  ASSERT_GT(export_to("many", small_options(WeightType::fp32, 1)).files, 10);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const FileHandle lowest(dup(STDERR_FILENO));
  const rlimit few{static_cast<rlim_t>(lowest.get()) + 4, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string error = test::error_or_none([&] { HuggingFaceModel model(root_ / "many"); });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(error, "");
}

TEST_F(HuggingFace, AnExportThatFailsLeavesNothing) {
  test::write_small(root_ / "c", 9);
  const WholeCheckpoint damaged = whole("c");
  fs::remove(root_ / "c/writer-00001.h5");
  EXPECT_THROW(export_hugging_face({damaged}, root_ / "out", small_options()), Error);
  EXPECT_FALSE(fs::exists(root_ / "out"));
  EXPECT_FALSE(fs::exists(root_ / "out.tmp"));
}

}  // namespace
}  // namespace octet::checkpoint
