// What a program says of the libraries that it loaded, which jobs/gpu/bench/bench_train.py reads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "kernels/cuda/host/cublas_lt.h"
#include "src/base/error.h"
#include "src/device/cuda/dynamic_library.h"
#include "tests/data/support.h"

namespace octet::cuda_test {
namespace {

TEST(LibraryLog, VersionsHaveThreeParts) {
  EXPECT_EQ(cuda::version_text(130100), "13.1.0");  // cuBLASLt
  EXPECT_EQ(cuda::version_text(91900), "9.19.0");   // cuDNN
  EXPECT_EQ(cuda::version_text(22809), "2.28.9");   // NCCL
}

/// The line's end, "NAME MAJOR.MINOR.PATCH, /PATH".
void expect_line(const std::string& log, const std::string& name, const std::string& file) {
  EXPECT_TRUE(std::regex_search(log, std::regex("\\b" + name + " \\d+\\.\\d+\\.\\d+, /.*" + file + "\\S*\n"))) << log;
}

TEST(LibraryLog, NamesCublasLtWhenItIsLoaded) {
  testing::internal::CaptureStderr();
  try {
    cuda::load_cublas_lt();
  } catch (const Error& error) {
    testing::internal::GetCapturedStderr();
    GTEST_SKIP() << error.what();
  }
  expect_line(testing::internal::GetCapturedStderr(), "cuBLASLt", "libcublasLt\\.so");
}

/// cuDNN is loaded once a process: the line is written where this test is the first to ask for it, so the library is
/// opened a second time here.
TEST(LibraryLog, NamesAPathOfTheLoader) {
  try {
    const cuda::DynamicLibrary library("libcudnn.so.9", "nvidia-cudnn-cu13");
    testing::internal::CaptureStderr();
    library.log_version("cuDNN", library.function<std::size_t()>("cudnnGetVersion")());
    expect_line(testing::internal::GetCapturedStderr(), "cuDNN", "libcudnn\\.so");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

/// A folder of libraries, which are files without content.
class LibraryFolders : public testing::Test {
 protected:
  /// Makes FOLDER/FILE, a link to REAL beside it unless that is empty.
  std::string folder(const std::string& name, const std::string& file, const std::string& real = "") {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path);
    std::ofstream(path / (real.empty() ? file : real)) << "";
    if (!real.empty()) std::filesystem::create_symlink(real, path / file);
    return path.string();
  }
  void package(const std::string& packages, const std::string& name) {
    std::filesystem::create_directories(root_ / packages / (name + ".dist-info"));
  }

  test::TempFolder temp_;
  std::filesystem::path root_ = temp_.path();
};

TEST_F(LibraryFolders, TheNewestVersionIsTheFirst) {
  const std::string file = "libcublasLt.so.13";
  const std::string old = folder("cuda-13.0/lib64", file, "libcublasLt.so.13.0.2.14"),
                    unknown = folder("unknown", file), wheel = folder("py/nvidia/cu13/lib", file),
                    newest = folder("cuda-13.2/lib64", file, "libcublasLt.so.13.10.0.3"),
                    same = folder("copy", file, "libcublasLt.so.13.10.0.3"), none = folder("none", "libother.so");
  package("py", "nvidia_cublas-13.1.0.3");
  package("py", "nvidia_cublas_other-99.0");
  const std::vector<std::string> want{newest + "/" + file, same + "/" + file, wheel + "/" + file, old + "/" + file,
                                      unknown + "/" + file};
  EXPECT_EQ(cuda::newest_first(file, "nvidia-cublas", {unknown, old, none, wheel, newest, same}), want);
}

TEST_F(LibraryFolders, TheLoadersOwnComeFirst) {
  const std::string mine = folder("mine", "libx.so.1");
  setenv("LD_LIBRARY_PATH", (mine + ":/nowhere").c_str(), 1);
  const std::vector<std::string> folders = cuda::loader_folders();
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_GE(folders.size(), 2u);
  EXPECT_EQ(folders[0], mine);
  EXPECT_EQ(folders[1], "/nowhere");
  for (const std::string& f : folders) EXPECT_TRUE(f.starts_with('/')) << f;
}

}  // namespace
}  // namespace octet::cuda_test
