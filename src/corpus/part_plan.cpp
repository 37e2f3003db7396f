#include "src/corpus/part_plan.h"

#include <algorithm>
#include <set>

#include "src/base/options/text.h"

namespace octet {
namespace {

void add_units(const InputFile& file, const FileFormat& format, std::int64_t part_bytes, std::vector<Unit>& units) {
  const bool can_be_cut = format.text == TextFormat::jsonl && format.packing == Packing::none;
  const std::int64_t step = can_be_cut ? part_bytes : std::max<std::int64_t>(file.bytes, 1);
  std::int64_t begin = 0;
  do {
    units.push_back({file.path, begin, std::min(begin + step, file.bytes), format, file.bytes, file.changed});
    begin += step;
  } while (begin < file.bytes);
}

std::vector<Unit> units_of_share(const std::vector<Unit>& units, std::int64_t bytes, const Share& share) {
  std::vector<Unit> mine;
  std::int64_t before = 0;
  for (const Unit& unit : units) {
    const double middle = static_cast<double>(before) + static_cast<double>(unit.end - unit.begin) / 2;
    before += unit.end - unit.begin;
    const double place = bytes > 0 ? middle / static_cast<double>(bytes) : 0;
    const auto whose = static_cast<std::int64_t>(place * static_cast<double>(share.shares));
    if (std::min(whose, share.shares - 1) == share.share) mine.push_back(unit);
  }
  return mine;
}

}  // namespace

Error no_text(const std::vector<std::string>& inputs, std::int64_t files) {
  return usage_error("corpus", "{}: no text is in {}", joined(inputs),
                     files == 1 ? "the file" : fmt::format("any of the {} files", files));
}

InputPlan plan_input(const InputFiles& input, std::optional<TextFormat> format, std::int64_t part_bytes,
                     const Share& share) {
  std::vector<Unit> units;
  for (const InputFile& file : input.files) add_units(file, format_of_file(file.path, format), part_bytes, units);
  InputPlan plan;
  std::set<std::string> seen;
  for (Unit& unit : units_of_share(units, input.bytes, share)) {
    const std::int64_t bytes = unit.end - unit.begin;
    if (seen.insert(unit.path).second) ++plan.formats[text_of(unit.format)];
    if (plan.parts.empty() || plan.parts.back().bytes + bytes > part_bytes) plan.parts.emplace_back();
    plan.parts.back().bytes += bytes;
    plan.parts.back().units.push_back(std::move(unit));
    plan.bytes += bytes;
  }
  plan.files = static_cast<std::int64_t>(seen.size());
  return plan;
}

}  // namespace octet
