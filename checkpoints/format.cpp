#include "checkpoints/format.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace octet::checkpoint {

std::string directory_name(std::int64_t step) {
  return fmt::format("step-{:06}", step);
}

std::string temporary_name(std::int64_t step, std::string_view owner) {
  return fmt::format("{}{}{}.tmp", directory_name(step), owner.empty() ? "" : ".", owner);
}

std::string file_name(int writer) {
  return fmt::format("writer-{:05}.h5", writer);
}

std::string dataset_name(const std::string& tensor, const Box& box) {
  const auto* offset = box.offset.data();
  return fmt::format("{}/@{}", tensor, fmt::join(offset, offset + box.extent.rank(), ","));
}

bool is_tensor_name(std::string_view name) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool plain = std::all_of(part.begin(), part.end(), [](char c) {
      return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' || c == '-' ||
             c == '.';
    });
    if (part.empty() || part == "." || part == ".." || !plain) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace octet::checkpoint
