#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <map>

#include "src/base/heartbeat.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/cuda_graph.h"
#include "src/device/cuda/multicast.h"
#include "src/device/cuda/native_handles.h"
#include "src/device/cuda/stream_ordered_pool.h"
#include "src/device/device.h"
#include "src/device/listed_zero.h"
#include "src/device/work_list.h"

namespace octet {
namespace {

using cuda::check, cuda::native, cuda::StreamOrderedPool;

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(bool timing) : timing_(timing) {}
  bool complete() const override {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // or the next launch would report it
      return false;
    }
    check(status, "work before an event");
    return true;
  }
  void synchronize() const override {
    heartbeat::begin("wait for an event of the device");
    check(cudaEventSynchronize(event_.get()), "work before an event");
  }
  double seconds_since(const Event& earlier) const override {
    const auto& since = dynamic_cast<const CudaEvent&>(earlier);
    if (!timing_ || !since.timing_) return Event::seconds_since(earlier);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, since.get(), get()), "the time between two events");
    return static_cast<double>(milliseconds) / 1e3;
  }
  cudaEvent_t get() const { return event_.get(); }

 private:
  bool timing_;
  cuda::EventHandle event_ = cuda::make_native_event(timing_ ? cudaEventDefault : cudaEventDisableTiming);
};

class CudaStream final : public Stream {
 public:
  CudaStream(Device& device, StreamOrderedPool& pool, StreamPriority priority)
      : device_(device), pool_(pool), stream_(cuda::make_native_stream(priority)) {
    pool_.add(stream_.get());
  }
  ~CudaStream() override { pool_.remove(stream_.get()); }
  Device& device() const override { return device_; }
  void record(Event& event) override {
    Listing::flush("an event is recorded");
    heartbeat::begin("recording of an event");
    check(cudaEventRecord(static_cast<CudaEvent&>(event).get(), stream_.get()), "recording an event");
  }
  void wait(const Event& event) override {
    Listing::flush("a stream waits for an event");
    heartbeat::begin("order between two streams");
    check(cudaStreamWaitEvent(stream_.get(), static_cast<const CudaEvent&>(event).get()), "waiting for an event");
  }
  void synchronize() override {
    Listing::flush("the host waits for a stream");
    heartbeat::begin("wait for a stream of the device");
    check(cudaStreamSynchronize(stream_.get()), "work on a stream");
  }
  /// Whoever takes it is about to give the stream something.
  void* native() const override {
    Listing::flush("a library takes the stream");
    return stream_.get();
  }

 private:
  Device& device_;
  StreamOrderedPool& pool_;
  cuda::StreamHandle stream_;
};

