#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What profile.json says: where the time of a few steps went.
struct Profile {
  /// Times in seconds by kind, in this order. They sum to `wall`, but for overlapped communication, which passes beside
  /// other kinds.
  static constexpr std::array<std::string_view, 7> kinds{
      "gemm", "attention", "memory_bound", "exposed_communication", "host", "idle", "overlapped_communication"};

  struct Rank {
    std::int64_t rank = 0;
    std::string node;
    double wall = 0;
    std::array<double, kinds.size()> seconds{};
  };
  /// A kernel, over all profiled steps of a rank.
  struct Kernel {
    std::string name, kind, phase;
    std::int64_t calls = 0;
    double seconds = 0;
    double bytes = 0;
  };

  std::int64_t first_step = 0, last_step = 0;
  std::vector<Rank> ranks;
  std::vector<Kernel> kernels;  ///< largest first
};

/// Usage error with file, and line or what is missing, where it cannot be read or is not of this form.
Profile read_profile(const std::string& path);

}  // namespace octet
