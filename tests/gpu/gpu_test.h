#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/table.h"
#include "src/device/buffer.h"
#include "tests/gpu/distance.h"

namespace octet::gpu_test {

/// Every kernel test runs the same arguments on both tables; without a GPU it says why it did not.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_cuda(); !reason.empty()) GTEST_SKIP() << "no CUDA device: " << reason;
    gpu_stream = cuda_device(0).make_stream();
  }

  std::unique_ptr<Stream> cpu_stream = cpu_device().make_stream();
  std::unique_ptr<Stream> gpu_stream;
  const KernelTable& cpu = cpu_kernels();
  /// Only where there is a device.
  const KernelTable& gpu() const { return cuda_kernels(); }
};

/// Whether the device is a processor's emulation (tests/emulated), on which what is large takes long.
inline bool is_emulated() {
  return cuda_device(0).name() == "emulated device";
}

struct Matrix {
  std::int64_t rows, columns;
};

/// Which float8 forms a kernel writes.
enum class Forms { none, plain, transposed };

/// The even bytes of an array's guards; the odd ones are 0xFF, which makes NaN of both. Each array has its own, so that
/// a value which is copied from one array's guard into another's shows.
inline unsigned char next_mark() {
  static unsigned char last = 0x80;
  last = static_cast<unsigned char>(last == 0xFE ? 0x81 : last + 1);
  return last;
}

/// One array on the host, for the CPU's kernel, and one of the same contents on the device. Around the device's lie
/// guards, and what a kernel is to write is poisoned on both, so that an element not written or written outside shows.
template <typename T>
class Both {
 public:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr unsigned char poison = 0xFF;  // NaN in every float format

  Both(Stream& gpu_stream, std::vector<T> values)
      : stream_(gpu_stream),
        host_(std::move(values)),
        buffer_(device(), bytes() + 2 * guard_bytes, Purpose::workspace) {
    std::vector<unsigned char> image(static_cast<std::size_t>(buffer_.bytes()));
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = guard_at(i);
    if (!host_.empty()) std::memcpy(image.data() + guard_bytes, host_.data(), host_.size() * sizeof(T));
    device().copy_from_host(buffer_.data(), image.data(), buffer_.bytes(), stream_);
    stream_.synchronize();
  }
  /// `n` poisoned elements.
  static Both output(Stream& gpu_stream, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    std::memset(static_cast<void*>(values.data()), poison, values.size() * sizeof(T));
    return Both(gpu_stream, std::move(values));
  }

  T* cpu() { return host_.data(); }
  T* gpu() { return reinterpret_cast<T*>(buffer_.as<unsigned char>() + guard_bytes); }
  std::vector<T>& host() { return host_; }
  std::int64_t size() const { return static_cast<std::int64_t>(host_.size()); }

  /// What the device's array holds; the guards must be as they were.
  std::vector<T> download() {
    std::vector<unsigned char> image(static_cast<std::size_t>(buffer_.bytes()));
    device().copy_to_host(image.data(), buffer_.data(), buffer_.bytes(), stream_);
    stream_.synchronize();
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      EXPECT_EQ(image[i], guard_at(i)) << "written " << guard_bytes - i << " bytes before the array";
      EXPECT_EQ(image[image.size() - 1 - i], guard_at(image.size() - 1 - i))
          << "written " << guard_bytes - i << " bytes behind the array";
      if (::testing::Test::HasNonfatalFailure()) break;
    }
    std::vector<T> values(host_.size());
    if (!values.empty())
      std::memcpy(static_cast<void*>(values.data()), image.data() + guard_bytes, values.size() * sizeof(T));
    return values;
  }

 private:
  Device& device() const { return stream_.device(); }
  /// In little endian a float's and a bf16's upper byte is odd: 0xFF there, and the mark with its upper bit below, is
  /// NaN.
  unsigned char guard_at(std::size_t i) const { return i % 2 == 0 ? mark_ : poison; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(host_.size() * sizeof(T)); }

  Stream& stream_;
  unsigned char mark_ = next_mark();
  std::vector<T> host_;
  Buffer buffer_;
};

/// Normal values times `sigma`, the same for the same seed.
template <typename T>
std::vector<T> normal(std::int64_t n, unsigned seed, double sigma = 1.0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution(0.0, sigma);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& v : values) v = T(static_cast<float>(distribution(generator)));
  return values;
}

template <typename T>
void expect_close(Both<T>& array, double tolerance, const char* what) {
  EXPECT_LE(distance(array.download(), array.host()), tolerance) << what;
}

template <typename T>
void expect_same_bits(Both<T>& array, const char* what) {
  const std::vector<T> gpu = array.download();
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    ASSERT_EQ(std::memcmp(&gpu[i], &array.host()[i], sizeof(T)), 0) << what << ", element " << i;
  }
}

/// Equal bits, or NaN on both sides: the device does not keep a NaN's sign and payload.
template <typename T>
void expect_same_values(Both<T>& array, const char* what) {
  const std::vector<T> gpu = array.download();
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    const T cpu = array.host()[i];
    if (std::isnan(static_cast<float>(gpu[i])) && std::isnan(static_cast<float>(cpu))) continue;
    ASSERT_EQ(std::memcmp(&gpu[i], &cpu, sizeof(T)), 0)
        << what << ", element " << i << ": " << static_cast<float>(gpu[i]) << " and " << static_cast<float>(cpu);
  }
}

}  // namespace octet::gpu_test
