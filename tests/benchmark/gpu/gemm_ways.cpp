// Ways of one GEMM: those of a run, and others to find out what its speed depends on.
#include "tests/benchmark/gpu/gemm_ways.h"

#include <map>
#include <string>

#include "kernels/cuda/gemm/gemm_library.h"
#include "kernels/cuda/gemm/gemm_plans.h"
#include "kernels/cuda/host/cublas_lt.h"
#include "kernels/gemm_timing.h"
#include "src/base/error.h"
#include "tests/benchmark/gpu/changed_library.h"

namespace octet::bench {
namespace {

/// The choices of this process's rows, and whether they are in force or none are.
struct Choices {
  AlgorithmChoices timed;
  bool in_force = false;

  static Choices& all() {
    static Choices choices;
    return choices;
  }

  /// Times what is not known yet of a GEMM.
  void add(Stream& stream, const Gemm& args) {
    timed.platform = gemm_platform(stream);
    for (const Gemm& product : library_products(stream, args)) {
      if (timed.by_problem.contains(gemm_problem(product))) continue;
      timed.by_problem.merge(time_gemms(stream, std::span(&product, 1)).by_problem);
      use(false);  // the table is to learn of the new one
    }
  }
  void use(bool wanted) {
    if (in_force == wanted) return;
    use_gemm_choices(wanted ? timed : AlgorithmChoices{.platform = timed.platform});
    in_force = wanted;
  }
};

/// cuBLASLt once more, with functions that can be changed.
struct Library {
  cuda::CublasLt functions = changed(cuda::load_cublas_lt());
  cublasLtHandle_t handle = nullptr;

  Library() { functions.check(functions.create(&handle), "creating a handle"); }
  static Library& get() {
    static Library& library = *new Library;  // at exit the driver may be gone before
    return library;
  }
};

/// Of all rows; its bytes are in no case's.
constexpr std::int64_t large_workspace_bytes = 256 << 20;
void* large_workspace(Stream& stream) {
  static auto& buffer = *new Buffer(stream.device(), large_workspace_bytes, Purpose::workspace);
  return buffer.data();
}

cuda::GemmPlans plans_of(const AlgorithmChoices& choices) {
  const Library& library = Library::get();
  return {library.functions, library.handle, choices.platform, {}, choices};
}

/// The fastest of the proposals for such a product with the change in force: one choice for all copies of a row.
const AlgorithmChoices& fastest(const Place& place, const Gemm& args, const LibraryChange& change) {
  static std::map<std::string, AlgorithmChoices> known;
  const auto [found, added] = known.try_emplace(gemm_problem(args));
  if (!added) return found->second;
  AlgorithmChoices& choices = found->second;
  choices.platform = gemm_platform(place.stream);
  put_in_force(change);
  const auto timer = [&](std::span<const cuda::GemmPlan> plans) {
    const Library& library = Library::get();
    return cuda::time_plans(library.functions, library.handle, place.stream, args, plans);
  };
  if (const auto choice = plans_of(choices).time(args, timer)) choices.by_problem[found->first] = *choice;
  return choices;
}

/// What is multiplied with the change in force; without choices by the first proposal.
std::function<void()> launch_of(const Place& place, const Gemm& args, const LibraryChange& change,
                                const AlgorithmChoices& choices) {
  put_in_force(change);
  const cuda::GemmPlan plan = plans_of(choices).of(args);
  return [place, args, change, plan] {
    const Library& library = Library::get();
    put_in_force(change);
    library.functions.check(
        cuda::run(library.functions, library.handle, plan, args, static_cast<cudaStream_t>(place.stream.native())),
        "launching a GEMM");
  };
}

}  // namespace

std::vector<Way> chosen_ways(const Place& place, const Gemm& args) {
  const auto multiply = [place, args] { place.kernels.gemm(place.stream, args); };
  if (place.stream.native() == nullptr) return {{.name = "", .launch = multiply}};
  const auto way = [&](bool timed) {
    return [multiply, timed] {
      Choices::all().use(timed);
      multiply();
    };
  };
  if (args.multiprocessors != 0) return {{.name = "heuristic", .launch = way(false)}};  // a run times no such product
  Choices::all().add(place.stream, args);
  return {{.name = "heuristic", .launch = way(false)}, {.name = "timed", .launch = way(true)}};
}

std::vector<Way> compared_ways(Case& c, const Gemm& args) {
  const Place& place = c.place();
  std::vector<Way> ways = chosen_ways(place, args);
  if (place.stream.native() == nullptr) return ways;
  const AlgorithmChoices none{.platform = gemm_platform(place.stream)};
  const auto add = [&](const char* name, const Gemm& of, const LibraryChange& change, const AlgorithmChoices& choices) {
    ways.push_back({.name = name, .launch = launch_of(place, of, change, choices)});
  };
  const std::int64_t bytes = args.m * args.n * size_of(args.c_dtype);
  add("C apart from D", args, {.other_c = true, .c = c.zeros(bytes)}, none);
  if (args.c_dtype == DType::f32) {
    Gemm narrow = args;
    narrow.c_dtype = DType::bf16;
    add("output in bf16", narrow, {}, none);
  }
  add("workspace of 256 MiB", args,
      {.workspace = large_workspace(place.stream), .workspace_bytes = std::uint64_t{large_workspace_bytes}}, none);
  add("alignment of 16", args, {.least_alignment = 16}, none);
  const LibraryChange as_pytorch{.workspace_alone = true, .other_c = args.beta == 0.0f};
  add("asked as PyTorch does", args, as_pytorch, none);
  add("the fastest of those", args, as_pytorch, fastest(place, args, as_pytorch));
  return ways;
}

}  // namespace octet::bench
