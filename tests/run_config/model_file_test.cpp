#include "src/run_config/options/model_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checkpoints/hugging_face/hugging_face.h"
#include "src/base/options/yaml.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::string models = OCTET_SOURCE_DIR "/configs/models/";

/// A folder that ends with the test, with `configs/runs` and `configs/models` of its own.
class ModelFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "configs/models");
    fs::create_directories(root_ / "configs/runs");
  }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(root_ / name) << text;
    return root_ / name;
  }
  std::string refusal(const std::string& path) {
    return test::error_of([&] { read_model(path); });
  }

  test::TempFolder root_;
};

constexpr const char* tiny = "dim: 64\nlayers: 1\nheads: 2\nkv_heads: 1\nffn_dim: 96\nvocab_size: 256\n";

// Published: torchtitan and Meta for 8b, 70b and 405b, IBM's fms-fsdp for 1.8b and 3.2b. Ours by the formula.
TEST_F(ModelFile, ParameterCounts) {
  const std::vector<std::pair<std::string, std::int64_t>> counts = {
      {"1.8b", 1884391424}, {"3.2b", 3204074496}, {"8b", 8030261248}, {"70b", 70553706496}, {"405b", 405853388800},
      {"5m", 4852992},      {"5m-bpe", 6819072},  {"10m", 9771264},   {"160m", 152783616}};
  for (const auto& [name, parameters] : counts) {
    const ModelConfig m = read_model(models + name + ".yaml");
    EXPECT_EQ(m.parameters(), parameters) << name;
    EXPECT_EQ(m.name, name);
    EXPECT_EQ(m.rope_theta, 500000);
    EXPECT_FALSE(m.tied_embedding);
  }
}

/// Against what Meta's config.json on Hugging Face says.
TEST_F(ModelFile, PublishedModelsWithScaledRope) {
  const char* published =
      R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": false, "mlp_bias": false,
       "hidden_act": "silu", "hidden_size": {}, "num_hidden_layers": {}, "num_attention_heads": {},
       "num_key_value_heads": 8, "intermediate_size": {}, "vocab_size": 128256, "max_position_embeddings": 131072,
       "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "rope_scaling": {{"factor": {:.1f}, "low_freq_factor": 1.0,
       "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}},
       "tie_word_embeddings": {}}})";
  struct Model {
    const char* name;
    std::int64_t parameters;
    int dim, layers, heads, ffn;
    double factor;
    bool tied;
  };
  for (const Model& m : {Model{"llama3.1-8b", 8030261248, 4096, 32, 32, 14336, 8, false},
                         Model{"llama3.1-70b", 70553706496, 8192, 80, 64, 28672, 8, false},
                         Model{"llama3.1-405b", 405853388800, 16384, 126, 128, 53248, 8, false},
                         Model{"llama3.2-1b", 1235814400, 2048, 16, 32, 8192, 32, true},
                         Model{"llama3.2-3b", 3212749824, 3072, 28, 24, 8192, 32, true}}) {
    const ModelConfig ours = read_model(models + m.name + ".yaml");
    const std::string config = fmt::format(fmt::runtime(published), m.dim, m.layers, m.heads, m.ffn, m.factor, m.tied);
    EXPECT_EQ(to_yaml(ours), to_yaml(checkpoint::parse_hugging_face_config(config, m.name))) << m.name;
    EXPECT_EQ(ours.parameters(), m.parameters) << m.name;
  }
}

TEST_F(ModelFile, EveryFileOfTheSourceTreeReadsBack) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(models)) {
    const ModelConfig m = read_model(entry.path());
    ModelConfig copy;
    Schema schema;
    declare_model_options(schema, copy);
    read_yaml_text(schema, to_yaml(m), "printed");
    EXPECT_EQ(to_yaml(copy), to_yaml(m)) << entry.path();
    EXPECT_EQ(copy.parameters(), m.parameters()) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 14);
}

