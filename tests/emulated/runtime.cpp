// CUDA's run time for the emulated device: the device itself and launches. As much as Octet calls, with the limits of
// an H100. Returns what CUDA returns, by the CUDA Runtime API reference; a kernel's fault is told on the standard error
// and is the answer to every call from then on.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "tests/emulated/emulated_launch.h"
#include "tests/emulated/runtime.h"

namespace octet::emulated {
namespace {

thread_local int current_device = 0;
constexpr int multiprocessors = 132, threads_of_multiprocessor = 2048;
constexpr std::size_t shared_of_multiprocessor = 228 * 1024;

/// What a block may have: an H100's, or less, as on other GPUs. Asked at every call, so that a test can change it.
std::size_t most_shared() {
  return std::min(setting("OCTET_EMULATED_SHARED", most_dynamic_shared), most_dynamic_shared);
}

/// What a kernel was allowed.
struct Allowed {
  std::size_t shared = 48 * 1024;
  unsigned cluster = 8;
};
std::map<const void*, Allowed>& allowed() {
  static std::map<const void*, Allowed> kernels;
  return kernels;
}

/// What becomes of the kernel that is the launch of a number which the environment names.
void end_badly() {
  static const std::size_t breaks = setting("OCTET_EMULATED_BREAKS_AT", 0),
                           hangs = setting("OCTET_EMULATED_HANGS_AT", 0);
  static std::atomic<std::size_t> runs = 0;
  const std::size_t now = ++runs;
  if (now == breaks) fault("the environment has it broken");
  while (now == hangs) pause();
}

/// What Octet asks the driver for.
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  if (attribute != CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) return CUDA_ERROR_INVALID_VALUE;
  *value = static_cast<int>(setting("OCTET_EMULATED_MULTICAST", 1));
  return CUDA_SUCCESS;
}

}  // namespace

void give(cudaStream_t stream, Grid grid, const void* kernel, std::function<void()> thread) {
  call([&](Device& device, Lock&) {
    const std::size_t threads = std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z;
    const Allowed most = allowed()[kernel];
    if (threads == 0 || threads > 1024 || grid.blocks.x == 0 || grid.blocks.y == 0 || grid.blocks.z == 0 ||
        grid.blocks.x > 0x7FFF'FFFFu || grid.blocks.y > 65535 || grid.blocks.z > 65535 || grid.threads.z > 64) {
      return cudaErrorInvalidConfiguration;
    }
    if (grid.cluster > 1 && (grid.blocks.x % grid.cluster != 0 || grid.cluster > most.cluster))
      return cudaErrorInvalidClusterSize;
    if (grid.shared > std::min(most.shared, most_shared())) return cudaErrorInvalidValue;
    std::string name = grid.kernel;
    device.give(stream, std::move(name), [grid = std::move(grid), thread = std::move(thread)] {
      end_badly();
      run(grid, thread);
    });
    return cudaSuccess;
  });
}

}  // namespace octet::emulated

using namespace octet::emulated;

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  static thread_local char text[64];
  std::snprintf(text, sizeof text, "error %d of the emulated device", static_cast<int>(error));
  return text;
}
cudaError_t cudaGetLastError() {
  Device& device = Device::get();
  const Lock lock(device.mutex);
  return std::exchange(device.last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return Device::get().last_error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = visible_devices;
  return visible_devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= visible_devices) return cudaErrorInvalidDevice;
  if (setting("OCTET_EMULATED_BROKEN", 0) != 0) return cudaErrorECCUncorrectable;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated device");
  properties->major = 9;
  properties->multiProcessorCount = multiprocessors;
  properties->totalGlobalMem = total_memory;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (device < 0 || device >= visible_devices) return cudaErrorInvalidDevice;
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", static_cast<unsigned>(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(most_shared());
      return cudaSuccess;
    case cudaDevAttrClusterLaunch:
      *value = 1;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(symbol, "cuDeviceGetAttribute") == 0;
  *function = known ? reinterpret_cast<void*>(&device_attribute) : nullptr;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return call([](Device& device, Lock& lock) {
    if (device.spoils_capture()) return cudaErrorStreamCaptureUnsupported;
    device.run_all(lock);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([&](Device&, Lock&) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      if (value < 0 || static_cast<std::size_t>(value) > most_shared()) return cudaErrorInvalidValue;
      allowed()[kernel].shared = static_cast<std::size_t>(value);
    }
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) allowed()[kernel].cluster = value != 0 ? 16 : 8;
    return cudaSuccess;
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}
/// By threads and shared memory alone, in groups of 16 multiprocessors.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* config) {
  const auto cluster = static_cast<int>(config->attrs[0].val.clusterDim.x);
  const auto threads = static_cast<int>(config->blockDim.x);
  const auto by_shared = static_cast<int>(shared_of_multiprocessor / (config->dynamicSmemBytes + 1024));
  const int blocks = std::min(threads_of_multiprocessor / threads, by_shared);
  *clusters = multiprocessors / 16 * (16 * blocks / cluster);
  return cudaSuccess;
}
}
