#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/error.h"

namespace octet {

/// Reference values from PyTorch: one directory tests/golden/CASE with golden.json and golden.bin, written by
/// tests/golden/make_*.py (README.md there says what each case holds).
///
///   Golden golden("llama_untied");
///   std::vector<float> w = golden.values<float>("weight.norm.weight");
///
/// Throws an internal error that names file, tensor and what was expected, for anything that is not as it should be.
class Golden {
 public:
  struct Entry {
    std::string dtype;  ///< f64, or a name that octet::name_of gives
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0;  ///< bytes into golden.bin

    std::int64_t elements() const {
      std::int64_t n = 1;
      for (const std::int64_t extent : shape) n *= extent;
      return n;
    }
  };

  /// `directory`: relative to tests/golden, or absolute.
  explicit Golden(const std::filesystem::path& directory);

  bool has(const std::string& name) const { return entries_.contains(name); }
  const Entry& entry(const std::string& name) const;
  /// All names that start with `prefix`, in alphabetical order.
  std::vector<std::string> names(std::string_view prefix = "") const;

  /// The elements of a tensor. T must be its dtype: double, float, bf16, e4m3, e5m2, std::int32_t or std::uint8_t.
  template <typename T>
  std::vector<T> values(const std::string& name) const;
  /// The elements of a tensor of any dtype, exactly, as double.
  std::vector<double> doubles(const std::string& name) const;

  /// A number, truth value or text of golden.json's "attributes".
  template <typename T>
  T attribute(const std::string& key) const;

  /// ‖a - reference‖₂ / ‖reference‖₂; ‖a‖₂ when the reference is zero. Both have the same length.
  template <typename A, typename B>
  static double distance(const std::vector<A>& a, const std::vector<B>& reference);

 private:
  static std::int64_t size_of_dtype(const std::string& dtype);
  template <typename T>
  static std::string_view dtype_name();

  std::filesystem::path directory_;
  nlohmann::json attributes_;
  std::map<std::string, Entry> entries_;
  std::vector<char> bytes_;
};

// ---- implementation

static_assert(std::endian::native == std::endian::little, "golden.bin is read as it lies");

inline Golden::Golden(const std::filesystem::path& directory)
    : directory_(std::filesystem::path(OCTET_SOURCE_DIR) / "tests/golden" / directory) {
  const auto index = (directory_ / "golden.json").string(), data = (directory_ / "golden.bin").string();
  std::ifstream index_file(index), data_file(data, std::ios::binary);
  if (!index_file) throw internal_error("golden", "cannot read {}", index);
  if (!data_file) throw internal_error("golden", "cannot read {}", data);
  bytes_.assign(std::istreambuf_iterator<char>(data_file), {});
  try {
    const auto root = nlohmann::json::parse(index_file);
    attributes_ = root.at("attributes");
    for (const auto& t : root.at("tensors")) {
      entries_[t.at("name")] = {t.at("dtype"), t.at("shape"), t.at("offset")};
    }
  } catch (const nlohmann::json::exception& e) {
    throw internal_error("golden", "{}: {}", index, e.what());
  }
  for (const auto& [name, e] : entries_) {
    const std::int64_t end = e.offset + e.elements() * size_of_dtype(e.dtype);
    if (e.offset < 0 || e.elements() < 0 || end > static_cast<std::int64_t>(bytes_.size())) {
      throw internal_error("golden", "{}: tensor {} ends at byte {} of {}", data, name, end, bytes_.size());
    }
  }
}

inline const Golden::Entry& Golden::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw internal_error("golden", "{}: no tensor {}", directory_.string(), name);
  return found->second;
}

inline std::vector<std::string> Golden::names(std::string_view prefix) const {
  std::vector<std::string> result;
  for (const auto& [name, e] : entries_) {
    if (name.starts_with(prefix)) result.push_back(name);
  }
  return result;
}

inline std::int64_t Golden::size_of_dtype(const std::string& dtype) {
  if (dtype == "f64") return 8;
  for (const DType t : {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8}) {
    if (dtype == name_of(t)) return size_of(t);
  }
  throw internal_error("golden", "unknown dtype {}", dtype);
}

template <typename T>
std::string_view Golden::dtype_name() {
  if constexpr (std::is_same_v<T, double>) {
    return "f64";
  } else {
    return name_of(dtype_of<T>::value);
  }
}

template <typename T>
std::vector<T> Golden::values(const std::string& name) const {
  const Entry& e = entry(name);
  if (e.dtype != dtype_name<T>()) {
    throw internal_error("golden", "{}: tensor {} of {} read as {}", directory_.string(), name, e.dtype,
                         dtype_name<T>());
  }
  std::vector<T> result(static_cast<std::size_t>(e.elements()));
  if (!result.empty()) std::memcpy(result.data(), bytes_.data() + e.offset, result.size() * sizeof(T));
  return result;
}

inline std::vector<double> Golden::doubles(const std::string& name) const {
  const auto widen = [](const auto& from) { return std::vector<double>(from.begin(), from.end()); };
  const std::string& dtype = entry(name).dtype;
  if (dtype == "f32") return widen(values<float>(name));
  if (dtype == "bf16") return widen(values<bf16>(name));
  if (dtype == "e4m3") return widen(values<e4m3>(name));
  if (dtype == "e5m2") return widen(values<e5m2>(name));
  if (dtype == "i32") return widen(values<std::int32_t>(name));
  if (dtype == "u8") return widen(values<std::uint8_t>(name));
  return values<double>(name);
}

template <typename T>
T Golden::attribute(const std::string& key) const {
  try {
    return attributes_.at(key).get<T>();
  } catch (const nlohmann::json::exception& e) {
    throw internal_error("golden", "{}: attribute {}: {}", directory_.string(), key, e.what());
  }
}

template <typename A, typename B>
double Golden::distance(const std::vector<A>& a, const std::vector<B>& reference) {
  if (a.size() != reference.size()) {
    throw internal_error("golden", "distance of {} values to {}", a.size(), reference.size());
  }
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(reference[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

}  // namespace octet
