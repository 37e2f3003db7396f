#include "src/corpus/part_plan.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "src/base/options/text.h"

namespace octet {
namespace {

/// Whether a file is unpacked JSONL, which can be cut between two lines. It is asked only for files that are too large
/// for one part. Most names say it; the content is looked at later, by whoever has the share that the file is in.
bool can_be_cut(const ListedFile& file, std::optional<TextFormat> asked) {
  const NamedFormat named = format_by_name(file.path);
  if (named.packing.value_or(Packing::none) != Packing::none) return false;
  if (asked && asked != TextFormat::jsonl) return false;
  if (named.text) return asked || named.text == TextFormat::jsonl;
  return format_of_file(file.path, asked) == FileFormat{TextFormat::jsonl, Packing::none};
}

/// The units of a file, whose format is not known yet.
void add_units(const ListedFile& file, bool is_cut, std::int64_t part_bytes, std::vector<InputUnit>& units) {
  const std::int64_t step = is_cut ? part_bytes : std::max<std::int64_t>(file.bytes, 1);
  std::int64_t begin = 0;
  do {
    units.push_back({file.path, begin, std::min(begin + step, file.bytes), {}, file.bytes, file.changed});
    begin += step;
  } while (begin < file.bytes);
}

std::vector<InputUnit> units_of_share(const std::vector<InputUnit>& units, std::int64_t bytes, const Share& share) {
  std::vector<InputUnit> mine;
  std::int64_t before = 0;
  for (const InputUnit& unit : units) {
    const double middle = static_cast<double>(before) + static_cast<double>(unit.end - unit.begin) / 2;
    before += unit.end - unit.begin;
    const double place = bytes > 0 ? middle / static_cast<double>(bytes) : 0;
    const auto whose = static_cast<std::int64_t>(place * static_cast<double>(share.shares));
    if (std::min(whose, share.shares - 1) == share.share) mine.push_back(unit);
  }
  return mine;
}

}  // namespace

std::string text_of_input(const InputPart& part) {
  std::uint64_t hash = 0;
  for (const InputUnit& unit : part.units) {
    const std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", unit.path, unit.begin, unit.end, unit.file_bytes,
                                         unit.changed, text_of(unit.format));
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return fmt::format("{:016x}", hash);
}

Error no_text(const std::vector<std::string>& inputs, std::int64_t files) {
  return usage_error("corpus", "{}: no text is in {}", joined(inputs),
                     files == 1 ? "the file" : fmt::format("any of the {} files", files));
}

InputPlan plan_input(const InputFiles& input, std::optional<TextFormat> format, std::int64_t part_bytes,
                     const Share& share) {
  std::vector<InputUnit> units;
  for (const ListedFile& file : input.files) {
    add_units(file, file.bytes > part_bytes && can_be_cut(file, format), part_bytes, units);
  }
  InputPlan plan;
  FileFormat format_of_last;
  std::string last;
  for (InputUnit& unit : units_of_share(units, input.bytes, share)) {
    const std::int64_t bytes = unit.end - unit.begin;
    if (plan.files == 0 || unit.path != last) {  // a file's units follow one another
      last = unit.path;
      format_of_last = format_of_file(unit.path, format);
      ++plan.formats[text_of(format_of_last)];
      ++plan.files;
    }
    unit.format = format_of_last;
    if (plan.parts.empty() || plan.parts.back().bytes + bytes > part_bytes) plan.parts.emplace_back();
    plan.parts.back().bytes += bytes;
    plan.parts.back().units.push_back(std::move(unit));
    plan.bytes += bytes;
  }
  return plan;
}

}  // namespace octet
