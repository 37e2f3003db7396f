#include "src/ops/tensor_checks.h"

#include <fmt/format.h>

#include <limits>

namespace octet {

std::string TensorChecks::Finding::text() const {
  const bool stopped = count >= std::numeric_limits<std::uint32_t>::max();
  return fmt::format("{}{} non-finite element(s) in {}, {}", stopped ? "at least " : "", count, unit, tensor);
}

TensorChecks::TensorChecks(Device& device, Stream& stream, std::vector<std::string> units,
                           std::vector<std::string> tensors)
    : units_(std::move(units)),
      tensors_(std::move(tensors)),
      device_(device),
      counters_(device, size() * static_cast<std::int64_t>(sizeof(std::uint32_t)), Purpose::workspace) {
  reset(stream);
}

std::vector<TensorChecks::Finding> TensorChecks::read(Stream& stream) const {
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(size()));
  device_.copy_to_host(counts.data(), counters_.data(), counters_.bytes(), stream);
  stream.synchronize();
  return findings(std::vector<std::int64_t>(counts.begin(), counts.end()).data());
}

std::vector<TensorChecks::Finding> TensorChecks::findings(const std::int64_t* counts) const {
  std::vector<Finding> found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(size()); ++i) {
    if (counts[i] != 0) found.push_back({units_[i / tensors_.size()], tensors_[i % tensors_.size()], counts[i]});
  }
  return found;
}

void TensorChecks::reset(Stream& stream) {
  device_.zero(counters_.data(), counters_.bytes(), stream);
}

}  // namespace octet
