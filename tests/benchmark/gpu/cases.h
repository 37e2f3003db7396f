#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "src/device/buffer.h"

namespace octet::bench {

/// Where the rows run: a stream and the kernels of its device.
struct Place {
  Stream& stream;
  const KernelTable& kernels;
};

/// One of several ways to do the same work, the fastest of which is the row's time.
struct Way {
  std::string name;
  std::function<void()> launch;
  bool in_graph = true;  ///< may be captured
};

/// One copy of a row's work: its memory and what launches it.
class Case {
 public:
  explicit Case(const Place& place) : place_(place) {}

  /// n normal values (integers of [0, `below`) for i32); not all the same, for the power of a chip depends on its data.
  void* random(DType dtype, std::int64_t n, std::int64_t below = 1);
  template <typename T>
  T* random(std::int64_t n) {
    return static_cast<T*>(random(dtype_of<T>::value, n));
  }
  /// Not initialised.
  void* output(std::int64_t bytes);
  template <typename T>
  T* output(std::int64_t n) {
    return static_cast<T*>(output(n * static_cast<std::int64_t>(sizeof(T))));
  }
  /// Zero bytes; also a counter, a flag, a statistic.
  void* zeros(std::int64_t bytes);
  /// n times x.
  float* values(float x, std::int64_t n = 1);

  /// The one way of most work.
  void set(std::function<void()> launch) { ways_ = {{.name = "", .launch = std::move(launch)}}; }
  void add(Way way) { ways_.push_back(std::move(way)); }
  const std::vector<Way>& ways() const { return ways_; }
  const Place& place() const { return place_; }
  std::int64_t bytes() const;

 private:
  void* allocate(std::int64_t bytes);

  Place place_;
  std::vector<Buffer> buffers_;
  std::vector<Way> ways_;
};

/// A row is a JSON object: "op" names the work, further keys its sizes (jobs/gpu/bench/bench_rows.py writes them).
using Row = nlohmann::json;
using MakeCase = void (*)(Case&, const Row&);

/// What makes the op's cases; throws a usage error with the known names for an unknown one.
MakeCase case_of(const std::string& op);
std::vector<std::string> known_ops();

void make_gemm(Case&, const Row&);
void make_gemm_ways(Case&, const Row&);
void make_attention_forward(Case&, const Row&);
void make_attention_backward(Case&, const Row&);

DType dtype_named(const std::string& name);

}  // namespace octet::bench
