// Each rank opens a Hugging Face folder for itself, and none goes on without the others.
#include "checkpoints/hugging_face/open_together.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "checkpoints/hugging_face/export.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;

/// A folder for each rank. A link that leads to itself stands for a file server that fails (ELOOP for EIO).
class OpenTogether : public testing::Test {
 public:
  ~OpenTogether() override { setenv("OCTET_TEST_PAUSES", pauses_.c_str(), 1); }

 protected:
  OpenTogether() {
    if (const char* set = std::getenv("OCTET_TEST_PAUSES")) pauses_ = set;
    test::write_small(root_ / "c", 1);
    ExportOptions options;
    options.model = test::small_model();
    options.max_positions = 32;
    options.program = "octet test";
    export_hugging_face({{root_ / "c", read_manifest(root_ / "c")}}, folder_, options);
  }

  HuggingFaceModel open() { return open_together(folder_, "test", "the folder", *world_); }
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  void hide(const std::string& name) const {
    fs::rename(path_of(name), root_ / "hidden");
    fs::create_symlink(name, path_of(name));
  }
  /// A look fails that comes before the file is there again, and a later one does not.
  void expect_waited_for(const std::string& name) {
    SCOPED_TRACE(name);
    setenv("OCTET_TEST_PAUSES", "0.5", 1);
    hide(name);
    testing::internal::CaptureStderr();
    std::jthread mends([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      fs::rename(root_ / "hidden", path_of(name));
    });
    EXPECT_NO_THROW(open());
    mends.join();
    testing::internal::GetCapturedStderr();  // the warnings
  }

  static constexpr const char* index = "model.safetensors.index.json";
  static constexpr const char* weights = "model-00001-of-00001.safetensors";
  static constexpr const char* single = "model.safetensors";
  std::string pauses_ = "1";
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> world_ = make_mpi_communicator(*stream_, "world");
  test::TemporaryDirectory root_;
  const std::string folder_ = root_ / "f";
};

TEST_F(OpenTogether, WhatPassesIsWaitedFor) {
  expect_waited_for(index);
  expect_waited_for(weights);
  fs::remove(path_of(index));
  fs::rename(path_of(weights), path_of(single));
  expect_waited_for(single);
}

TEST_F(OpenTogether, WhatStaysIsNoMistakeInTheFolder) {
  setenv("OCTET_TEST_PAUSES", "0.01", 1);
  for (const std::string name : {index, weights}) {
    hide(name);
    const std::string text = test::error_of([&] { open(); }, ExitCode::internal);
    EXPECT_HAS(text, name + " on 1 of 1 host(s): Too many levels of symbolic links");
    fs::rename(root_ / "hidden", path_of(name));
  }
}

TEST_F(OpenTogether, AFileThatIsNotThereIsOne) {
  fs::remove(path_of(weights));
  EXPECT_HAS(test::error_of([&] { open(); }), std::string(weights) + ": cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace octet::checkpoint
