// Ranks that would tune NCCL differently refuse to start, all with the same words.
#include "jobs/ranks/nccl_tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/hex_text.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/tuning/tuning_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class NcclTuner : public testing::Test {
 protected:
  void SetUp() override {
    plugin_ = folder_ / "libnccl-tuner-octet.so";
    std::ofstream(plugin_) << "a library";
    unset();
  }
  void TearDown() override { unset(); }
  static void unset() {
    unsetenv("OCTET_TUNING_FILE");
    unsetenv("NCCL_TUNER_PLUGIN");
    unsetenv("OCTET_TUNING_HASH");
  }

  /// A tuning file of this rank, for this cluster.
  NcclSettings settings(const std::string& cluster) {
    const std::string file = folder_ / "tuning.json";
    TuningFile tuning{.cluster = cluster,
                      .fabric = "roce",
                      .nccl = "2.28.9",
                      .provenance = {},
                      .constants = {},
                      .fits = {},
                      .choices = {}};
    write_tuning_file(file, tuning);
    NcclSettings settings;
    settings.tuning_file = file;
    return settings;
  }
  std::string node() const { return fmt::format("node-{}", control_->rank()); }
  /// What is said; empty: nothing.
  std::string refusal(const NcclSettings& settings) {
    return test::error_or_none([&] {
      set_tuner_environment(settings, folder_.path());
      require_same_tuner(*control_, node(), tuner_state());
    });
  }
  bool several() const { return control_->size() > 1; }
  bool last() const { return control_->rank() == control_->size() - 1; }
  std::string last_node() const { return fmt::format("node-{}", control_->size() - 1); }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
  test::TempFolder folder_;  ///< of this process alone: as if every rank had a disk of its own
  fs::path plugin_;
};

TEST_F(NcclTuner, TheSameFileInDifferentPlacesIsAccepted) {
  EXPECT_EQ(refusal(settings("one")), "");
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), plugin_.string());
  EXPECT_EQ(std::getenv("OCTET_TUNING_FILE"), folder_ / "tuning.json");
}

TEST_F(NcclTuner, NoTunerIsAccepted) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), nullptr);
}

TEST_F(NcclTuner, TheNodeWhoseFileDiffersIsNamedOnEveryRank) {
  const std::string said = refusal(settings(last() ? "other" : "one"));
  if (!several()) {
    EXPECT_EQ(said, "");
    return;
  }
  EXPECT_NE(said.find("tuned differently from node to node"), std::string::npos) << said;
  EXPECT_NE(said.find(fmt::format("; node(s) {}, 1 rank(s) ({}): tuning file ", last_node(), control_->size() - 1)),
            std::string::npos)
      << said;
  std::string others = "node-0";
  for (int r = 1; r < control_->size() - 1; ++r) others += fmt::format(", node-{}", r);
  EXPECT_NE(said.find(fmt::format(": node(s) {}, {} rank(s) (0", others, control_->size() - 1)), std::string::npos)
      << said;
}

TEST_F(NcclTuner, ARankWithoutAFileIsNamed) {
  const std::string said = refusal(last() && several() ? NcclSettings() : settings("one"));
  EXPECT_EQ(
      said.find(fmt::format("{}, 1 rank(s) ({}): plugin none", last_node(), control_->size() - 1)) != std::string::npos,
      several())
      << said;
}

