#include "src/evaluate/windows.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {

std::vector<Window> rolling_windows(std::int64_t tokens, std::int64_t window, std::int64_t stride) {
  if (window < 1 || stride < 1 || stride > window) {
    throw internal_error("evaluate", "windows of {} tokens with a stride of {}", window, stride);
  }
  std::vector<Window> windows;
  for (std::int64_t first = 0; first < tokens;) {
    const std::int64_t end = std::min(tokens, first + (first == 0 ? window : stride));
    windows.push_back({.context = first == 0 ? -1 : end - window - 1, .first = first, .end = end});
    first = end;
  }
  return windows;
}

}  // namespace octet