/// One process uses one CUDA device, which is the current one of its main thread.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : pool_((check(cudaSetDevice(index), "choosing a device"), index)) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "reading the device's properties");
    name_ = properties.name;
    char id[32] = {};
    check(cudaDeviceGetPCIBusId(id, sizeof(id), index), "reading the device's PCI bus id");
    pci_bus_id_ = id;
    compute_capability_ = 10 * properties.major + properties.minor;
    multiprocessors_ = properties.multiProcessorCount;
    multicast_ = cuda::has_multicast(index);
    memory_bytes_ = static_cast<std::int64_t>(properties.totalGlobalMem);
    available_bytes_ = memory_now().free - reserve_bytes;
  }

  DeviceType type() const override { return DeviceType::cuda; }
  std::string name() const override { return name_; }
  std::string description() const override {
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "reading the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "reading the run time's version");
    return fmt::format("{}, compute capability {}.{}, {:.1f} GiB ({:.1f} free), driver for CUDA {}.{}, run time {}.{}",
                       name_, compute_capability_ / 10, compute_capability_ % 10, gibibytes(memory_bytes_),
                       gibibytes(available_bytes_), driver / 1000, driver % 1000 / 10, runtime / 1000,
                       runtime % 1000 / 10);
  }
  std::string pci_bus_id() const override { return pci_bus_id_; }
  int compute_capability() const override { return compute_capability_; }
  int multiprocessors() const override { return multiprocessors_; }
  bool has_multicast() const override { return multicast_; }
  std::int64_t memory_bytes() const override { return memory_bytes_; }
  std::int64_t available_bytes() const override { return available_bytes_; }
  std::int64_t used_bytes() const override { return memory_now().total - memory_now().free; }

  std::unique_ptr<Stream> make_stream(StreamPriority priority) override {
    return std::make_unique<CudaStream>(*this, pool_, priority);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(false); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<CudaEvent>(true); }

  void* allocate(std::int64_t bytes) override {
    Listing::flush("memory of the device is taken");
    heartbeat::begin("allocation on the device");
    void* memory = nullptr;
    const cudaError_t status = pool_.allocate(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      throw internal_error("device", "out of memory on {}: {} bytes asked, {} of {} free", name_, bytes,
                           memory_now().free, memory_bytes_);
    }
    check(status, "allocating memory");
    return memory;
  }
  void deallocate(void* memory, std::int64_t) noexcept override {
    Listing::flush("memory of the device is freed");
    pool_.deallocate(memory);
  }
  std::unique_ptr<Graph> make_graph(Stream& stream, const WorkList& work) override {
    return cuda::make_graph(stream, [&] { work.give(stream); });
  }
  void synchronize() override {
    Listing::flush("the host waits for the device");
    heartbeat::begin("wait for the device");
    check(cudaDeviceSynchronize(), "work on the device");
  }
  void* allocate_host(std::int64_t bytes) override {
    heartbeat::begin("allocation of pinned host memory");
    void* memory = nullptr;
    check(cudaMallocHost(&memory, static_cast<std::size_t>(bytes)), "allocating pinned host memory");
    return memory;
  }
  /// Waits for the device. Where something has failed, that may wait for a rank that is gone, and nobody would hear
  /// why; the process ends soon.
  void deallocate_host(void* memory) noexcept override {
    if (std::uncaught_exceptions() == 0) cudaFreeHost(memory);
  }

  void zero(void* memory, std::int64_t bytes, Stream& stream) override {
    if (bytes == 0 || lists_zero(memory, bytes, stream)) return;
    heartbeat::begin("zeroing of device memory");
    check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), native(stream)), "zeroing memory");
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    transfer(to, from, bytes, cudaMemcpyDeviceToDevice, s);
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    transfer(to, from, bytes, cudaMemcpyHostToDevice, s);
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    transfer(to, from, bytes, cudaMemcpyDeviceToHost, s);
  }

 private:
  /// What kernels and libraries take when they are loaded, after this is read.
  static constexpr std::int64_t reserve_bytes = std::int64_t{1} << 30;

  struct Memory {
    std::int64_t free, total;
  };
  static Memory memory_now() {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
  }
  static double gibibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

  static void transfer(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, Stream& stream) {
    if (bytes == 0) return;
    heartbeat::begin("copy to or from the device");
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, native(stream)), "copying memory");
  }

  StreamOrderedPool pool_;
  std::string name_;
  std::string pci_bus_id_;
  int compute_capability_ = 0;
  int multiprocessors_ = 0;
  bool multicast_ = false;
  std::int64_t memory_bytes_ = 0;
  std::int64_t available_bytes_ = 0;
};

}  // namespace

std::string why_no_cuda() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "there is no NVIDIA driver on this machine";
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is for CUDA {}.{}, older than this program's {}.{}", driver / 1000,
                       driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  }
  if (status != cudaSuccess) return fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
  return count == 0 ? "the driver shows no device" : "";
}

std::string cuda_bus_id(int index) {
  std::array<char, 32> id{};
  if (cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), index) == cudaSuccess) return id.data();
  cudaGetLastError();  // opening the device says what is wrong
  return "";
}

Device& cuda_device(int index) {
  if (const std::string reason = why_no_cuda(); !reason.empty()) {
    throw usage_error("device", "cuda device {}: {}; run on a node with an NVIDIA GPU, or use --device cpu", index,
                      reason);
  }
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting devices");
  if (index < 0 || index >= count) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw usage_error("device",
                      "cuda device {}: this process sees {} device(s), CUDA_VISIBLE_DEVICES is {}; expected all of the "
                      "node's GPUs: start one rank per GPU, without --gpus-per-task and --gpu-bind",
                      index, count, visible == nullptr ? "not set" : visible);
  }
  static std::map<int, CudaDevice> devices;
  try {
    return devices.try_emplace(index, index).first->second;
  } catch (const Error& error) {  // which names none of the node's GPUs
    throw Error(error.code(), fmt::format("{}, on cuda device {}", error.what(), index));
  }
}

}  // namespace octet
