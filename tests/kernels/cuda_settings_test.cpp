#include "kernels/cuda_settings.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

/// Without CUDA because nothing but the defaults is accepted, with it because the word is unknown.
TEST(CudaSettings, DefaultsAreAcceptedAndWrongWordsRefusedInEveryBuild) {
  EXPECT_NO_THROW(set_cuda_settings({}));
  CudaSettings settings;
  settings.gemm = "fastest";
  try {
    set_cuda_settings(settings);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

}  // namespace
}  // namespace octet
