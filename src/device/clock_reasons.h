#pragma once

#include <cstdint>
#include <string>

namespace octet::clock_reasons {

/// Why a GPU's clocks are not higher: nvmlClocksEventReasons (nvmlClocksThrottleReasons of older drivers) of nvml.h.
enum : std::uint64_t {
  idle = 0x1,               ///< nothing to do
  setting = 0x2,            ///< clocks that a person or program has set
  power_cap = 0x4,          ///< the power limit: normal in training
  hardware_slowdown = 0x8,  ///< to half or less: heat, a power brake or a draw that is too high
  sync_boost = 0x10,        ///< held to the clocks of another GPU
  software_thermal = 0x20,  ///< the driver keeps GPU or memory below their temperature
  hardware_thermal = 0x40,  ///< to half or less, for heat
  power_brake = 0x80,       ///< to half or less, asked for by the power supply
  display_setting = 0x100,
};

/// Those that mean that something is wrong with cooling or power.
constexpr std::uint64_t slowdowns = hardware_slowdown | software_thermal | hardware_thermal | power_brake;

/// "power cap, hardware thermal slowdown"; "none" for 0.
std::string names(std::uint64_t bits);

}  // namespace octet::clock_reasons
