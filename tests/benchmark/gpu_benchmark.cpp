// octet-bench-gpu: times kernels on a GPU, each alone at its shape. jobs/gpu/bench.sh drives it; --help says more.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/cuda/host/libraries.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/dynamic_library.h"
#include "src/device/hardware_queues.h"
#include "src/metrics/peak.h"
#include "tests/benchmark/gpu/cases.h"
#include "tests/benchmark/gpu/stream_timer.h"

namespace octet::bench {
namespace {

constexpr std::string_view usage =
    "usage: octet-bench-gpu --device | --libraries | --rows FILE [--cpu]\n\n"
    "Times kernels on a GPU, each alone at its shape. jobs/gpu/bench.sh drives it.\n\n"
    "  --device      print what the GPU is, as one JSON object\n"
    "  --libraries   print which of the driver and CUDA's libraries are found, and where\n"
    "  --rows FILE   time the rows of FILE (\"-\": standard input), each {\"row\": NAME, \"op\": WHAT, sizes...};\n"
    "                print a JSON object for each as soon as it is done\n"
    "  --cpu         time them on the CPU's kernels: for trying rows where there is no GPU\n"
    "\n"
    "Exit codes: 0; 1 where a row failed; 64 for a wrong command, or where there is no GPU that CUDA can use;\n"
    "70 where a kernel left the GPU in error.\n";
constexpr double seconds_a_row = 0.25;  // of each way
/// Of the same work before what draws power is timed, until the GPU is as hot, and its clock as low, as they stay: of
/// the first such row of a process, and of the others. tests/benchmark/torch_gpu.py does the same.
constexpr double first_settle_seconds = 8, settle_seconds = 0.15;

int print_device() {
  if (const std::string reason = why_no_cuda(); !reason.empty()) {
    std::cerr << "no CUDA device: " << reason << '\n';  // the bare reason: scripts end with this line
    return static_cast<int>(ExitCode::usage);           // as other programs with --device cuda
  }
  cudaDeviceProp properties{};
  int driver = 0, runtime = 0, devices = 0;
  cuda::check(cudaGetDeviceCount(&devices), "counting devices");
  cuda::check(cudaGetDeviceProperties(&properties, 0), "reading the device's properties");
  cuda::check(cudaDriverGetVersion(&driver), "reading the driver's version");
  cuda::check(cudaRuntimeGetVersion(&runtime), "reading the run time's version");
  nlohmann::ordered_json out;
  out["device"] = properties.name;
  out["devices"] = devices;  // that this process sees
  out["compute_capability"] = fmt::format("{}.{}", properties.major, properties.minor);
  out["multiprocessors"] = properties.multiProcessorCount;
  out["l2_bytes"] = properties.l2CacheSize;
  out["memory_bytes"] = properties.totalGlobalMem;
  // For jobs/gpu/bench/bench_table.py: there is one table of peaks.
  if (const auto peak = peak_flops(properties.name)) {
    out["bf16_peak"] = peak->bf16;
    out["fp8_peak"] = peak->fp8;
  }
  out["driver_cuda"] = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
  out["runtime_cuda"] = fmt::format("{}.{}", runtime / 1000, runtime % 1000 / 10);
  std::cout << out.dump() << '\n';
  return 0;
}

/// For people; says nothing of a device and always exits with 0.
int print_libraries() {
  int driver = 0;
  const bool found = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
  std::cout << (found ? fmt::format("driver: serves CUDA {}.{}", driver / 1000, driver % 1000 / 10)
                      : std::string("driver: not found"))
            << fmt::format("; this program needs CUDA {}\n", cuda::cuda_major);
  const auto print = [](const cuda::LibraryName& name, cuda::DynamicLibrary (*open)(), const char* version_of,
                        const char* without) {
    try {
      const cuda::DynamicLibrary library = open();
      std::cout << name.file << ": " << library.path();
      if (version_of != nullptr) {
        std::cout << ", " << cuda::version_text(library.function<std::size_t()>(version_of)());
      }
      std::cout << '\n';
    } catch (const Error& error) {
      std::cout << name.file << ": not found (" << without << ", `pip install " << name.package << "` brings it)\n  "
                << error.what() << '\n';
    }
  };
  print(cuda::cublas_lt_name(), cuda::open_cublas_lt, "cublasLtGetVersion", "every GEMM needs it");
  print(cuda::cudnn_name(), cuda::open_cudnn, "cudnnGetVersion", "without it attention runs in slower kernels");
  print(cuda::nvrtc_name(), cuda::open_nvrtc, nullptr, "cuDNN needs it; without it attention runs in slower kernels");
  return 0;
}

/// Copies of the case, so many that a launch finds nothing in the cache (50 MB on an H100) from its own last turn.
std::vector<std::unique_ptr<Case>> make_cases(const Place& place, const Row& row) {
  constexpr std::int64_t footprint = 512'000'000;
  const MakeCase make = case_of(row.at("op"));
  std::vector<std::unique_ptr<Case>> cases;
  const auto add = [&] {
    cases.push_back(std::make_unique<Case>(place));
    make(*cases.back(), row);
  };
  add();
  const std::int64_t wanted = std::clamp<std::int64_t>(footprint / cases.front()->bytes() + 1, 1, 32);
  // CPU rows are for trying only.
  while (place.stream.native() != nullptr && static_cast<std::int64_t>(cases.size()) < wanted) add();
  return cases;
}

/// Seconds of work before a row is timed: none where the memory, and not the GPU's power, is the limit.
double settle_before(const std::string& op) {
  static bool first = true;
  if (!op.starts_with("gemm") && !op.starts_with("attention")) return 0;
  return std::exchange(first, false) ? first_settle_seconds : settle_seconds;
}

/// The fastest of the case's ways, and what each of them took.
nlohmann::ordered_json measure(const Place& place, const Row& row) {
  const auto cases = make_cases(place, row);
  const std::vector<Way>& ways = cases.front()->ways();
  std::vector<Rotation> rotations;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    rotations.push_back({.launches = {}, .in_graph = ways[w].in_graph});
    for (const auto& c : cases) rotations.back().launches.push_back(c->ways()[w].launch);
  }
  const double settle = place.stream.native() == nullptr ? 0.0 : settle_before(row.at("op"));
  const std::vector<Outcome> outcomes = time_in_turns(place.stream, rotations, seconds_a_row, settle);
  if (!outcomes.front().refused.empty()) throw internal_error("benchmark", "{}", outcomes.front().refused);
  std::size_t best = 0;
  nlohmann::ordered_json of_way;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    if (!outcomes[w].refused.empty()) {
      std::cerr << row.at("row") << ": " << ways[w].name << ": " << outcomes[w].refused << '\n';
      of_way[ways[w].name] = nullptr;  // the others are worth having
      continue;
    }
    of_way[ways[w].name] = outcomes[w].timing.seconds;
    if (outcomes[w].timing.seconds < outcomes[best].timing.seconds) best = w;
  }
  const Timing& timing = outcomes[best].timing;
  nlohmann::ordered_json result = {{"row", row.at("row")},      {"seconds", timing.seconds},
                                   {"lowest", timing.lowest},   {"highest", timing.highest},
                                   {"repeats", timing.repeats}, {"launches", timing.launches},
                                   {"graph", timing.graph}};
  if (ways.size() > 1) {
    result["way"] = ways[best].name;
    result["seconds_of_way"] = of_way;
  }
  return result;
}

