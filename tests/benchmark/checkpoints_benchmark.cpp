// Saves and loads of a checkpoint by one process, each measured: a command a line on standard input, a line of JSON
// each on standard output. compare_checkpoints.sh calls them in turn with dd, cat and PyTorch.
//   octet-benchmark-checkpoints list MIB      the tensors, "NAME ROWS COLUMNS" a line (columns 0: a vector)
//   octet-benchmark-checkpoints ROOT MIB      obeys:
//     save   a memcpy of the tensors; then a save through the Saver, as a training loop does it
//     load   chooses and verifies the newest checkpoint, and reads every tensor
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "checkpoints/restore/resharding.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/base/log.h"
#include "src/device/buffer.h"

namespace octet::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

/// Masters and moments of as many Llama blocks of dim 1024 as fit into `bytes`, at least one.
std::vector<StoredTensor> tensors_of(std::int64_t bytes) {
  const std::vector<std::pair<const char*, Shape>> block = {
      {"attention_norm", {1024}},        {"attention.wq", {1024, 1024}},    {"attention.wk", {256, 1024}},
      {"attention.wv", {256, 1024}},     {"attention.wo", {1024, 1024}},    {"ffn_norm", {1024}},
      {"feed_forward.w1", {2816, 1024}}, {"feed_forward.w2", {1024, 2816}}, {"feed_forward.w3", {2816, 1024}}};
  std::int64_t block_bytes = 0;
  for (const auto& [name, shape] : block) block_bytes += 3 * shape.elements() * size_of(DType::f32);
  std::vector<StoredTensor> tensors;
  for (const char* kind : {"master", "first_moment", "second_moment"}) {
    for (std::int64_t b = 0; b < std::max<std::int64_t>(1, bytes / block_bytes); ++b) {
      for (const auto& [name, shape] : block) {
        tensors.push_back({fmt::format("{}/layers.{}.{}.weight", kind, b, name), DType::f32, shape});
      }
    }
  }
  return tensors;
}

/// Their values, in memory of the device as a run has them.
class Values {
 public:
  explicit Values(const std::vector<StoredTensor>& tensors) : tensors_(tensors) {
    for (const StoredTensor& t : tensors) {
      offsets_.push_back(bytes_);
      bytes_ += t.shape.elements() * size_of(t.dtype);
    }
    memory_ = Buffer(cpu_device(), bytes_, Purpose::parameters);
    std::uint64_t state = 1;  // bytes that no storage can make smaller
    for (std::int64_t i = 0; i < bytes_ / 8; ++i) {
      memory_.as<std::uint64_t>()[i] = state = state * 6364136223846793005u + 1442695040888963407u;
    }
  }
  std::int64_t bytes() const { return bytes_; }
  const void* data() const { return memory_.data(); }
  std::vector<DevicePiece> pieces() const {
    std::vector<DevicePiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) all.push_back({tensors_[t], {{}, tensors_[t].shape}, at(t)});
    return all;
  }
  std::vector<WantedPiece> wanted() const {
    std::vector<WantedPiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) all.push_back({tensors_[t].name, {{}, tensors_[t].shape}, at(t)});
    return all;
  }

 private:
  void* at(std::size_t tensor) const { return memory_.as<char>() + offsets_[tensor]; }

  std::vector<StoredTensor> tensors_;
  std::vector<std::int64_t> offsets_;
  std::int64_t bytes_ = 0;
  Buffer memory_;
};

class Benchmark {
 public:
  Benchmark(const std::string& root, std::int64_t bytes)
      : root_(root),
        stream_(cpu_device().make_stream()),
        world_(make_self_communicator(*stream_, "world")),
        values_(tensors_of(bytes)),
        pieces_(values_.pieces()),
        touched_(cpu_device(), values_.bytes(), Purpose::workspace),
        saver_({.root = root, .keep_last = 1}, *world_, *stream_) {
    std::memset(touched_.data(), 1, static_cast<std::size_t>(values_.bytes()));
    saver_.prepare(pieces_);
  }

  /// Step boundaries come every two milliseconds; what the loop spends in the saver is what training stands still.
  void save() {
    const double copy =
        seconds_of([&] { std::memcpy(touched_.data(), values_.data(), static_cast<std::size_t>(values_.bytes())); });
    ++state_.step;
    const double snapshot = seconds_of([&] { saver_.start(state_, pieces_); });
    const auto start = Clock::now();
    double polls = 0;
    std::optional<SaveReport> report;
    while (!report) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      polls += seconds_of([&] { report = saver_.poll(); });
    }
    const double seconds = seconds_since(start);
    saver_.finish();
    fmt::print("{{\"bytes\": {}, \"memcpy\": {:.4f}, \"snapshot\": {:.4f}, \"commit\": {:.4f}, \"seconds\": {:.4f}}}\n",
               values_.bytes(), copy, snapshot, polls, seconds);
  }

  void load() {
    std::optional<Found> found;
    const double verify = seconds_of([&] { found = find_newest_valid(root_, *world_); });
    if (!found) throw usage_error("benchmark", "{}: holds no checkpoint", root_);
    const double read = seconds_of([&] { read_pieces(found->directory, found->manifest, values_.wanted()); });
    fmt::print("{{\"bytes\": {}, \"verify\": {:.4f}, \"read\": {:.4f}, \"seconds\": {:.4f}}}\n", values_.bytes(),
               verify, read, verify + read);
  }

 private:
  std::string root_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicator> world_;
  Values values_;
  std::vector<DevicePiece> pieces_;
  Buffer touched_;
  Saver saver_;
  RunState state_;
};

void list(std::int64_t bytes) {
  for (const StoredTensor& t : tensors_of(bytes)) {
    fmt::print("{} {} {}\n", t.name, t.shape[0], t.shape.rank() == 2 ? t.shape[1] : 0);
  }
}

void serve(const std::string& root, std::int64_t bytes) {
  Benchmark benchmark(root, bytes);
  for (std::string command; std::getline(std::cin, command);) {
    if (command == "save") {
      benchmark.save();
    } else if (command == "load") {
      benchmark.load();
    } else {
      throw usage_error("benchmark", "unknown command {}, expected save or load", command);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace octet::checkpoint

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw octet::usage_error("benchmark", "expected list MIB, or ROOT MIB");
    const std::string first = argv[1];
    const std::int64_t bytes = std::atoll(argv[2]) << 20;
    first == "list" ? octet::checkpoint::list(bytes) : octet::checkpoint::serve(first, bytes);
    return 0;
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return static_cast<int>(error.code());
  }
}
