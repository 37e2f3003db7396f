#include "jobs/commbench/exercise.h"

#include "src/base/error.h"
#include "src/comm/watchdog.h"

namespace octet::commbench {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// Elements of a call's input and output, and whether they are the same memory.
struct Extent {
  std::int64_t input, output;
  bool in_place = false;
};

Extent extent_of(const CommRecord& call, int ranks) {
  const std::int64_t n = call.count, all = n * ranks;
  if (call.operation == "all_gather") return {all, all, true};
  if (call.operation == "reduce_scatter") return {all, n};
  if (call.operation == "all_to_all") return {all, all};
  if (call.operation == "all_reduce_sum" || call.operation == "all_reduce_max" || call.operation == "broadcast") {
    return {n, n, true};
  }
  if (call.operation == "send") return {n, 0};
  if (call.operation == "recv") return {0, n};
  throw internal_error("commbench", "operation \"{}\" of a trace, which is not known here", call.operation);
}

}  // namespace

std::int64_t Exercise::bytes(const std::vector<CommRecord>& calls, int ranks) {
  std::int64_t sum = 0;
  for (const CommRecord& call : calls) {
    const Extent extent = extent_of(call, ranks);
    sum += aligned(extent.output * size_of(call.dtype));
    if (!extent.in_place) sum += aligned(extent.input * size_of(call.dtype));
  }
  return sum;
}

Exercise::Exercise(Communicator& comm, const std::vector<CommRecord>& calls)
    : comm_(comm),
      rank_(comm.rank()),
      ranks_(comm.size()),
      buffer_(comm.memory(), bytes(calls, comm.size()), Purpose::workspace),
      copier_(comm.stream()) {
  std::int64_t offset = 0, first = 0, sends = 0, receives = 0;
  for (const CommRecord& call : calls) {
    const Extent extent = extent_of(call, ranks_);
    Place place{.call = call, .input = offset, .output = offset, .first = first};
    offset += aligned(extent.output * size_of(call.dtype));
    if (!extent.in_place) {
      place.input = offset;
      offset += aligned(extent.input * size_of(call.dtype));
    }
    // The k-th receive gets what the neighbour's k-th send brings.
    if (call.operation == "send") place.first = 1'000'003 * sends++;
    if (call.operation == "recv") place.first = 1'000'003 * receives++;
    first += extent.input;
    places_.push_back(std::move(place));
  }
}

void Exercise::fill(Pattern& pattern) {
  for (const Place& p : places_) {
    const Extent extent = extent_of(p.call, ranks_);
    const DType dtype = p.call.dtype;
    if (p.call.operation == "all_gather") {
      copier_.poison(at(p.output), extent.output * size_of(dtype));
      copier_.write(at(p.output + rank_ * p.call.count * size_of(dtype)), dtype, pattern, rank_, p.first, p.call.count);
      continue;
    }
    if (!extent.in_place || (p.call.operation == "broadcast" && rank_ != 0)) {
      copier_.poison(at(p.output), extent.output * size_of(dtype));
    }
    if (p.call.operation == "broadcast" && rank_ != 0) continue;
    copier_.write(at(p.input), dtype, pattern, rank_, p.first, extent.input);
  }
}

void Exercise::run(Communicator& comm) {
  if (places_.size() == 1) return issue(comm, places_.front());
  comm.group_begin();
  for (const Place& place : places_) issue(comm, place);
  comm.group_end();
}

void Exercise::issue(Communicator& comm, const Place& p) {
  const std::string& operation = p.call.operation;
  const std::int64_t count = p.call.count;
  const DType dtype = p.call.dtype;
  char *const input = at(p.input), *const output = at(p.output);
  if (operation == "all_gather") {
    comm.all_gather(output + rank_ * count * size_of(dtype), output, count, dtype);
  } else if (operation == "reduce_scatter") {
    comm.reduce_scatter(reinterpret_cast<const float*>(input), reinterpret_cast<float*>(output), count);
  } else if (operation == "all_to_all") {
    comm.all_to_all(input, output, count, dtype);
  } else if (operation == "broadcast") {
    comm.broadcast(output, count, dtype, 0);
  } else if (operation == "send") {
    comm.send(input, count, dtype, (rank_ + 1) % ranks_);
  } else if (operation == "recv") {
    comm.recv(output, count, dtype, (rank_ + ranks_ - 1) % ranks_);
  } else {
    comm.all_reduce(output, count, dtype, operation == "all_reduce_sum" ? ReduceOp::sum : ReduceOp::max);
  }
}

std::int64_t Exercise::count_wrong(Pattern& pattern) {
  const OperationScope operation("comparison of results", comm_.name());
  std::int64_t wrong = 0;
  for (const Place& p : places_) {
    const std::string& name = p.call.operation;
    const std::int64_t count = p.call.count, bytes = count * size_of(p.call.dtype);
    const auto part = [&](std::int64_t offset, int source, std::int64_t begin) {
      wrong += copier_.count_wrong(at(p.output + offset), p.call.dtype, pattern, source, p.first + begin, count);
    };
    if (name == "all_gather") {
      for (int r = 0; r < ranks_; ++r) part(r * bytes, r, 0);
    } else if (name == "all_to_all") {
      for (int r = 0; r < ranks_; ++r) part(r * bytes, r, rank_ * count);
    } else if (name == "reduce_scatter") {
      part(0, Pattern::sum, rank_ * count);
    } else if (name == "broadcast") {
      part(0, 0, 0);
    } else if (name == "recv") {
      part(0, (rank_ + ranks_ - 1) % ranks_, 0);
    } else if (name != "send") {
      part(0, name == "all_reduce_sum" ? Pattern::sum : Pattern::maximum, 0);
    }
  }
  return wrong;
}

}  // namespace octet::commbench