TEST_F(ModelFile, WrongFiles) {
  EXPECT_NE(refusal(write("a.yaml", "dim: 64\n")).find("a.yaml: layers is missing"), std::string::npos);
  EXPECT_NE(refusal(write("a.yaml", std::string(tiny) + "ffn: 3\n")).find("a.yaml:7: unknown key ffn"),
            std::string::npos);
  EXPECT_NE(refusal(write("a.yaml", std::string(tiny) + "head_dim: 3\n")).find("head_dim = 3 must be even"),
            std::string::npos);
  const std::string odd =
      refusal(write("a.yaml", "dim: 64\nlayers: 1\nheads: 3\nkv_heads: 1\nffn_dim: 9\nvocab_size: 9\n"));
  EXPECT_NE(odd.find("dim = 64 is not a multiple of heads = 3"), std::string::npos) << odd;
  EXPECT_NE(odd.find(root_ / "a.yaml"), std::string::npos) << odd;
  const std::string huge = refusal(write("a.yaml", "dim: 99999999999\n"));
  EXPECT_NE(huge.find("a.yaml:1: dim = 99999999999: expected integer >= 1, <= 1048576"), std::string::npos) << huge;
}

TEST_F(ModelFile, ScalingOfRope) {
  const std::string text = std::string(tiny) + "rope_scaling: llama3\nrope_factor: 32\n";
  const ModelConfig m = read_model(write("a.yaml", text));
  EXPECT_EQ(m.rope_scaling, (RopeScaling{.kind = RopeScalingKind::llama3, .factor = 32}));
  ModelConfig copy;
  Schema schema;
  declare_model_options(schema, copy);
  read_yaml_text(schema, to_yaml(m), "printed");
  EXPECT_EQ(copy.rope_scaling, m.rope_scaling);
  const std::string unused = refusal(write("a.yaml", std::string(tiny) + "rope_factor: 32\n"));
  EXPECT_NE(unused.find("rope_scaling = none, but a number of it is set"), std::string::npos) << unused;
  const std::string crossed = refusal(write("a.yaml", text + "rope_low_freq_factor: 4\n"));
  EXPECT_NE(crossed.find("rope_high_freq_factor = 4, expected > rope_low_freq_factor = 4"), std::string::npos)
      << crossed;
}

TEST_F(ModelFile, NamesAreFoundBesideTheRunsFileFirst) {
  write("configs/models/5m.yaml", tiny);
  RunConfig config;
  config.model_name = "5m";
  resolve_model(config, root_ / "configs/runs/a.yaml", "a.yaml:1");
  EXPECT_EQ(config.model.dim, 64);
  EXPECT_EQ(config.model_name, root_ / "configs/models/5m.yaml") << "the name alone would mean another model elsewhere";
  config.model_name = "5m";
  resolve_model(config, "", "command line");
  EXPECT_EQ(config.model.dim, 256);
  EXPECT_EQ(config.model_name, "5m");
}

TEST_F(ModelFile, PathsAreRelativeToTheRunsFile) {
  write("configs/other.yaml", tiny);
  RunConfig config;
  config.model_name = "../other.yaml";
  resolve_model(config, root_ / "configs/runs/a.yaml", "a.yaml:1");
  EXPECT_EQ(config.model.name, "other");
  EXPECT_EQ(config.model_name, root_ / "configs/other.yaml");
}

TEST_F(ModelFile, ListsEveryPlaceOnce) {
  RunConfig config;
  config.model_name = "8bb";
  try {
    resolve_model(config, OCTET_SOURCE_DIR "/configs/runs/a.yaml", "a.yaml:1");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what(), place = OCTET_SOURCE_DIR "/configs/models/8bb.yaml";
    EXPECT_NE(message.find(place), std::string::npos) << message;
    EXPECT_EQ(message.find(place), message.rfind(place)) << message;
  }
}

TEST_F(ModelFile, UnknownNamesListTheKnown) {
  RunConfig config;
  config.model_name = "8bb";
  try {
    resolve_model(config, "", "a.yaml:1");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part :
         {"a.yaml:1: model = \"8bb\"", "10m, 160m, 3.2b, 405b, 5m, 5m-bpe, 70b, 8b", "nearest: 8b"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
    }
  }
}

}  // namespace
}  // namespace octet
