#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/scale_form.h"
#include "src/device/buffer.h"

namespace octet {

/// Extents of a dense row-major tensor of at most four dimensions.
class Shape {
 public:
  static constexpr int max_rank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return extents_[static_cast<std::size_t>(i)]; }
  std::int64_t elements() const;
  /// Elements of one index of dimension 0 (1 for vectors), also where there are none.
  std::int64_t row_elements() const { return with_rows(1).elements(); }
  Shape with_rows(std::int64_t rows) const;
  auto operator<=>(const Shape&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy's own making
  std::vector<std::int64_t> list() const { return {extents_.begin(), extents_.begin() + rank_}; }
  std::string text() const;  ///< "[2, 3]"

 private:
  std::array<std::int64_t, max_rank> extents_{};
  int rank_ = 0;
};

/// A view: does not own its memory. For fp8 dtypes `inverse_scale` points to fp32 numbers on the device, and the value
/// of an element is float(code) times its own (torchao's 1/scale). Which that is, `scale_form` says; where there are
/// several, `scale_dim` is the dimension that a GEMM keeps. It is null for the other dtypes.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  const float* inverse_scale = nullptr;
  int scale_dim = -1;  ///< -1: one scale for all elements
  ScaleForm scale_form = ScaleForm::tensor;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  template <typename T>
  T* as() const {
    if (dtype != dtype_of<T>::value) {
      throw internal_error("tensor", "tensor of {} read as {}", name_of(dtype), name_of(dtype_of<T>::value));
    }
    return static_cast<T*>(data);
  }
  /// Rows [begin, begin + count) of dimension 0. Scales of vectors and of blocks lie in an order that depends on the
  /// extents of the whole matrix: a part of one has none of its own, and anything but all rows is an internal error.
  Tensor rows(std::int64_t begin, std::int64_t count) const;
};

/// The place where a parameter's gradient is to be written, of the parameter's shape: fp32, or bf16 where one GEMM
/// writes all of it.
struct GradientTarget {
  Tensor tensor;
  bool accumulate = false;  ///< add to what is there; false: overwrite, contents are undefined
};

/// A tensor that owns its memory.
class TensorBuffer {
 public:
  TensorBuffer() = default;
  TensorBuffer(Device& device, DType dtype, Shape shape, Purpose purpose)
      : buffer_(device, shape.elements() * size_of(dtype), purpose), view_{buffer_.data(), dtype, shape, nullptr} {}
  const Tensor& view() const { return view_; }
  operator Tensor() const { return view_; }

 private:
  Buffer buffer_;
  Tensor view_;
};

}  // namespace octet
