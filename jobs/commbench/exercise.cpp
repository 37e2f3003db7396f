#include "jobs/commbench/exercise.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/comm/operation.h"

namespace octet::commbench {
namespace {

/// Buffers begin on so many bytes.
constexpr std::int64_t alignment = 256;

bool reduces(const std::string& operation) {
  return operation == "all_reduce_sum" || operation == "all_reduce_max";
}

/// Elements of a call's input and output, and of what a copy of either takes.
struct Extent {
  std::int64_t input, output;
  std::int64_t spare = 0;

  /// Elements of memory for both: in place, the larger one holds the other.
  std::int64_t whole(bool in_place) const { return in_place ? std::max(input, output) : input + output; }
};

Extent extent_of(const CommRecord& call, int ranks, Form form) {
  const std::int64_t n = call.count, all = n * ranks;
  const bool in_place = is_in_place(call.operation, form);
  if (call.operation == "all_gather") return {n, all};
  if (call.operation == "reduce_scatter") return {all, n, in_place ? n : 0};
  if (call.operation == "all_to_all") return {all, all, in_place ? all : 0};
  if (reduces(call.operation) || call.operation == "broadcast") return {n, n};
  if (call.operation == "send") return {n, 0};
  if (call.operation == "recv") return {0, n};
  throw internal_error("commbench", "operation \"{}\" of a trace, which is not known here", call.operation);
}

}  // namespace

bool is_in_place(const std::string& operation, Form form) {
  if (form != Form::training) return form == Form::in_place;
  return operation == "all_gather" || operation == "broadcast" || reduces(operation);
}

bool needs_copy(const std::string& operation, Form form, DeviceType device) {
  const bool in_place = is_in_place(operation, form);
  if (operation == "all_to_all") return in_place;
  if (device != DeviceType::cpu) return false;
  return operation == "reduce_scatter" ? in_place : !in_place && (operation == "broadcast" || reduces(operation));
}

std::int64_t Exercise::bytes(const std::vector<CommRecord>& calls, int ranks, Form form) {
  std::int64_t sum = 0;
  for (const CommRecord& call : calls) {
    const Extent extent = extent_of(call, ranks, form);
    const std::int64_t size = size_of(call.dtype);
    if (is_in_place(call.operation, form)) {
      sum += round_up(extent.whole(true) * size, alignment);
    } else {
      sum += round_up(extent.output * size, alignment) + round_up(extent.input * size, alignment);
    }
    sum += round_up(extent.spare * size, alignment);
  }
  return sum;
}

Exercise::Exercise(Communicator& comm, const std::vector<CommRecord>& calls, Form form)
    : comm_(comm),
      form_(form),
      rank_(comm.rank()),
      ranks_(comm.size()),
      buffer_(comm.memory(), bytes(calls, comm.size(), form), Purpose::workspace),
      copier_(comm.stream()) {
  std::int64_t offset = 0, first = 0, sends = 0, receives = 0;
  for (const CommRecord& call : calls) {
    const Extent extent = extent_of(call, ranks_, form);
    const std::int64_t size = size_of(call.dtype), part = rank_ * call.count * size;
    Place place{
        .call = call, .input = offset, .output = offset, .in_place = is_in_place(call.operation, form), .first = first};
    if (place.in_place) {
      if (call.operation == "all_gather") place.input += part;
      if (call.operation == "reduce_scatter") place.output += part;
      offset += round_up(extent.whole(true) * size, alignment);
    } else {
      offset += round_up(extent.output * size, alignment);
      place.input = offset;
      offset += round_up(extent.input * size, alignment);
    }
    place.spare = offset;
    offset += round_up(extent.spare * size, alignment);
    // The k-th receive gets what the neighbour's k-th send brings.
    if (call.operation == "send") place.first = 1'000'003 * sends++;
    if (call.operation == "recv") place.first = 1'000'003 * receives++;
    first += std::max(extent.input, extent.output);
    places_.push_back(std::move(place));
  }
}

void Exercise::fill(Pattern& pattern) {
  for (const Place& p : places_) {
    const Extent extent = extent_of(p.call, ranks_, form_);
    const DType dtype = p.call.dtype;
    const bool receives = p.call.operation == "broadcast" && rank_ != 0;
    // What no input overwrites now must be overwritten by the result; what the result does not touch may stay.
    const bool holds_input = p.in_place && p.call.operation != "all_gather" && !receives;
    if (!holds_input) copier_.poison(at(p.output), extent.output * size_of(dtype));
    if (receives && !p.in_place) copier_.poison(at(p.input), extent.input * size_of(dtype));
    if (!receives) copier_.write(at(p.input), dtype, pattern, rank_, p.first, extent.input);
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
    comm.all_gather(input, output, count, dtype);
  } else if (operation == "reduce_scatter") {
    reduce_scatter(comm, p);
  } else if (operation == "all_to_all") {
    all_to_all(comm, p);
  } else if (operation == "broadcast") {
    p.in_place ? comm.broadcast(output, count, dtype, 0) : comm.broadcast_to(input, output, count, dtype, 0);
  } else if (operation == "send") {
    comm.send(input, count, dtype, (rank_ + 1) % ranks_);
  } else if (operation == "recv") {
    comm.recv(output, count, dtype, (rank_ + ranks_ - 1) % ranks_);
  } else {
    const ReduceOp op = operation == "all_reduce_sum" ? ReduceOp::sum : ReduceOp::max;
    p.in_place ? comm.all_reduce(output, count, dtype, op) : comm.all_reduce_to(input, output, count, dtype, op);
  }
}

/// Where it needs a copy to work in place, the result is made in the spare memory first.
void Exercise::reduce_scatter(Communicator& comm, const Place& p) {
  const std::int64_t count = p.call.count;
  const bool copies = needs_copy(p.call.operation, form_, comm.stream().device().type());
  char* const output = at(copies ? p.spare : p.output);
  comm.reduce_scatter(reinterpret_cast<const float*>(at(p.input)), reinterpret_cast<float*>(output), count);
  if (copies) comm.stream().device().copy(at(p.output), output, count * size_of(DType::f32), comm.stream());
}

/// In place the input is a copy.
void Exercise::all_to_all(Communicator& comm, const Place& p) {
  const std::int64_t bytes = ranks_ * p.call.count * size_of(p.call.dtype);
  if (p.in_place) comm.stream().device().copy(at(p.spare), at(p.input), bytes, comm.stream());
  comm.all_to_all(at(p.in_place ? p.spare : p.input), at(p.output), p.call.count, p.call.dtype);
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
