#include "kernels/cuda_settings.h"

#include <gtest/gtest.h>

#include "kernels/table.h"
#include "src/base/error.h"

namespace octet {
namespace {

bool has_cuda_kernels() {
  try {
    cuda_kernels();
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(CudaSettings, ABuildWithoutCudaAcceptsTheDefaultsAlone) {
  EXPECT_NO_THROW(set_cuda_settings({}));
  bool accepted = true;
  try {
    set_cuda_settings({.deterministic = true});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    accepted = false;
  }
  EXPECT_EQ(accepted, has_cuda_kernels());
  set_cuda_settings({});
}

}  // namespace
}  // namespace octet
