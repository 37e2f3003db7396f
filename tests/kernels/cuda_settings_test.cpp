#include "kernels/cuda_settings.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

/// Without CUDA because nothing but the defaults is accepted, with it because timed choices differ from run to run.
TEST(CudaSettings, DefaultsAreAcceptedAndWhatCannotBeIsRefusedInEveryBuild) {
  EXPECT_NO_THROW(set_cuda_settings({}));
  try {
    set_cuda_settings({.deterministic = true, .gemm = CudaPlanChoice::timed});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

}  // namespace
}  // namespace octet
