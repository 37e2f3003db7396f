// One save or one load of a checkpoint by one process, measured; a JSON line goes to standard output.
//   octet-benchmark-checkpoints list MIB        the tensors, "NAME ROWS COLUMNS" a line (columns 0: a vector)
//   octet-benchmark-checkpoints save ROOT MIB   through the Saver, as a training loop does; and a memcpy beside it
//   octet-benchmark-checkpoints load ROOT MIB   chooses and verifies the newest, and reads every tensor
// compare_checkpoints.sh calls it in turn with dd, cat and PyTorch.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "checkpoints/resharding.h"
#include "checkpoints/restore.h"
#include "checkpoints/saver.h"
#include "src/base/log.h"

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

/// Their values, in memory that was written to.
class Values {
 public:
  explicit Values(const std::vector<StoredTensor>& tensors) : tensors_(tensors) {
    std::uint64_t state = 1;  // bytes that no storage can make smaller
    for (const StoredTensor& t : tensors) {
      std::vector<std::uint64_t>& values = values_.emplace_back(static_cast<std::size_t>(t.shape.elements() / 2));
      for (std::uint64_t& v : values) v = state = state * 6364136223846793005u + 1442695040888963407u;
    }
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& values : values_) sum += static_cast<std::int64_t>(values.size() * sizeof values[0]);
    return sum;
  }
  std::vector<DevicePiece> pieces() const {
    std::vector<DevicePiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      all.push_back({tensors_[t], {{}, tensors_[t].shape}, values_[t].data()});
    }
    return all;
  }
  std::vector<WantedPiece> wanted() {
    std::vector<WantedPiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      all.push_back({tensors_[t].name, {{}, tensors_[t].shape}, values_[t].data()});
    }
    return all;
  }
  void copy_to(std::vector<char>& memory) const {
    char* to = memory.data();
    for (const auto& values : values_) {
      std::memcpy(to, values.data(), values.size() * sizeof values[0]);
      to += values.size() * sizeof values[0];
    }
  }

 private:
  std::vector<StoredTensor> tensors_;
  std::vector<std::vector<std::uint64_t>> values_;
};

/// Step boundaries come every few milliseconds; what the loop spends in the saver there is what training stands still.
void save(const std::string& root, const Values& values, Communicator& world, Stream& stream) {
  std::vector<char> touched(static_cast<std::size_t>(values.bytes()), 1);
  Saver saver({.root = root, .keep_last = 1}, world, stream);
  RunState state;
  state.step = list_checkpoints(root).empty() ? 1 : step_of(list_checkpoints(root).front()).value() + 1;
  const std::vector<DevicePiece> pieces = values.pieces();

  const double copy = seconds_of([&] { values.copy_to(touched); });
  const double snapshot = seconds_of([&] { saver.start(state, pieces); });
  const auto start = Clock::now();
  double polls = 0;
  std::optional<SaveReport> report;
  while (!report) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    polls += seconds_of([&] { report = saver.poll(); });
  }
  const double written = seconds_since(start);
  saver.finish();
  fmt::print(
      "{{\"what\": \"save\", \"bytes\": {}, \"memcpy_seconds\": {:.4f}, \"snapshot_seconds\": {:.4f}, "
      "\"commit_seconds\": {:.4f}, \"seconds\": {:.4f}}}\n",
      values.bytes(), copy, snapshot, polls, written);
}

void load(const std::string& root, Values& values, Communicator& world, Stream& stream) {
  std::optional<Found> found;
  const double verified = seconds_of([&] { found = find_newest_valid(root, world, stream); });
  if (!found) throw usage_error("benchmark", "{}: holds no checkpoint", root);
  const double read = seconds_of([&] { read_pieces(found->directory, found->manifest, values.wanted()); });
  fmt::print(
      "{{\"what\": \"load\", \"bytes\": {}, \"verify_seconds\": {:.4f}, \"read_seconds\": {:.4f}, "
      "\"seconds\": {:.4f}}}\n",
      values.bytes(), verified, read, verified + read);
}

int run(const std::vector<std::string>& words) {
  const bool lists = words.size() == 2 && words[0] == "list";
  if (!lists && !(words.size() == 3 && (words[0] == "save" || words[0] == "load"))) {
    throw usage_error("benchmark", "expected list MIB, save ROOT MIB or load ROOT MIB");
  }
  const std::vector<StoredTensor> tensors = tensors_of(std::atoll(words.back().c_str()) << 20);
  if (lists) {
    for (const StoredTensor& t : tensors) {
      fmt::print("{} {} {}\n", t.name, t.shape[0], t.shape.rank() == 2 ? t.shape[1] : 0);
    }
    return 0;
  }
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  Values values(tensors);
  words[0] == "save" ? save(words[1], values, *world, *stream) : load(words[1], values, *world, *stream);
  return 0;
}

}  // namespace
}  // namespace octet::checkpoint

int main(int argc, char** argv) {
  try {
    return octet::checkpoint::run({argv + 1, argv + argc});
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return static_cast<int>(error.code());
  }
}
