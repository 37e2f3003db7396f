#include "kernels/cuda/gemm_plan_file.h"

#include <fstream>
#include <sstream>

#include "src/base/error.h"
#include "src/base/replace_file.h"

namespace octet::cuda {
namespace {

constexpr std::string_view title = "octet gemm plans, version 1";
constexpr std::string_view version_field = "cublaslt ", device_field = "device ";

class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path) {
    if (!in_) throw usage_error("kernels", "{}: cannot be opened", path);
  }
  bool next(std::string& line) {
    ++number_;
    return static_cast<bool>(std::getline(in_, line));
  }
  /// What follows `field` in the next line.
  std::string value_of(std::string_view field) {
    std::string line;
    if (!next(line) || !line.starts_with(field)) fail(fmt::format("expected \"{}\"", field));
    return line.substr(field.size());
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw usage_error("kernels", "{}:{}: {}; delete the file or name another", path_, number_, why);
  }

 private:
  std::string path_;
  std::ifstream in_;
  int number_ = 0;
};

/// "word word … | microseconds | problem"; false when it is not that.
bool parse_choice(const std::string& line, std::string& problem, GemmChoice& choice) {
  std::istringstream in(line);
  in >> std::hex;
  for (std::uint64_t& word : choice.algorithm.data) in >> word;
  std::string bar, second_bar;
  in >> bar >> choice.microseconds >> second_bar >> std::ws;
  return in && bar == "|" && second_bar == "|" && std::getline(in, problem) && !problem.empty();
}

}  // namespace

GemmChoices read_gemm_choices(const std::string& path) {
  Lines lines(path);
  if (!lines.value_of(title).empty()) lines.fail(fmt::format("expected \"{}\"", title));
  GemmChoices choices;
  std::istringstream version(lines.value_of(version_field));
  if (!(version >> choices.library_version)) lines.fail("expected a version number");
  choices.device = lines.value_of(device_field);
  for (std::string line; lines.next(line);) {
    std::string problem;
    GemmChoice choice;
    if (!parse_choice(line, problem, choice)) lines.fail("expected eight words, microseconds and a problem");
    choices.by_problem[problem] = choice;
  }
  return choices;
}

void write_gemm_choices(const std::string& path, const GemmChoices& choices) {
  std::string text =
      fmt::format("{}\n{}{}\n{}{}\n", title, version_field, choices.library_version, device_field, choices.device);
  for (const auto& [problem, choice] : choices.by_problem) {
    for (const std::uint64_t word : choice.algorithm.data) text += fmt::format("{:016x} ", word);
    text += fmt::format("| {:.2f} | {}\n", choice.microseconds, problem);
  }
  if (!replace_file(path, text)) throw usage_error("kernels", "{}: cannot be written", path);
}

}  // namespace octet::cuda
