#include <fmt/format.h>

#include "src/base/error.h"
#include "src/tokenizer/json/json_sections.h"
#include "src/tokenizer/pattern/oniguruma_syntax.h"
#include "src/tokenizer/split/known_patterns.h"
#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

/// A pattern of the file, which `place` has.
SplitStep of_pattern(const JsonReader& place, const TranslatedPattern& pattern, SplitStep::Kind kind) {
  std::string refused = pattern.refused;
  SplitStep step{.kind = kind};
  if (refused.empty()) step.pattern = CompiledPattern::compile(pattern.pcre2, refused);
  if (!refused.empty()) throw place.refuse(fmt::format("a pattern that Octet supports: {}", refused));
  return step;
}

/// Which parts are pieces: matches and what stands between them, or matches alone.
SplitStep::Kind kind_of(const JsonReader& step) {
  const std::string behavior = step.text("behavior");
  const bool invert = step.has("invert") && step.boolean("invert");
  if (behavior == "Isolated") return SplitStep::Kind::pattern;  // whatever is called a match
  if (behavior != "Removed") throw step.at("behavior").refuse("Isolated, or Removed with invert");
  if (!invert) throw step.at("invert").refuse("true with Removed, as text would be lost otherwise");
  return SplitStep::Kind::matches;
}

SplitStep read_split_step(const JsonReader& step) {
  const SplitStep::Kind kind = kind_of(step);
  const JsonReader pattern = step.at("pattern");
  if (!pattern.contains("Regex")) {
    const std::string text = pattern.text("String");
    if (text.empty()) throw pattern.at("String").refuse("a text that is not empty");
    return of_pattern(pattern.at("String"), {.pcre2 = literal_pattern(text)}, kind);
  }
  const std::string regex = pattern.text("Regex");
  if (regex == llama3_pattern) return {.kind = SplitStep::Kind::llama3};  // it leaves nothing between matches
  return of_pattern(pattern.at("Regex"), translate_oniguruma(regex), kind);
}

void read_step(const JsonReader& step, std::vector<SplitStep>& steps) {
  const std::string type = step.text("type");
  if (type == "Split") {
    steps.push_back(read_split_step(step));
  } else if (type == "Digits") {
    const bool each = step.has("individual_digits") && step.boolean("individual_digits");
    steps.push_back(
        of_pattern(step, translate_oniguruma(each ? digit_pattern : digits_pattern), SplitStep::Kind::pattern));
  } else {
    throw step.at("type").refuse("Split or Digits, and ByteLevel at the end");
  }
}

void read_byte_level(const JsonReader& step, std::vector<SplitStep>& steps) {
  // Its own defaults are true.
  if (!step.has("add_prefix_space") || step.boolean("add_prefix_space")) {
    throw step.at("add_prefix_space").refuse("false: text is taken as it is");
  }
  if (step.has("use_regex") && !step.boolean("use_regex")) return;
  steps.push_back(of_pattern(step, translate_oniguruma(gpt2_pattern), SplitStep::Kind::pattern));
}

/// Sequences may stand within each other.
void list_steps(const JsonReader& section, std::vector<JsonReader>& steps) {
  if (!section.is_there() || section.is_null()) return;
  if (section.text("type") != "Sequence") return steps.push_back(section);
  for (const JsonReader& step : section.list("pretokenizers")) list_steps(step, steps);
}

}  // namespace

std::vector<SplitStep> read_split(const JsonReader& section) {
  std::vector<JsonReader> steps;
  list_steps(section, steps);
  if (steps.empty() || steps.back().text("type") != "ByteLevel") {
    throw section.refuse("ByteLevel, or a Sequence that ends with it");
  }
  std::vector<SplitStep> out;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) read_step(steps[i], out);
  read_byte_level(steps.back(), out);
  return out;
}

}  // namespace octet
