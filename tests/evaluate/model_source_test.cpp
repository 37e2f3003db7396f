// Models as folders of all kinds, what is refused of them, and what a model that only computes forward holds.
#include "src/evaluate/model_source.h"

#include <unistd.h>

#include <fstream>

#include "checkpoints/hugging_face/import.h"
#include "src/base/error.h"
#include "src/corpus/outputs.h"
#include "src/run_config/options/run_options.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/evaluate/evaluate_test.h"
#include "tests/support/bytes_identity.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::LoadedModel;

/// A run of two checkpoints with the weights of the golden model "tied", in a folder that all ranks share.
class ModelSourceTest : public testing::Test {
 protected:
  ModelSourceTest() : control_(make_mpi_communicator(*stream_, "control")) {
    std::int32_t id = getpid();
    control_->broadcast(&id, 1, DType::i32, 0);
    folder_ = fs::temp_directory_path() / fmt::format("octet-evaluate-{}", id);
    if (control_->rank() == 0) {
      const checkpoint::HuggingFaceModel from(tied_);
      fs::create_directories(folder_ / "checkpoints");
      RunConfig config;
      config.model = from.model();
      config.train.seq_len = 24;
      config.precision = Precision::float8;
      config.data.train = {{"data", 1.0}};
      config.data.history.tokenizer = json_of(test::bytes_tokenizer_identity()).dump();
      for (const std::int64_t step : {3, 7}) {
        checkpoint::import_hugging_face(from, checkpoint_of(step),
                                        {.step = step, .config = stored_yaml(config), .layout = {}, .program = {}}, 1);
      }
    }
    control_->barrier();
  }
  void TearDown() override {
    control_->barrier();
    std::error_code ignored;
    if (control_->rank() == 0) fs::remove_all(folder_, ignored);
  }

  std::string checkpoint_of(std::int64_t step) const {
    return folder_ / "checkpoints" / checkpoint::directory_name(step);
  }
  /// The message of the usage error of find_model, on every rank.
  std::string refused(const std::string& path) {
    return test::error_of([&] { find_model(path, *control_); });
  }

  const std::string tied_ = test::golden_folder + "/tied";
  const std::vector<ScoreRequest> requests_{{{1, 5, 9}, {3, 4}}, {{7}, {7, 7, 7}}};
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_;
  fs::path folder_;
};

TEST_F(ModelSourceTest, AFolderACheckpointAndARunAreOneModel) {
  const auto expected = LoadedModel(tied_, {}).scorer().score(requests_, nullptr);
  for (const std::string& path : {checkpoint_of(3), folder_.string(), folder_.string() + "/"}) {
    SCOPED_TRACE(path);
    LoadedModel model(path, {});
    EXPECT_EQ(model.source().window, 24);
    EXPECT_EQ(model.source().precision, Precision::float8);
    EXPECT_EQ(model.source().directory, path == checkpoint_of(3) ? path : checkpoint_of(7));
    const auto scores = model.scorer().score(requests_, nullptr);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      EXPECT_EQ(scores[i].log_likelihood, expected[i].log_likelihood) << i;
    }
  }
  const ModelSource folder = find_model(tied_, *control_);
  EXPECT_TRUE(folder.hugging_face);
  EXPECT_EQ(folder.bos, 1);  // config.json
  EXPECT_EQ(folder.eos, 2);
  EXPECT_EQ(folder.ends, std::vector<std::int32_t>{2});
}

TEST_F(ModelSourceTest, ADamagedCheckpointOfARunIsPassedOver) {
  if (control_->rank() == 0) fs::resize_file(checkpoint_of(7) + "/writer-00000.h5", 1000);
  control_->barrier();
  EXPECT_EQ(find_model(folder_, *control_).directory, checkpoint_of(3));
  EXPECT_NE(refused(checkpoint_of(7)).find("is damaged and was not used"), std::string::npos);
}

TEST_F(ModelSourceTest, WhatIsNoModelIsRefused) {
  EXPECT_NE(refused(folder_.string() + "/nothing").find("is no folder"), std::string::npos);
  if (control_->rank() == 0) fs::create_directories(folder_ / "empty");
  control_->barrier();
  EXPECT_NE(refused(folder_ / "empty").find("is no model; expected a checkpoint, a run that has one"),
            std::string::npos);
}

/// A link that leads to itself stands for a file server that fails.
TEST_F(ModelSourceTest, AFileThatCannotBeLookedAtIsNotOneThatIsMissing) {
  for (const std::string name : {"tokenizer.json", "generation_config.json"}) {
    const fs::path model = folder_ / ("with-" + name);
    if (control_->rank() == 0) {
      fs::create_directories(model);
      fs::copy_file(tied_ + "/config.json", model / "config.json");
      fs::create_symlink(name, model / name);
    }
    control_->barrier();
    const std::string message = test::error_of([&] { find_model(model, *control_); }, ExitCode::internal);
    EXPECT_NE(message.find(name + ": Too many levels of symbolic links"), std::string::npos) << message;
  }
}

TEST_F(ModelSourceTest, ATokenizerThatDoesNotFitIsRefused) {
  ModelSource source = find_model(folder_, *control_);
  const auto message = [&](const std::string& given) -> std::string {
    return test::error_of([&] { tokenizer_of(source, given); });
  };
  EXPECT_NE(message("").find("the tokenizer has 256 ids, and the model"), std::string::npos);
  source.model.vocab_size = 256;
  EXPECT_EQ(tokenizer_of(source, "")->info().kind, "bytes");
  source.identity->kind = TokenizerKind::bpe;
  EXPECT_NE(message("bytes").find("bytes: is another tokenizer than bpe"), std::string::npos);
  source.tokenizer = folder_ / "tokenizer.json";
  EXPECT_NE(message("").find("the copy of its tokenizer, is not there; give --tokenizer"), std::string::npos);
  source.tokenizer.clear();
  EXPECT_NE(message("").find("its tokenizer is not known; give --tokenizer"), std::string::npos);
}

// Its file does not say what ends a document: what made the model's data does, or else what made the texts.
TEST_F(ModelSourceTest, TheTokenizerHasTheEndThatIsRecorded) {
  const std::string file = std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/ranks-512.tiktoken";
  const TokenizerIdentity plain = identity_of(make_tokenizer(file)->info());
  const TokenizerIdentity ended = identity_of(make_tokenizer(file, {.eos = "</s>"})->info());
  ModelSource source{.directory = "a"};
  source.model.vocab_size = 510;
  source.tokenizer = file;
  EXPECT_EQ(tokenizer_of(source, "")->info().eos, std::nullopt);
  EXPECT_EQ(tokenizer_of(source, "", false, ended)->info().eos, 509);
  source.identity = plain;  // as of an imported export
  EXPECT_EQ(tokenizer_of(source, "", false, ended)->info().eos, 509);
  source.identity = ended;
  EXPECT_EQ(tokenizer_of(source, "")->info().eos, 509);
  EXPECT_EQ(tokenizer_of(source, file, false, plain)->info().eos, 509);
}

TEST_F(ModelSourceTest, AModelThatOnlyComputesForwardHoldsNothingOfTraining) {
  MemoryLedger& ledger = cpu_device().ledger();
  LoadedModel model(folder_, {.precision = Precision::bf16});
  model.scorer().score(requests_, nullptr);
  for (const Purpose purpose : {Purpose::gradients, Purpose::optimizer, Purpose::parameters}) {
    EXPECT_EQ(ledger.usage(purpose).now, 0) << name_of(purpose);
  }
  EXPECT_GT(ledger.usage(Purpose::gathered).now, 0);
}

}  // namespace
}  // namespace octet
