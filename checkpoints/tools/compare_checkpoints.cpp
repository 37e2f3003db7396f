#include "checkpoints/tools/compare_checkpoints.h"

#include <cmath>
#include <cstring>
#include <map>

#include "checkpoints/restore/file_parts.h"

namespace octet::checkpoint {
namespace {

using Kind = TensorDifference::Kind;

/// Sums over the parts of a tensor.
struct Sums {
  std::int64_t elements = 0;
  double max_abs = 0, squares = 0, squares_b = 0;
};

template <typename T>
void add(const void* a_data, const void* b_data, std::int64_t n, Sums& sums) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    sums.squares_b += y * y;
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what is compared; a NaN is like itself
    if (std::memcmp(a + i, b + i, sizeof(T)) == 0) continue;
    ++sums.elements;
    // Equal values of other bits are zeros of two signs, or infinities that do not come here; two NaNs are no distance.
    const double distance = x == y || (std::isnan(x) && std::isnan(y)) ? 0 : std::abs(x - y);
    sums.squares += distance * distance;
    if (!std::isnan(sums.max_abs) && !(distance <= sums.max_abs)) sums.max_abs = distance;  // a NaN comes and stays
  }
}

void add(DType dtype, const void* a, const void* b, std::int64_t n, Sums& sums) {
  switch (dtype) {
    case DType::f32:
      return add<float>(a, b, n, sums);
    case DType::bf16:
      return add<bf16>(a, b, n, sums);
    case DType::e4m3:
      return add<e4m3>(a, b, n, sums);
    case DType::e5m2:
      return add<e5m2>(a, b, n, sums);
    case DType::i32:
      return add<std::int32_t>(a, b, n, sums);
    case DType::u8:
      return add<std::uint8_t>(a, b, n, sums);
  }
}

std::map<std::string, std::int32_t> indices(const Manifest& m) {
  std::map<std::string, std::int32_t> out;
  for (std::size_t i = 0; i < m.tensors.size(); ++i) out[m.tensors[i].name] = static_cast<std::int32_t>(i);
  return out;
}

/// Two tensors of one form, by parts that both readers give in the same order.
TensorDifference compare_values(const StoredTensor& tensor, const std::vector<Part>& parts, PartReader& a,
                                PartReader& b, const std::function<void(std::int64_t)>& progress) {
  Sums sums;
  for (const Part& part : parts) {
    const void* from_a = a.next();
    add(tensor.dtype, from_a, b.next(), part.box.extent.elements(), sums);
    if (progress) progress(bytes_of(tensor, part.box));
  }
  return {tensor.name,
          sums.elements == 0 ? Kind::identical : Kind::values,
          sums.elements,
          sums.max_abs,
          std::sqrt(sums.squares),
          std::sqrt(sums.squares_b)};
}

}  // namespace

std::vector<TensorDifference> compare(const std::string& directory_a, const Manifest& a, const std::string& directory_b,
                                      const Manifest& b, const std::function<void(std::int64_t)>& progress) {
  const auto in_a = indices(a), in_b = indices(b);
  const auto same_form = [&](const StoredTensor& t) {
    const auto other = in_b.find(t.name);
    return other != in_b.end() && b.tensors[static_cast<std::size_t>(other->second)] == t;
  };
  std::vector<Part> parts_a, parts_b;
  for (const StoredTensor& t : a.tensors) {
    if (!same_form(t)) continue;
    for (Part part : row_parts(t, in_a.at(t.name), most_part_bytes / 2)) {
      parts_a.push_back(part);
      part.tensor = in_b.at(t.name);
      parts_b.push_back(part);
    }
  }
  PartReader reader_a(directory_a, a, parts_a, most_part_bytes / 2),
      reader_b(directory_b, b, parts_b, most_part_bytes / 2);

  std::vector<TensorDifference> found;
  for (const StoredTensor& t : a.tensors) {
    if (same_form(t)) {
      const auto parts = row_parts(t, in_a.at(t.name), most_part_bytes / 2);
      found.push_back(compare_values(t, parts, reader_a, reader_b, progress));
    } else {
      found.push_back({.name = t.name, .kind = in_b.contains(t.name) ? Kind::form : Kind::only_a});
    }
  }
  for (const StoredTensor& t : b.tensors) {
    if (!in_a.contains(t.name)) found.push_back({.name = t.name, .kind = Kind::only_b});
  }
  return found;
}

}  // namespace octet::checkpoint
