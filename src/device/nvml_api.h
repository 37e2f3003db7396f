#pragma once

#include <dlfcn.h>

#include <string>

#include "src/base/handle.h"

namespace octet::nvml {

// What is used of NVML's C ABI, declared here because the library comes with the driver, its header with the toolkit,
// and the CPU build has neither. As in nvml.h of CUDA 12.9; https://docs.nvidia.com/deploy/nvml-api/ describes each
// function. Enumerations are passed as the ints that they are in C.

using Return = int;          // nvmlReturn_t
using DeviceHandle = void*;  // nvmlDevice_t
using EventSet = void*;      // nvmlEventSet_t
constexpr Return success = 0;
constexpr Return gpu_is_lost = 15;
constexpr Return reset_required = 16;

enum Clock : unsigned { clock_sm = 1, clock_memory = 2 };                // nvmlClockType_t
enum Sensor : unsigned { sensor_gpu = 0 };                               // nvmlTemperatureSensors_t
enum MemoryError : unsigned { error_corrected = 0, error_uncorrected };  // nvmlMemoryErrorType_t
enum Counter : unsigned { counter_volatile = 0 };                        // nvmlEccCounterType_t
constexpr unsigned long long event_xid = 0x8;                            // nvmlEventTypeXidCriticalError

/// nvmlEventData_t. nvmlEventSetWait of drivers before CUDA 11 leaves the last two alone.
struct EventData {
  DeviceHandle device;
  unsigned long long type;
  unsigned long long data;  ///< number of the Xid
  unsigned gpu_instance;
  unsigned compute_instance;
};

using LibraryHandle = Handle<ClosedBy<void*, dlclose>>;

/// The functions of a loaded NVML. Those of the second part are null where the driver is too old for them.
struct Api {
  /// Usage error when `file` cannot be loaded or lacks a function of the first part.
  explicit Api(const std::string& file);

  LibraryHandle library;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*device_by_pci_bus_id)(const char* id, DeviceHandle*) = nullptr;

  Return (*clock_info)(DeviceHandle, Clock, unsigned* mhz) = nullptr;
  Return (*clock_reasons)(DeviceHandle, unsigned long long* bits) = nullptr;
  Return (*temperature)(DeviceHandle, Sensor, unsigned* celsius) = nullptr;
  Return (*power_usage)(DeviceHandle, unsigned* milliwatts) = nullptr;
  Return (*ecc_errors)(DeviceHandle, MemoryError, Counter, unsigned long long* count) = nullptr;
  Return (*remapped_rows)(DeviceHandle, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                          unsigned* failure) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*register_events)(DeviceHandle, unsigned long long types, EventSet) = nullptr;
  Return (*event_set_wait)(EventSet, EventData*, unsigned timeout_ms) = nullptr;
};

}  // namespace octet::nvml
