#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"
#include "src/device/memory_ledger.h"
#include "src/device/work.h"

namespace octet {

enum class DeviceType : std::uint8_t { cpu, cuda };
constexpr auto names_of(DeviceType) {
  return std::to_array<std::string_view>({"cpu", "cuda"});
}

class Device;
class WorkList;

/// A point in a stream's work. On the CPU every event is complete as soon as it is recorded.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool complete() const = 0;
  /// Blocks the calling thread until the work before the event is done.
  virtual void synchronize() const = 0;
  /// The seconds from when the device came to `earlier` until it came to this event. Both must be from
  /// make_timing_event, recorded and complete, else it is an internal error. CUDA's clock ticks every 0.5 µs, and its
  /// float milliseconds keep 24 bits: to about 1 µs within 10 s.
  virtual double seconds_since(const Event& earlier) const;
};

/// Which of two kernels gets a multiprocessor of a GPU that is free for either: high ones before normal ones. The
/// model's own stream is normal. What works beside it, and is soon waited for (collectives, an update), is high, as
/// PyTorch's FSDP2 has it for its gathers and reductions. Another device has no use for it.
enum class StreamPriority : std::uint8_t { normal, high };

/// An ordered queue of work on one device. On the CPU work runs at once on the calling thread (and its OpenMP team).
/// Not thread-safe: one thread issues to a stream.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() const = 0;
  virtual void record(Event& event) = 0;
  /// Work issued after this call starts when `event` is complete.
  virtual void wait(const Event& event) = 0;
  virtual void synchronize() = 0;
  /// On a device without memory this is called instead of doing the work.
  virtual void skip(const Work&) {}
  /// The backend's own handle (cudaStream_t), null on the CPU.
  virtual void* native() const { return nullptr; }
};

/// Work of a stream that is launched as one (a CUDA graph). Its destructor waits until the device has done what it was
/// given.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Gives the stream all of the work, in its order, for the addresses with which it was made. As often as one likes.
  virtual void launch(Stream& stream) = 0;
};

/// One device of this process. Buffers, streams and events come from here.
class Device : public MemorySource {
 public:
  virtual DeviceType type() const = 0;
  virtual std::string name() const = 0;
  /// One line for the log: the name and what else tells one installation from another.
  virtual std::string description() const { return name(); }
  /// "0000:1b:00.0", by which NVML finds the device (CUDA_VISIBLE_DEVICES renumbers them); empty for the CPU.
  virtual std::string pci_bus_id() const { return {}; }
  /// The compute capability of a GPU as one number, 90 for 9.0; 0 for the CPU and for a dry device.
  virtual int compute_capability() const { return 0; }
  /// Of a GPU, and of a dry device that was told so; 0 for others.
  virtual int multiprocessors() const { return 0; }
  /// Says whether NVSwitches can write to this and other GPUs at once, as NVLink SHARP does, and the driver offers it.
  virtual bool has_multicast() const { return false; }
  /// Total bytes of memory; for the CPU what the machine (or its cgroup) has.
  virtual std::int64_t memory_bytes() const = 0;
  /// The part of these that buffers can have: without what CUDA, its libraries and other processes hold when it is
  /// opened.
  virtual std::int64_t available_bytes() const { return memory_bytes(); }
  /// False where buffers are addresses that nobody may read or write, and no work is done (make_dry_device): what would
  /// be computed for them on the host need not be.
  virtual bool has_memory() const { return true; }
  /// The device type whose kernels say how large workspaces are; it differs from type() only on a device without
  /// memory.
  virtual DeviceType workspaces() const { return type(); }
  /// The bytes in use on the whole device now, by whomever; -1 where it cannot be told (CPU).
  virtual std::int64_t used_bytes() const { return -1; }

  virtual std::unique_ptr<Stream> make_stream(StreamPriority priority = StreamPriority::normal) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// An event that also keeps the time. To record one waits for nothing, but costs the stream a little more.
  virtual std::unique_ptr<Event> make_timing_event() = 0;

  /// 256-byte aligned.
  void* allocate(std::int64_t bytes) override = 0;
  void deallocate(void* memory, std::int64_t bytes) noexcept override = 0;
  /// Host memory that copies to and from the device can use without staging it (pinned on CUDA). Not in the ledger.
  virtual void* allocate_host(std::int64_t bytes) = 0;
  virtual void deallocate_host(void* memory) noexcept = 0;

  /// Ordered on `stream`. `copy` is within the device.
  virtual void zero(void* memory, std::int64_t bytes, Stream& stream) = 0;
  virtual void copy(void* to, const void* from, std::int64_t bytes, Stream& stream) = 0;
  /// Host memory must stay valid until the stream has passed.
  virtual void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream& stream) = 0;
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream& stream) = 0;

  /// Blocks until all streams have done what they were given; on the CPU they have, but for work that is listed.
  virtual void synchronize() {}

  /// The work of a list (src/device/work_list.h) as one graph, which is not launched yet. All of the work must have
  /// been done at least once, so that libraries have chosen and loaded what they need. A device without graphs gives
  /// the list to the stream again, piece by piece. Throws Error where something in it cannot be part of a graph. The
  /// device memory that a CUDA graph takes is the driver's and not in the ledger.
  virtual std::unique_ptr<Graph> make_graph(Stream& stream, const WorkList& work);

  MemoryLedger& ledger() override { return ledger_; }

 private:
  MemoryLedger ledger_;
};

/// The process's CPU device.
Device& cpu_device();
/// CUDA device of that index. A usage error that says what to do where there is none, or no CUDA in this build.
Device& cuda_device(int index);
/// The address of that device, "0000:1b:00.0", before it is opened, which would start threads and take memory near
/// whatever core this is. Empty where there is none.
std::string cuda_bus_id(int index);
/// A device without memory, to find out what work on a device of that type would take: its ledger counts as that
/// device's would, and nothing is computed or copied. Buffers have addresses that are aligned as CUDA's and point
/// nowhere; host memory is real, and zero. Kernels of its streams are dry (kernels/table.h), and report their work to
/// `log`, which outlives the device; its streams, events and timing events keep the time that the work would have
/// taken, from 0.
/// `workspaces`, `multiprocessors`: as Device has them.
std::unique_ptr<Device> make_dry_device(DeviceType type, DeviceType workspaces, WorkLog* log, int multiprocessors = 0);
/// A dry device with workspaces of its own type's kernels.
inline std::unique_ptr<Device> make_dry_device(DeviceType type, WorkLog* log = nullptr) {
  return make_dry_device(type, type, log);
}
/// Why there is no CUDA device to use; empty when there is one.
std::string why_no_cuda();

}  // namespace octet
