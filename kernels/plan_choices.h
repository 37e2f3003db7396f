#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// What a library of a GPU can do in several ways, which differ in speed and in rounding.
enum class PlanKind : std::uint8_t { gemm, attention };
constexpr auto names_of(PlanKind) {
  return std::to_array<std::string_view>({"gemm", "attention"});
}

/// The way that is taken. It means something to one version of the library on one kind of GPU.
struct PlanChoice {
  std::string plan;         ///< of a GEMM eight words in hexadecimal; of attention cuDNN's name of an engine
  double microseconds = 0;  ///< as measured when it was chosen

  bool operator==(const PlanChoice&) const = default;
};

/// What choices are valid for.
struct PlanPlatform {
  PlanKind kind = PlanKind::gemm;
  std::uint64_t library_version = 0;  ///< cublasLtGetVersion or cudnnGetVersion; 0: there is no library
  std::string device;                 ///< the GPU's name

  bool operator==(const PlanPlatform&) const = default;
  /// "cuBLASLt 130100 on NVIDIA H100 80GB HBM3"
  std::string text() const;
};

/// Choices by the text that describes a problem (gemm_problem of kernels/gemm_timing.h, text_of of
/// kernels/attention.h).
struct PlanChoices {
  PlanPlatform platform;
  std::map<std::string, PlanChoice> by_problem{};

  bool operator==(const PlanChoices&) const = default;
};

/// The text of a file of choices, a line each: a title, "cublaslt VERSION" or "cudnn VERSION", "device NAME", then
/// "plan | microseconds | problem".
std::string text_of(const PlanChoices& choices);
/// The choices in such a text. Throws a usage error that names `source` and the line when it is anything else.
PlanChoices parse_plan_choices(PlanKind kind, const std::string& text, const std::string& source);
/// The choices of a file. Where it cannot be read, throws a usage error for a path that is wrong, and an internal one
/// for a disk or a file server that fails (not_read of src/base/files.h).
PlanChoices read_plan_choices(PlanKind kind, const std::string& path);
/// Replaces the file whole (src/base/replace_file.h). Where it cannot, throws a usage error for a path that is wrong,
/// and an internal one for a full disk or a device that fails (not_written of src/base/files.h).
void write_plan_choices(const std::string& path, const PlanChoices& choices);

}  // namespace octet
