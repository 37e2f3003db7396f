#include "src/metrics/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet {
namespace {

Error failed(const std::string& path) {
  return internal_error("metrics", "{}: cannot be written: {}", path, std::strerror(errno));
}

/// Writes text to the end of a file, which is made if missing, and waits for the disk.
void append_durably(const std::string& path, std::string_view text, int flags) {
  const FileHandle file = open_to_write(path.c_str(), O_WRONLY | flags);
  if (!file) throw failed(path);
  if (!write_all(file.get(), text) || ::fsync(file.get()) != 0) throw failed(path);
}

/// Whether the line is whole and of a step up to `last`.
bool stays(std::string_view line, std::int64_t last) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!line.ends_with('\n') || !json.is_object()) return false;
  const auto step = json.find("step");
  return step != json.end() && step->is_number_integer() && step->get<std::int64_t>() <= last;
}

}  // namespace

MetricsCut cut_metrics(const std::string& path, const std::string& discarded, std::int64_t last) {
  const std::optional<std::string> found = read_text_file(path);
  if (!found && errno != ENOENT) throw failed(path);
  const std::string text = found.value_or("");
  std::string kept, rest;
  MetricsCut cut;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t end = newline == std::string::npos ? text.size() : newline + 1;
    const std::string_view line(text.data() + begin, end - begin);
    const bool stay = stays(line, last);
    (stay ? kept : rest) += line;
    ++(stay ? cut.kept : cut.discarded);
    begin = end;
  }
  if (rest.empty()) return cut;
  if (!rest.ends_with('\n')) rest += '\n';
  append_durably(discarded, rest, O_APPEND);
  const std::string temporary = path + ".tmp";
  append_durably(temporary, kept, O_TRUNC);
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw failed(path);
  if (!sync_folder_of(path)) throw failed(path);
  return cut;
}

}  // namespace octet
