// What an imported checkpoint keeps of its Hugging Face folder beside the weights.
#include "checkpoints/hugging_face/hugging_face_files.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoints/hugging_face/export.h"
#include "checkpoints/hugging_face/import.h"
#include "checkpoints/restore/verification.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"
#include "tests/support/git_lfs_pointer.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::error_of;

class KeptFiles : public testing::Test {
 protected:
  KeptFiles() {
    test::write_small(root_ / "c", 9);
    ExportOptions options;
    options.model = test::small_model();
    options.max_positions = 32;
    export_hugging_face({{root_ / "c", read_manifest(root_ / "c")}}, root_ / "folder", options);
  }
  void put(const std::string& name, const std::string& text) { test::put_file(root_ / ("folder/" + name), text); }
  Manifest import_to(const std::string& name) {
    return import_hugging_face(HuggingFaceModel(root_ / "folder"), root_ / name, test::small_state(0), 2, nullptr,
                               files_beside(root_ / "folder"));
  }
  /// As "FILE: WHAT" of each.
  std::string damage_of(const std::string& name) const {
    std::string text;
    for (const Damage& d : find_damage(root_ / name, read_manifest(root_ / name), 2)) text += d.file + ": " + d.what;
    return text;
  }
  test::TemporaryDirectory root_;
};

TEST_F(KeptFiles, AreThoseOfTheTokenizerAndTheConfigWithItsIds) {
  EXPECT_TRUE(files_beside(root_ / "folder").empty());
  EXPECT_EQ(import_to("alone").version, format_version) << "as programs before this read it";

  std::string config = test::content_of(root_ / "folder/config.json");
  config.replace(config.find("\"eos_token_id\": null"), 20, "\"eos_token_id\": [3, 4]");
  put("config.json", config);
  EXPECT_EQ(files_beside(root_ / "folder"), (std::vector<PlainFile>{{kept_config, config}}));
  put("tokenizer.json", "{}");
  put("tokenizer_config.json", "{\"a\": 1}");
  put("README.md", "no");
  const Manifest manifest = import_to("kept");
  EXPECT_EQ(manifest.version, format_version_with_files);
  EXPECT_EQ(read_manifest(root_ / "kept"), manifest);
  const std::vector<std::string> names = plain_files(manifest);
  EXPECT_EQ(names, (std::vector<std::string>{"tokenizer.json", "tokenizer_config.json", kept_config}));
  EXPECT_TRUE(has_tokenizer(names));
  EXPECT_EQ(test::content_of(root_ / "kept/tokenizer_config.json"), "{\"a\": 1}");
  EXPECT_EQ(read_special_ids(root_ / ("kept/" + std::string(kept_config))).eos, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(damage_of("kept"), "");
}

TEST_F(KeptFiles, ArePartsOfTheCheckpoint) {
  put("tokenizer.model", "pieces");
  import_to("kept");
  test::put_file(root_ / "kept/tokenizer.model", "pieceS");
  EXPECT_HAS(damage_of("kept"), "tokenizer.model: 6 bytes with hash ");
  fs::remove(root_ / "kept/tokenizer.model");
  EXPECT_HAS(damage_of("kept"), "tokenizer.model: is missing");
}

TEST_F(KeptFiles, GoWithACopyForOtherWriters) {
  put("tokenizer.model", "pieces");
  const Manifest manifest = import_to("kept"), copy = reshard(root_ / "kept", manifest, root_ / "copy", 5);
  EXPECT_EQ(plain_files(copy), plain_files(manifest));
  EXPECT_EQ(copy.files.size(), 5u + 2u);
  EXPECT_EQ(test::content_of(root_ / "copy/tokenizer.model"), "pieces");
  EXPECT_EQ(damage_of("copy"), "");
  EXPECT_TRUE(test::same_bits(test::read_values(root_ / "copy"), test::read_values(root_ / "kept")));
}

// Version 1 has files of tensors alone.
TEST_F(KeptFiles, AreNothingThatAnOlderManifestMayHave) {
  put("tokenizer.model", "pieces");
  Manifest manifest = import_to("kept");
  manifest.version = format_version;
  EXPECT_TRUE(plain_files(manifest).empty());
  const auto damage = find_damage(root_ / "kept", manifest, 1);
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].file, "tokenizer.model");
}

TEST_F(KeptFiles, IdsAreOneOrSeveralOrNone) {
  const std::string path = root_ / "ids.json";
  const auto of = [&](const std::string& text) {
    test::put_file(path, text);
    return read_special_ids(path);
  };
  EXPECT_TRUE(of("{}").empty());
  EXPECT_TRUE(of(R"({"bos_token_id": null, "eos_token_id": []})").empty());
  EXPECT_EQ(of(R"({"bos_token_id": 1})").bos, std::vector<std::int64_t>{1});
  EXPECT_EQ(of(R"({"eos_token_id": [2, 7]})").eos, (std::vector<std::int64_t>{2, 7}));
  EXPECT_HAS(error_of([&] { of(R"({"eos_token_id": "</s>"})"); }), "eos_token_id is \"</s>\"; expected");
  EXPECT_EQ(of(R"({"pad_token_id": -1})").pad, -1);
  EXPECT_FALSE(of(R"({"pad_token_id": null})").pad);
  EXPECT_HAS(error_of([&] { of(R"({"pad_token_id": [2]})"); }), "pad_token_id");
}

// An export of the import reads them, and would refuse them.
TEST_F(KeptFiles, IdsThatAnExportWouldRefuseAreRefused) {
  const std::string config = test::content_of(root_ / "folder/config.json"), vocabulary = "\"vocab_size\": 45";
  EXPECT_HAS(config, vocabulary);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    for (const char* value : {"\"7\"", "7.0", "-2", "45", "[45]"}) {
      auto json = nlohmann::ordered_json::parse(config);
      json[key] = nlohmann::json::parse(value);
      put("config.json", json.dump());
      EXPECT_HAS(error_of([&] { files_beside(root_ / "folder"); }), std::string("config.json: ") + key);
      put("tokenizer.json", "{}");  // with what else is kept
      EXPECT_HAS(error_of([&] { files_beside(root_ / "folder"); }), std::string("config.json: ") + key);
      fs::remove(root_ / "folder/tokenizer.json");
    }
  }
}

// Kept, it would pass for the tokenizer in every export.
TEST_F(KeptFiles, APointerOfGitLfsIsRefused) {
  for (const char* name : {"tokenizer.model", "tokenizer.json", "generation_config.json", "config.json"}) {
    put(name, octet::test::lfs_pointer);
    EXPECT_HAS(error_of([&] { files_beside(root_ / "folder"); }), std::string(name) + ": is a pointer of Git LFS");
    fs::remove(root_ / (std::string("folder/") + name));
  }
}

TEST_F(KeptFiles, WeightsThatStandThereTwiceAreRefused) {
  put("model.safetensors", "older weights");
  EXPECT_HAS(error_of([&] { const HuggingFaceModel model(root_ / "folder"); }),
             "has both model.safetensors and model.safetensors.index.json, which does not name it");
}

}  // namespace
}  // namespace octet::checkpoint
