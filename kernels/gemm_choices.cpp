#include "kernels/gemm_choices.h"

#include <sstream>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

constexpr std::string_view title = "octet gemm plans, version 1";
constexpr std::string_view version_field = "cublaslt ", device_field = "device ";

class Lines {
 public:
  Lines(const std::string& text, std::string source) : source_(std::move(source)), in_(text) {}
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
    throw usage_error("kernels", "{}:{}: {}; delete the file or name another", source_, number_, why);
  }

 private:
  std::string source_;
  std::istringstream in_;
  int number_ = 0;
};

/// "word word … | microseconds | problem"; false when it is not that.
bool parse_choice(const std::string& line, std::string& problem, GemmChoice& choice) {
  std::istringstream in(line);
  in >> std::hex;
  for (std::uint64_t& word : choice.algorithm) in >> word;
  std::string bar, second_bar;
  in >> bar >> choice.microseconds >> second_bar >> std::ws;
  return in && bar == "|" && second_bar == "|" && std::getline(in, problem) && !problem.empty();
}

}  // namespace

std::string GemmPlatform::text() const {
  return fmt::format("cuBLASLt {} on {}", library_version, device);
}

std::string text_of(const GemmChoices& choices) {
  const GemmPlatform& platform = choices.platform;
  std::string text =
      fmt::format("{}\n{}{}\n{}{}\n", title, version_field, platform.library_version, device_field, platform.device);
  for (const auto& [problem, choice] : choices.by_problem) {
    for (const std::uint64_t word : choice.algorithm) text += fmt::format("{:016x} ", word);
    text += fmt::format("| {:.2f} | {}\n", choice.microseconds, problem);
  }
  return text;
}

GemmChoices parse_gemm_choices(const std::string& text, const std::string& source) {
  Lines lines(text, source);
  if (!lines.value_of(title).empty()) lines.fail(fmt::format("expected \"{}\"", title));
  GemmChoices choices;
  std::istringstream version(lines.value_of(version_field));
  if (!(version >> choices.platform.library_version)) lines.fail("expected a version number");
  choices.platform.device = lines.value_of(device_field);
  for (std::string line; lines.next(line);) {
    std::string problem;
    GemmChoice choice;
    if (!parse_choice(line, problem, choice)) lines.fail("expected eight words, microseconds and a problem");
    choices.by_problem[problem] = choice;
  }
  return choices;
}

GemmChoices read_gemm_choices(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) throw usage_error("kernels", "{}: cannot be opened", path);
  return parse_gemm_choices(*text, path);
}

void write_gemm_choices(const std::string& path, const GemmChoices& choices) {
  if (!replace_file(path, text_of(choices))) throw usage_error("kernels", "{}: cannot be written", path);
}

}  // namespace octet
