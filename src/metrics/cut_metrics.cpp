#include "src/metrics/cut_metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/read_file.h"

namespace octet {
namespace {

constexpr std::int64_t first_look = std::int64_t{1} << 20;  // bytes: more than a thousand lines

/// Nothing where there is no such file.
std::optional<files::InputFile> open_if_there(const std::string& path) {
  try {
    return files::InputFile(path);
  } catch (const files::ReadError& error) {
    if (error.error() != ENOENT) throw;
    return std::nullopt;
  }
}

/// What a power loss leaves of a block that was not on the disk yet. The parser takes it for the end of the text.
bool has_zeros(std::string_view line) {
  return line.find('\0') != std::string_view::npos;
}

/// The step of a line; nothing where the line is not whole.
std::optional<std::int64_t> step_of(std::string_view line) {
  if (!line.ends_with('\n') || has_zeros(line)) return std::nullopt;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_integer()) return std::nullopt;
  return step->get<std::int64_t>();
}

/// Where the line begins that ends before `end`; `first` is the beginning of a line above it.
std::size_t begin_of_line(std::string_view text, std::size_t first, std::size_t end) {
  const std::size_t newline = end - first < 2 ? std::string_view::npos : text.rfind('\n', end - 2);
  return newline == std::string_view::npos || newline < first ? first : newline + 1;
}

/// The lines of a text in order, newline included.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    lines.push_back(text.substr(0, newline == std::string_view::npos ? newline : newline + 1));
    text.remove_prefix(lines.back().size());
  }
  return lines;
}

/// The end of a file, from an offset in bytes on.
struct End {
  std::int64_t begin = 0;
  std::string text;
};

/// The part of the file after the last line for which `stays` holds, or all of it where it holds for none. The file is
/// read from its end.
End behind_last(const files::InputFile& file, const std::function<bool(std::string_view)>& stays) {
  const std::int64_t size = file.size();
  for (std::int64_t look = first_look;; look *= 2) {
    const std::int64_t begin = std::max<std::int64_t>(0, size - look);
    std::string text;
    file.read_blocks([&](std::span<const char> block) { text.append(block.data(), block.size()); }, {.offset = begin});
    const std::size_t newline = text.find('\n');  // before it is, perhaps, the rest of a line
    const std::size_t first = begin == 0 ? 0 : newline == std::string::npos ? text.size() : newline + 1;
    for (std::size_t end = text.size(); end > first;) {
      const std::size_t line = begin_of_line(text, first, end);
      if (stays(std::string_view(text).substr(line, end - line))) {
        return {begin + static_cast<std::int64_t>(end), text.substr(end)};
      }
      end = line;
    }
    if (begin == 0) return {0, std::move(text)};
  }
}

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

/// Where lines go in a file.
struct Place {
  std::int64_t offset = 0;  ///< in bytes; what is behind it goes
  bool in_line = false;     ///< behind a line that has no end
};

/// Where to write the lines `moved`: at the end of `discarded`, or where an earlier call began to write some of these
/// lines and did not finish.
Place place_in(const std::string& discarded, std::string_view moved) {
  const auto file = open_if_there(discarded);
  if (!file) return {};
  std::unordered_set<std::string_view> known;
  for (const std::string_view line : lines_of(moved)) known.insert(without_newline(line));
  const auto is_moved = [&](std::string_view line) { return known.contains(without_newline(line)); };
  // A power loss may leave anything before and between these lines, so the search goes back to the last line of a step
  // that is not among them.
  const End end =
      behind_last(*file, [&](std::string_view line) { return step_of(line).has_value() && !is_moved(line); });
  const std::vector<std::string_view> lines = lines_of(end.text);
  const auto first =
      std::ranges::find_if(lines, [&](std::string_view line) { return has_zeros(line) || is_moved(line); });
  if (first != lines.end()) return {.offset = end.begin + (first->data() - end.text.data())};
  return {.offset = end.begin + static_cast<std::int64_t>(end.text.size()),
          .in_line = !lines.empty() && !lines.back().ends_with('\n')};
}

Error refused(const std::string& path, int error) {
  return internal_error("metrics", "{}: cannot be written: {}", path, why_not_written(error));
}

FileHandle opened(const std::string& path) {
  FileHandle file = open_to_write(path.c_str(), O_WRONLY);
  if (!file) throw refused(path, errno);
  return file;
}

/// Cuts the file at `place`, writes the lines there, and waits for the disk. Where the disk refuses that, the lines are
/// cut off again.
void put_durably(const std::string& path, const Place& place, std::string lines) {
  const FileHandle file = opened(path);
  if (place.in_line) lines.insert(0, "\n");
  if (!lines.ends_with('\n')) lines += '\n';
  if (::ftruncate(file.get(), place.offset) == 0 &&
      write_all_at(file.get(), place.offset, lines.data(), lines.size()) && ::fsync(file.get()) == 0 &&
      sync_folder_of(path)) {
    return;
  }
  const int error = errno;
  [[maybe_unused]] const int cut = ::ftruncate(file.get(), place.offset);  // else the next call takes them back
  throw refused(path, error);
}

}  // namespace

std::int64_t cut_metrics(const std::string& path, const std::string& discarded, std::int64_t last) {
  const auto metrics = open_if_there(path);
  if (!metrics) return 0;
  const End moved = behind_last(*metrics, [&](std::string_view line) {
    const std::optional<std::int64_t> step = step_of(line);
    return step && *step <= last;
  });
  if (moved.text.empty()) return 0;
  const FileHandle file = opened(path);  // before the other one is touched
  std::remove((path + ".tmp").c_str());  // a copy that earlier versions left on a full disk
  put_durably(discarded, place_in(discarded, moved.text), moved.text);
  if (::ftruncate(file.get(), moved.begin) != 0 || ::fsync(file.get()) != 0) throw refused(path, errno);
  return static_cast<std::int64_t>(lines_of(moved.text).size());
}

}  // namespace octet
