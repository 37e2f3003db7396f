#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "src/base/error.h"
#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {
namespace {

/// Elements that are repeated to fill an array: a prime, so that the rows of a matrix differ.
constexpr std::int64_t period = 1048583;

template <typename T, typename Next>
std::vector<unsigned char> bytes_of(Next next) {
  std::vector<unsigned char> bytes(period * sizeof(T));
  for (std::int64_t i = 0; i < period; ++i) {
    const T value = next();
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<unsigned char> pattern(DType dtype, std::int64_t below) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<std::int32_t> integer(0, static_cast<std::int32_t>(below - 1));
  switch (dtype) {
    case DType::f32:
      return bytes_of<float>([&] { return normal(generator); });
    case DType::bf16:
      return bytes_of<bf16>([&] { return bf16(normal(generator)); });
    case DType::e4m3:  // as scaled to the whole range of the format
      return bytes_of<e4m3>([&] { return e4m3(90.0f * normal(generator)); });
    case DType::e5m2:
      return bytes_of<e5m2>([&] { return e5m2(11000.0f * normal(generator)); });
    case DType::i32:
      return bytes_of<std::int32_t>([&] { return integer(generator); });
    case DType::u8:
      break;
  }
  throw internal_error("benchmark", "no random values of {}", name_of(dtype));
}

}  // namespace

DType dtype_named(const std::string& name) {
  for (const DType t : {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8}) {
    if (name == name_of(t)) return t;
  }
  throw usage_error("benchmark", "dtype {}: expected f32, bf16, e4m3, e5m2, i32 or u8", name);
}

void* Case::allocate(std::int64_t bytes) {
  buffers_.emplace_back(place_.stream.device(), std::max<std::int64_t>(bytes, 256), Purpose::workspace);
  return buffers_.back().data();
}

void* Case::random(DType dtype, std::int64_t n, std::int64_t below) {
  static std::vector<std::tuple<DType, std::int64_t, std::vector<unsigned char>>> made;
  auto found = std::find_if(made.begin(), made.end(),
                            [&](const auto& m) { return std::get<0>(m) == dtype && std::get<1>(m) == below; });
  if (found == made.end()) found = made.emplace(made.end(), dtype, below, pattern(dtype, below));
  const std::vector<unsigned char>& host = std::get<2>(*found);

  Device& device = place_.stream.device();
  const std::int64_t bytes = n * size_of(dtype);
  auto* data = static_cast<unsigned char*>(allocate(bytes));
  std::int64_t filled = std::min(bytes, static_cast<std::int64_t>(host.size()));
  device.copy_from_host(data, host.data(), filled, place_.stream);
  while (filled < bytes) {
    const std::int64_t more = std::min(filled, bytes - filled);
    device.copy(data + filled, data, more, place_.stream);
    filled += more;
  }
  place_.stream.synchronize();  // the pattern may move when another is made
  return data;
}

void* Case::output(std::int64_t bytes) {
  return allocate(bytes);
}

void* Case::zeros(std::int64_t bytes) {
  void* data = allocate(bytes);
  place_.stream.device().zero(data, std::max<std::int64_t>(bytes, 1), place_.stream);
  return data;
}

float* Case::values(float x, std::int64_t n) {
  const std::vector<float> all(static_cast<std::size_t>(n), x);
  auto* data = output<float>(n);
  place_.stream.device().copy_from_host(data, all.data(), n * static_cast<std::int64_t>(sizeof x), place_.stream);
  place_.stream.synchronize();
  return data;
}

std::int64_t Case::bytes() const {
  return std::accumulate(buffers_.begin(), buffers_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Buffer& b) { return sum + b.bytes(); });
}

}  // namespace octet::bench
