#include "src/tokenizer/json/json_sections.h"
#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

SplitStep read_split_step(const JsonReader& step) {
  const std::string pattern = step.at("pattern").text("Regex");
  if (step.text("behavior") != "Isolated") throw step.at("behavior").refuse("Isolated");
  if (step.has("invert") && step.boolean("invert")) throw step.at("invert").refuse("false");
  if (pattern != llama3_pattern) throw step.at("pattern").at("Regex").refuse("the pattern of Llama 3");
  return {SplitStep::Kind::llama3};
}

void check_byte_level(const JsonReader& step) {
  // Its own defaults are true.
  if (!step.has("add_prefix_space") || step.boolean("add_prefix_space")) {
    throw step.at("add_prefix_space").refuse("false: text is taken as it is");
  }
  if (!step.has("use_regex") || step.boolean("use_regex")) throw step.at("use_regex").refuse("false");
}

}  // namespace

std::vector<SplitStep> read_split(const JsonReader& section) {
  const bool several = section.is_there() && !section.is_null() && section.text("type") == "Sequence";
  const std::vector<JsonReader> steps = several ? section.list("pretokenizers") : std::vector<JsonReader>{section};
  if (steps.empty() || steps.back().is_null() || steps.back().text("type") != "ByteLevel") {
    throw section.refuse("ByteLevel, or a Sequence that ends with it");
  }
  check_byte_level(steps.back());
  std::vector<SplitStep> out;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].text("type") != "Split") throw steps[i].at("type").refuse("Split");
    out.push_back(read_split_step(steps[i]));
  }
  if (out.size() > 1) throw section.refuse("one Split at most");
  return out;
}

}  // namespace octet