int run_rows(std::istream& in, bool on_cpu) {
  const std::unique_ptr<Stream> stream = (on_cpu ? cpu_device() : cuda_device(0)).make_stream();
  const Place place{*stream, kernels_of(*stream)};
  int failed = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    nlohmann::ordered_json result;
    Row row;
    try {
      row = Row::parse(line);
      result = measure(place, row);
    } catch (const std::exception& e) {
      result = {{"row", row.is_object() ? row.value("row", line) : line}, {"error", e.what()}};
      ++failed;
    }
    std::cout << result.dump() << std::endl;  // at once: a killed run keeps its rows
    // A fault of a kernel stays with the process: what came after it would only repeat it.
    if (!on_cpu && cudaDeviceSynchronize() != cudaSuccess) {
      std::cerr << "the device is in error; the rows after this one were not run\n";
      return static_cast<int>(ExitCode::internal);
    }
  }
  return failed == 0 ? 0 : 1;
}

/// What the words of a command line ask for.
struct Command {
  bool help = false, device = false, libraries = false, cpu = false;
  std::string rows;  // the file; empty: none
};

Command read_command(const std::vector<std::string>& words) {
  Command out;
  const std::map<std::string, bool*> flags{{"-h", &out.help},
                                           {"--help", &out.help},
                                           {"--device", &out.device},
                                           {"--libraries", &out.libraries},
                                           {"--cpu", &out.cpu}};
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (const auto flag = flags.find(*word); flag != flags.end()) {
      *flag->second = true;
    } else if (*word != "--rows") {
      throw usage_error("benchmark", "unknown option {} (see --help)", *word);
    } else if (++word == words.end()) {
      throw usage_error("benchmark", "--rows needs a file (see --help)");
    } else {
      out.rows = *word;
    }
  }
  if (out.help) return out;
  const bool times = !out.rows.empty();
  if (int{out.device} + int{out.libraries} + int{times} != 1) {
    throw usage_error("benchmark", "expected one of --device, --libraries and --rows FILE (see --help)");
  }
  if (out.cpu && !times) throw usage_error("benchmark", "--cpu is for --rows (see --help)");
  return out;
}

int run(const Command& command) {
  if (command.help) {
    std::cout << usage << "ops: " << fmt::format("{}", fmt::join(known_ops(), ", ")) << '\n';
    return 0;
  }
  if (command.device) return print_device();
  if (command.libraries) return print_libraries();
  if (command.rows == "-") return run_rows(std::cin, command.cpu);
  std::ifstream file(command.rows);
  if (!file) throw usage_error("benchmark", "{}: cannot be opened", command.rows);
  return run_rows(file, command.cpu);
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  octet::ask_for_hardware_queues();
  return octet::end_with_reason("octet-bench-gpu", [&] {
    return octet::log::after_output(octet::bench::run(octet::bench::read_command({argv + 1, argv + argc})));
  });
}
