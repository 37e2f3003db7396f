#include "src/train/health/health_changes.h"

#include <fmt/ranges.h>

#include <cstdlib>

#include "src/base/options/text.h"
#include "src/base/xid.h"

namespace octet {
namespace {

std::string describe_rows(const RemappedRows& rows) {
  return fmt::format("remapped rows of memory: {} for corrected errors, {} for uncorrected ones{}{}", rows.corrected,
                     rows.uncorrected, rows.pending ? "; more at the next reset, which should come soon" : "",
                     rows.failure ? "; a remapping has failed: have the GPU looked at" : "");
}

std::string describe_errors(const char* kind, std::uint64_t now, std::uint64_t before) {
  return fmt::format("ECC: {} new {} error(s), {} since the driver was loaded", now - before, kind, now);
}

/// "SM 1980 MHz, memory 2619 MHz, 61 C, 640.0 W", of what is there.
std::string describe_clocks(const DeviceReadings& now) {
  std::vector<std::string> parts;
  if (now.sm_mhz) parts.push_back(fmt::format("SM {} MHz", *now.sm_mhz));
  if (now.memory_mhz) parts.push_back(fmt::format("memory {} MHz", *now.memory_mhz));
  if (now.celsius) parts.push_back(fmt::format("{} C", *now.celsius));
  if (now.watts) parts.push_back(fmt::format("{:.1f} W", *now.watts));
  return parts.empty() ? "no readings of clocks" : joined(parts);
}

}  // namespace

std::vector<HealthNote> HealthChanges::of(const DeviceReadings& now) {
  notes_.clear();
  unusable(now);
  for (const std::uint64_t xid : now.xids.value_or(std::vector<std::uint64_t>())) note(true, describe_xid(xid));
  errors(now);
  rows(now);
  clocks(now);
  return std::exchange(notes_, {});
}

void HealthChanges::unusable(const DeviceReadings& now) {
  if (now.unusable == unusable_) return;
  now.unusable.empty() ? note(false, "NVML can use the GPU again")
                       : note(true, fmt::format("NVML cannot use the GPU: {}", now.unusable));
  unusable_ = now.unusable;
}

/// Counts go back to 0 when the driver is loaded anew or the GPU is reset.
void HealthChanges::errors(const DeviceReadings& now) {
  if (now.ecc_corrected) {
    const std::uint64_t before = corrected_.value_or(*now.ecc_corrected);
    if (*now.ecc_corrected > before) note(false, describe_errors("corrected", *now.ecc_corrected, before));
    corrected_ = now.ecc_corrected;
  }
  if (now.ecc_uncorrected) {
    if (*now.ecc_uncorrected > uncorrected_) {
      note(true, describe_errors("uncorrected", *now.ecc_uncorrected, uncorrected_));
    }
    uncorrected_ = *now.ecc_uncorrected;
  }
}

void HealthChanges::rows(const DeviceReadings& now) {
  if (!now.rows) return;
  const RemappedRows well{.corrected = now.rows->corrected, .uncorrected = now.rows->uncorrected};
  if (*now.rows != rows_.value_or(well)) note(true, describe_rows(*now.rows));
  rows_ = now.rows;
}

void HealthChanges::clocks(const DeviceReadings& now) {
  const std::uint64_t reasons = now.clock_reasons.value_or(slowdowns_);
  const std::uint64_t slow = reasons & clock_reasons::slowdowns;
  const std::uint64_t normal = reasons & ~clock_reasons::slowdowns & ~clock_reasons::idle;
  const bool idle = (reasons & clock_reasons::idle) != 0;
  const std::int64_t sm = now.sm_mhz.value_or(sm_mhz_), before = sm_mhz_;
  const std::string state = describe_clocks(now);

  const std::size_t lines = notes_.size();
  if (slow != slowdowns_) {
    slow != 0 ? note(true, fmt::format("clocks are slowed down: {} ({})", clock_reasons::names(slow), state))
              : note(false, fmt::format("clocks are no longer slowed down ({})", state));
  } else if ((normal & ~normal_.value_or(normal)) != 0) {
    note(false, fmt::format("clocks are limited: {} ({})", clock_reasons::names(normal), state));
  } else if (!idle && before != 0 && 10 * std::abs(sm - before) > before) {
    note(false, fmt::format("SM clock {} MHz, before {} MHz ({}; limited by: {})", sm, before, state,
                            now.clock_reasons ? clock_reasons::names(reasons) : "unknown"));
  }
  slowdowns_ = slow;
  if (now.clock_reasons) normal_ = normal_.value_or(0) | normal;
  if (!idle && (before == 0 || notes_.size() > lines)) sm_mhz_ = static_cast<std::uint32_t>(sm);
}

std::string describe(const DeviceReadings& now) {
  std::vector<std::string> parts{describe_clocks(now)}, absent;
  const auto add = [&](bool there, const char* what, auto text) {
    if (there) {
      parts.push_back(text());
    } else {
      absent.emplace_back(what);
    }
  };
  add(now.clock_reasons.has_value(), "clock reasons",
      [&] { return "limited by: " + clock_reasons::names(*now.clock_reasons); });
  add(now.ecc_corrected && now.ecc_uncorrected, "ECC counts", [&] {
    return fmt::format("ECC errors since the driver was loaded: {} corrected, {} uncorrected", *now.ecc_corrected,
                       *now.ecc_uncorrected);
  });
  add(now.rows.has_value(), "remapped rows", [&] { return describe_rows(*now.rows); });
  add(now.xids.has_value(), "Xids", [] { return std::string("Xids are watched"); });
  if (!absent.empty()) parts.push_back("not told by NVML: " + joined(absent));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace octet
