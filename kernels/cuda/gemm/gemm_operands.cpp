#include "kernels/cuda/gemm/gemm_operands.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/gemm/gemm_problem.h"
#include "src/base/random.h"
#include "src/device/cuda/check.h"

namespace octet::cuda {
namespace {

constexpr std::int64_t block_bytes = 1 << 20;
constexpr double cutoff = 6;  ///< standard deviations

template <typename T>
std::vector<std::byte> normal_block(float deviation) {
  std::vector<std::byte> block(block_bytes);
  for (std::size_t i = 0; i < block.size() / sizeof(T); ++i) {
    const auto value = static_cast<T>(deviation * static_cast<float>(random_normal({}, i, cutoff)));
    std::memcpy(block.data() + i * sizeof(T), &value, sizeof value);
  }
  return block;
}

std::vector<std::byte> block_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return normal_block<float>(1);
    case DType::bf16:
      return normal_block<bf16>(1);
    case DType::e4m3:
      return normal_block<e4m3>(e4m3::max / static_cast<float>(cutoff));
    case DType::e5m2:
      return normal_block<e5m2>(e5m2::max / static_cast<float>(cutoff));
    default:
      throw internal_error("kernels", "gemm of {}", name_of(dtype));
  }
}

}  // namespace

void TrialValues::repeat(void* to, std::int64_t bytes, const std::vector<std::byte>& block) {
  Device& device = stream_.device();
  auto* const begin = static_cast<std::byte*>(to);
  std::int64_t done = std::min(bytes, std::ssize(block));
  device.copy_from_host(begin, block.data(), done, stream_);
  for (std::int64_t more = 0; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    device.copy(begin + done, begin, more, stream_);
  }
}

void TrialValues::fill(void* to, std::int64_t bytes, DType dtype) {
  std::vector<std::byte>& block = blocks_[dtype];
  if (block.empty()) block = block_of(dtype);
  repeat(to, bytes, block);
}

void TrialValues::fill_scales(float* to, std::int64_t count) {
  if (scales_.empty()) {
    const float inverse_scale = static_cast<float>(cutoff) / e4m3::max;
    scales_.resize(block_bytes);
    for (std::size_t at = 0; at < scales_.size(); at += sizeof inverse_scale) {
      std::memcpy(scales_.data() + at, &inverse_scale, sizeof inverse_scale);
    }
  }
  repeat(to, count * static_cast<std::int64_t>(sizeof(float)), scales_);
}

TrialOperands::TrialOperands(Stream& stream, const Gemm& like, TrialValues& values) : args_(like) {
  const GemmProblem problem = describe(like);
  fill_operand(args_.a, args_.m, problem.a_alignment, values);
  fill_operand(args_.b, args_.n, problem.b_alignment, values);
  const std::int64_t bytes = args_.m * args_.n * size_of(args_.c_dtype);
  args_.c = take(bytes, problem.c_alignment);
  stream.device().zero(args_.c, bytes, stream);  // with beta = 1 it is read
  args_.workspace_bytes = gemm_workspace_bytes;
  args_.workspace = take(args_.workspace_bytes, gemm_workspace_alignment);
}

void* TrialOperands::take(std::int64_t bytes, int alignment) {
  constexpr int most = 256;  // as cudaMalloc's memory begins
  check(cudaMalloc(memory_.emplace_back().out(), static_cast<std::size_t>(bytes + most)), "memory to time a GEMM in");
  return static_cast<std::byte*>(memory_.back().get()) + (alignment < most ? alignment : 0);
}

void TrialOperands::fill_operand(GemmOperand& operand, std::int64_t kept, int alignment, TrialValues& values) {
  const std::int64_t bytes = kept * args_.k * size_of(operand.dtype);
  void* const data = take(bytes, alignment);
  values.fill(data, bytes, operand.dtype);
  operand.data = data;
  if (operand.inverse_scale == nullptr) return;
  const std::int64_t scales = scale_count(operand.scales, kept, args_.k);
  auto* const inverse =
      static_cast<float*>(take(scales * static_cast<std::int64_t>(sizeof(float)), gemm_workspace_alignment));
  values.fill_scales(inverse, scales);
  operand.inverse_scale = inverse;
}

}  // namespace octet::cuda
