#include "src/train/algorithms/library_algorithms.h"

#include <memory>

#include "kernels/attention_timing.h"
#include "kernels/gemm_timing.h"
#include "src/train/algorithms/choose_algorithms.h"
#include "src/train/algorithms/problem_list.h"
#include "src/train/algorithms/timing_cost.h"

namespace octet {
namespace {

template <typename Problem>
using ByText = std::map<std::string, Problem>;

template <typename Problem>
std::map<std::string, double> with_flops(const ByText<Problem>& problems) {
  std::map<std::string, double> all;
  for (const auto& [text, problem] : problems) all.emplace(text, problem.flops());
  return all;
}

template <typename Problem>
std::vector<Problem> of_texts(const ByText<Problem>& problems, const std::vector<std::string>& texts) {
  std::vector<Problem> chosen;
  chosen.reserve(texts.size());
  for (const std::string& text : texts) chosen.push_back(problems.at(text));
  return chosen;
}

/// cuBLASLt. Its problems are the products that it multiplies for these GEMMs.
AlgorithmLibrary gemm_library(Stream& stream, const std::vector<Gemm>& gemms) {
  const auto products = std::make_shared<ByText<Gemm>>();
  return {.platform = [&stream] { return gemm_platform(stream); },
          .problems =
              [&stream, gemms, products] {
                for (const Gemm& gemm : gemms) {
                  for (const Gemm& product : library_products(stream, gemm)) {
                    products->emplace(gemm_problem(product), product);
                  }
                }
                return with_flops(*products);
              },
          .time = [&stream, products](
                      const std::vector<std::string>& texts) { return time_gemms(stream, of_texts(*products, texts)); },
          .use = use_gemm_choices};
}

AlgorithmRules gemm_rules(const RunConfig& config, const RunDirectory& directory, const ProblemList& work) {
  const std::string& named = config.cuda.gemm_plans;
  return {.kind = AlgorithmKind::gemm,
          .option = "cuda.gemm",
          .how = config.cuda.gemm,
          .may_time = config.cuda.may_time_gemms(),
          .path = named.empty() ? directory.gemm_plans() : named,
          .path_is_named = !named.empty(),
          .used_path = directory.gemm_plans_used(),
          .many = "GEMMs",
          .step_flops = work.step_flops()};
}

/// cuDNN. Its problems are those among `problems` for which it has a plan.
AlgorithmLibrary attention_library(Stream& stream, const std::vector<AttentionProblem>& problems) {
  const auto planned = std::make_shared<ByText<AttentionProblem>>();
  return {
      .platform = [&stream] { return attention_platform(stream); },
      .problems =
          [&stream, problems, planned] {
            for (const AttentionProblem& problem : problems) {
              if (has_attention_plan(stream, problem)) planned->emplace(text_of(problem), problem);
            }
            return with_flops(*planned);
          },
      .time = [&stream, planned](
                  const std::vector<std::string>& texts) { return time_attention(stream, of_texts(*planned, texts)); },
      .use = use_attention_choices};
}

AlgorithmRules attention_rules(const RunConfig& config, const RunDirectory& directory, const ProblemList& work,
                               std::string_view device) {
  return {.kind = AlgorithmKind::attention,
          .option = "cuda.attention",
          .how = config.cuda.attention,
          .may_time = config.cuda.may_time_attention(),
          .path = directory.attention_plans(),
          .used_path = directory.attention_plans_used(),
          .many = "attention passes",
          .step_flops = work.step_flops(),
          .building_flops = attention_building_flops(device)};
}

}  // namespace

void choose_library_algorithms(const RunConfig& config, const RankContext& context) {
  Stream& stream = context.stream;
  if (stream.device().type() != DeviceType::cuda) return;
  const bool gemms = config.cuda.may_time_gemms() || !config.cuda.gemm_plans.empty();
  const bool attention = config.cuda.may_time_attention();
  if (!gemms && !attention) return;  // nothing is in force: the heuristics choose
  Mesh& mesh = context.mesh;
  const ProblemList work = problems_of_run(config, mesh.shape(), mesh.world().rank(), DeviceType::cuda);
  const RunDirectory& directory = context.directory;
  const auto choose = [&](const AlgorithmRules& rules, const AlgorithmLibrary& library) {
    choose_algorithms(config, rules, directory, context.control, library);
  };
  if (gemms) choose(gemm_rules(config, directory, work), gemm_library(stream, work.gemms));
  if (attention) {
    choose(attention_rules(config, directory, work, stream.device().name()), attention_library(stream, work.attention));
  }
}

}  // namespace octet