TEST_F(NcclTuner, AFileMissingOnOneNodeIsNamed) {
  const NcclSettings wanted = settings("one");
  if (last()) fs::remove(wanted.tuning_file);
  const std::string said = refusal(wanted);
  EXPECT_NE(said.find(several() ? "tuning.json (none), plugin" : "there is no such file; expected a tuning file"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(several() ? last_node() : "tuning.json"), std::string::npos) << said;
}

TEST_F(NcclTuner, AnotherPluginOnOneNodeIsNamed) {
  if (last()) std::ofstream(plugin_) << "another library";
  const std::string said = refusal(settings("one"));
  EXPECT_EQ(said.find(last_node()) != std::string::npos, several()) << said;
}

TEST_F(NcclTuner, AFileThatDoesNotReadIsRefused) {
  NcclSettings wanted = settings("one");
  std::ofstream(wanted.tuning_file) << "{}";
  EXPECT_NE(refusal(wanted).find("octet_tuning is missing"), std::string::npos);
}

TEST_F(NcclTuner, AMissingPluginIsRefused) {
  fs::remove(plugin_);
  EXPECT_NE(refusal(settings("one")).find("libnccl-tuner-octet.so, which is not there; expected a library"),
            std::string::npos);
}

TEST_F(NcclTuner, AnEnvironmentThatSaysOtherwiseIsRefused) {
  setenv("OCTET_TUNING_FILE", "/other.json", 1);
  EXPECT_NE(refusal(settings("one")).find("but OCTET_TUNING_FILE is /other.json; expected one of them"),
            std::string::npos);
  unset();
  setenv("NCCL_TUNER_PLUGIN", "libnccl-tuner-ofi.so", 1);
  EXPECT_NE(refusal(settings("one")).find("NCCL_TUNER_PLUGIN is libnccl-tuner-ofi.so, which does not read it"),
            std::string::npos);
}

TEST_F(NcclTuner, TheSuffixThatNcclReadsIsAccepted) {
  setenv("NCCL_TUNER_PLUGIN", "octet", 1);
  EXPECT_NO_THROW(set_tuner_environment(settings("one"), folder_.path()));
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), std::string("octet")) << "NCCL makes the file's name of it";
  EXPECT_EQ(refusal(settings("one")).find("which does not read it"), std::string::npos);
  setenv("NCCL_TUNER_PLUGIN", "ofi", 1);
  EXPECT_NE(refusal(settings("one")).find("NCCL_TUNER_PLUGIN is ofi, which does not read it"), std::string::npos);
}

TEST_F(NcclTuner, ANameThatTheLoaderDoesNotFindIsRefused) {
  setenv("NCCL_TUNER_PLUGIN", "nowhere", 1);
  EXPECT_NE(refusal({}).find("NCCL_TUNER_PLUGIN is nowhere, which is not there; expected a library (sought: nowhere, "
                             "libnccl-tuner-nowhere.so)"),
            std::string::npos);
  setenv("NCCL_TUNER_PLUGIN", "none", 1);
  EXPECT_EQ(refusal({}), "");
}

// The loader knows this name from the libraries that it has loaded: those that differ are named although the value is
// the same everywhere.
TEST_F(NcclTuner, ANameIsComparedByTheLibraryThatTheLoaderFinds) {
  setenv("NCCL_TUNER_PLUGIN", last() && several() ? "libm.so.6" : "libc.so.6", 1);
  const TunerState own = tuner_state();
  EXPECT_NE(own.text.find("plugin /"), std::string::npos) << own.text;
  const std::string said = refusal({});
  EXPECT_EQ(said.find(last_node() + ", 1 rank(s)") != std::string::npos, several()) << said;
}

TEST_F(NcclTuner, AnotherNcclOnOneNodeIsNamedOnEveryRank) {
  EXPECT_NO_THROW(require_same_nccl(*control_, node(), "2.28.9"));
  try {
    require_same_nccl(*control_, node(), last() ? "2.27.7" : "2.28.9");
    EXPECT_FALSE(several());
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(said.find(fmt::format("; node(s) {}, 1 rank(s) ({}): NCCL 2.27.7; expected one version", last_node(),
                                    control_->size() - 1)),
              std::string::npos)
        << said;
    EXPECT_NE(said.find(": NCCL 2.28.9; "), std::string::npos) << said;
  }
}

TEST_F(NcclTuner, TheHashOfTheFileThatWasComparedIsExported) {
  const NcclSettings wanted = settings("one");
  set_tuner_environment(wanted, folder_.path());
  export_tuning_hash(tuner_state());
  std::ostringstream text;
  text << std::ifstream(wanted.tuning_file).rdbuf();
  ASSERT_NE(std::getenv("OCTET_TUNING_HASH"), nullptr);
  EXPECT_EQ(std::getenv("OCTET_TUNING_HASH"), hex_text(content_hash(text.str())));
  unsetenv("OCTET_TUNING_FILE");
  unsetenv("NCCL_TUNER_PLUGIN");
  export_tuning_hash(tuner_state());
  EXPECT_EQ(std::getenv("OCTET_TUNING_HASH"), nullptr);
}

TEST_F(NcclTuner, AFileThatNothingReadsIsRefused) {
  setenv("OCTET_TUNING_FILE", settings("one").tuning_file.c_str(), 1);
  EXPECT_NE(refusal({}).find("but NCCL_TUNER_PLUGIN is not set: nothing reads the file"), std::string::npos);
}

}  // namespace
}  // namespace octet
