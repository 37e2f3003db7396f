#include "kernels/algorithm_choices.h"

#include <sstream>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

constexpr std::string_view device_field = "device ", separator = " | ";
constexpr int words_of_a_gemm = 8;

struct Library {
  std::string_view name, field;
};
Library library_of(AlgorithmKind kind) {
  return kind == AlgorithmKind::gemm ? Library{"cuBLASLt", "cublaslt "} : Library{"cuDNN", "cudnn "};
}

std::string title_of(AlgorithmKind kind) {
  return fmt::format("octet {} plans, version 1", kind);
}

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

bool is_algorithm(AlgorithmKind kind, const std::string& text) {
  std::istringstream in(text);
  int words = 0;
  if (kind == AlgorithmKind::attention) {
    for (std::string word; in >> word;) ++words;
    return words == 1;
  }
  for (std::uint64_t word = 0; in >> std::hex >> word;) ++words;
  return words == words_of_a_gemm && in.eof();
}

/// "algorithm | microseconds | problem"; false when it is not that.
bool parse_choice(AlgorithmKind kind, const std::string& line, std::string& problem, AlgorithmChoice& choice) {
  const std::size_t first = line.find(separator);
  if (first == line.npos) return false;
  const std::size_t number = first + separator.size(), second = line.find(separator, number);
  if (second == line.npos) return false;
  choice.algorithm = line.substr(0, first);
  problem = line.substr(second + separator.size());
  std::istringstream in(line.substr(number, second - number));
  return is_algorithm(kind, choice.algorithm) && in >> choice.microseconds && !problem.empty();
}

}  // namespace

std::string AlgorithmPlatform::text() const {
  return fmt::format("{} {} on {}", library_of(kind).name, library_version, device);
}

std::string text_of(const AlgorithmChoices& choices) {
  const AlgorithmPlatform& platform = choices.platform;
  std::string text = fmt::format("{}\n{}{}\n{}{}\n", title_of(platform.kind), library_of(platform.kind).field,
                                 platform.library_version, device_field, platform.device);
  for (const auto& [problem, choice] : choices.by_problem) {
    text += fmt::format("{}{}{:.2f}{}{}\n", choice.algorithm, separator, choice.microseconds, separator, problem);
  }
  return text;
}

AlgorithmChoices parse_algorithm_choices(AlgorithmKind kind, const std::string& text, const std::string& source) {
  Lines lines(text, source);
  if (!lines.value_of(title_of(kind)).empty()) lines.fail(fmt::format("expected \"{}\"", title_of(kind)));
  AlgorithmChoices choices;
  choices.platform.kind = kind;
  std::istringstream version(lines.value_of(library_of(kind).field));
  if (!(version >> choices.platform.library_version)) lines.fail("expected a version number");
  choices.platform.device = lines.value_of(device_field);
  for (std::string line; lines.next(line);) {
    std::string problem;
    AlgorithmChoice choice;
    if (!parse_choice(kind, line, problem, choice)) {
      lines.fail(fmt::format("expected {}, microseconds and a problem",
                             kind == AlgorithmKind::gemm ? "eight words" : "the name of an engine"));
    }
    choices.by_problem[problem] = choice;
  }
  return choices;
}

AlgorithmChoices read_algorithm_choices(AlgorithmKind kind, const std::string& path) {
  return parse_algorithm_choices(kind, text_of_file("kernels", path), path);
}

void write_algorithm_choices(const std::string& path, const AlgorithmChoices& choices) {
  if (!replace_file(path, text_of(choices))) throw not_written("kernels", path);
}

}  // namespace octet
