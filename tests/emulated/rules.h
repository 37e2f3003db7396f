#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/checks/watched.h"
#include "tests/emulated/streams.h"

namespace octet::cuda {

/// The device as new; a fault of the test before is forgotten.
class EmulatedRules : public ::testing::Test {
 protected:
  void SetUp() override {
    emulated::Device::get().broken = emulated::Device::get().last_error = cudaSuccess;
    emulated::Device::get().order = emulated::Order::late;
    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0);
    cudaMalloc(reinterpret_cast<void**>(&memory), bytes);
    cudaMallocHost(reinterpret_cast<void**>(&host), bytes);
  }
  void TearDown() override {
    emulated::look_for_stream_races(true);
    emulated::Device::get().order = emulated::Order::mixed;
    emulated::Device::get().broken = emulated::Device::get().last_error = cudaSuccess;
    cudaStreamDestroy(stream);
    cudaFree(memory);
    cudaFreeHost(host);
  }
  /// What it says on the standard error while the host waits.
  std::string fault() {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure) << "a broken device stays so";
    return ::testing::internal::GetCapturedStderr();
  }
  std::vector<float> values(int n, int from = 0) {
    EXPECT_EQ(cudaMemcpyAsync(host, memory + from, static_cast<std::size_t>(n) * 4, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return {host, host + n};
  }

  static constexpr std::size_t bytes = 1 << 16;
  cudaStream_t stream = nullptr;
  float *memory = nullptr, *host = nullptr;
};

#define EXPECT_TEXT(text, part) expect_text(text, part, __LINE__)
inline void expect_text(const std::string& text, const char* part, int line) {
  EXPECT_NE(text.find(part), std::string::npos) << "line " << line << ": " << text;
}

}  // namespace octet::cuda
