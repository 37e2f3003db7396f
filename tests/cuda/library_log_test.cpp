// What a program says of the libraries that it loaded, which jobs/gpu/bench.py reads.
#include <gtest/gtest.h>

#include <regex>

#include "kernels/cuda/cublas_lt.h"
#include "src/base/error.h"
#include "src/device/cuda/dynamic_library.h"

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

}  // namespace
}  // namespace octet::cuda_test
