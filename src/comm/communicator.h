#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

enum class ReduceOp : std::uint8_t { sum, max };

/// A message that is under way. Only wait() completes it, and this has to happen before its communicator ends.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Work that `stream` is given after this call runs after the message has been sent or received. On the CPU this call
  /// waits for the message, and throws as the communicator's calls do.
  virtual void wait(Stream& stream) = 0;
  /// Lets the message get on. MPI moves large ones only while it is called: whoever computes meanwhile calls this from
  /// time to time. Does nothing on a GPU.
  virtual void poll() {}
};

/// A group of ranks that communicate, bound to a stream: every call is ordered on it like a kernel. All ranks of the
/// group make the same calls in the same order. Counts are elements; buffers are device memory. On the CPU a call
/// has completed when it returns, and sums are formed in fp32 in rank order, so that their bits do not depend on MPI;
/// on a GPU their order is NCCL's. Used from the main thread only. Throws Error (lost_peer) when a deadline passes.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  ///< e.g. "dp_shard", for traces and messages
  virtual Stream& stream() const = 0;

  /// recv[r · count + i] = send of rank r [i]. `send` may be recv + rank · count (in place). Any dtype.
  virtual void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) = 0;
  /// recv[i] = sum over ranks of send[rank · count + i]. fp32 only. `recv` must not overlap `send`; on a GPU it may be
  /// send + rank · count (in place), as NCCL has it.
  virtual void reduce_scatter(const float* send, float* recv, std::int64_t count) = 0;
  /// Reduces in place: i32 by sum or max; fp32 by sum, or by max where at least one value is not negative, as abs-maxes
  /// are (NaN wins, as in torch.amax).
  virtual void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) = 0;
  /// recv[r · count + i] = send of rank r [rank · count + i]. Not in place.
  virtual void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) = 0;
  virtual void broadcast(void* data, std::int64_t count, DType dtype, int root) = 0;

  /// all_reduce and broadcast with the result in another buffer, which does not overlap `send`. Not within a group of
  /// calls. A backend that has no such call first copies `send` to `recv`. broadcast_to reads `send` on the root alone.
  virtual void all_reduce_to(const void* send, void* recv, std::int64_t count, DType dtype, ReduceOp op);
  virtual void broadcast_to(const void* send, void* recv, std::int64_t count, DType dtype, int root);

  virtual void send(const void* data, std::int64_t count, DType dtype, int to) = 0;
  virtual void recv(void* data, std::int64_t count, DType dtype, int from) = 0;
  /// These only begin a message: the caller computes on while it is under way, and must not touch its memory before
  /// Transfer::wait. On a GPU they are calls on stream() like all others, each after the one before. Not within a group
  /// of calls.
  virtual std::unique_ptr<Transfer> start_send(const void* data, std::int64_t count, DType dtype, int to);
  virtual std::unique_ptr<Transfer> start_recv(void* data, std::int64_t count, DType dtype, int from);
  virtual void barrier() = 0;

  /// A group is the thread's, not a communicator's: from the first group_begin of any communicator to the group_end
  /// that matches it, the calls of all communicators are only noted. At that outermost end all of them start, in any
  /// order, merged and side by side, and they are done (in stream order) after it; the end of a group within does
  /// nothing. Until then nobody may read what a call brings, nor write what it sends. Within a group, group_begin and
  /// group_end of each communicator match, nothing is split, and barrier() orders nothing.
  virtual void group_begin() = 0;
  virtual void group_end() = 0;

  /// New group of the ranks that pass the same colour, ordered by (key, rank). Colours are at least 0.
  /// Collective over this group.
  virtual std::unique_ptr<Communicator> split(int color, int key, std::string name) = 0;
  /// New group of the ranks of this one's node, those that give it the same name, in their order: they share memory.
  /// Collective.
  virtual std::unique_ptr<Communicator> split_by_node(std::string name) = 0;

  /// The same ranks on the same stream under another name, which is that of its own in traces, messages and settings.
  /// What is underneath, and costs memory and time to make, is shared with this group, unless the settings of the two
  /// names differ. Both may be used as long as they live, but for the order of calls they are one group: all ranks make
  /// the calls of both in the same order. Collective.
  virtual std::unique_ptr<Communicator> alias(std::string name) = 0;

  /// The same ranks, bound to another stream of the same device: its calls are ordered on that one alone, and may be
  /// under way together with this group's. Collective.
  virtual std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) = 0;

  /// Memory from which this group sends and into which it receives with the least copying (NCCL: registered with it, if
  /// so set); any other memory works as well. Where it is not cheap(), every rank allocates the same sizes in the same
  /// order. This memory has to be freed before the group ends.
  virtual MemorySource& memory() { return stream().device(); }

  /// Ends the job on every rank with this exit code; a group that is of no job (make_self_communicator) ends its own
  /// process. Does not return.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// A group of one, no MPI needed.
std::unique_ptr<Communicator> make_self_communicator(Stream& stream, std::string name);

}  // namespace octet
