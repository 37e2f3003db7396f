#include "src/corpus/text_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "src/base/error.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

void add_file(const fs::path& path, TextFiles& found) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) throw usage_error("corpus", "cannot read {}: {}", path.string(), failed.message());
  found.files.push_back({path.string(), static_cast<std::int64_t>(size)});
  found.bytes += static_cast<std::int64_t>(size);
}

void add_folder(const fs::path& folder, TextFiles& found) {
  std::error_code failed;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(folder, failed);
  while (!failed && entry != fs::recursive_directory_iterator()) {
    const fs::path& path = entry->path();
    const bool hidden = path.filename().string().starts_with('.');
    const bool linked_folder = entry->is_symlink(failed) && entry->is_directory(failed);
    if (hidden || linked_folder) {
      found.skipped.push_back(path.string());
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(failed)) {
      files.push_back(path);
    } else if (!entry->is_directory(failed)) {
      found.skipped.push_back(path.string());
    }
    entry.increment(failed);
  }
  if (failed) throw usage_error("corpus", "cannot read folder {}: {}", folder.string(), failed.message());
  std::ranges::sort(files, {}, [](const fs::path& path) { return path.string(); });
  for (const fs::path& path : files) add_file(path, found);
}

void refuse_duplicates(const TextFiles& found) {
  std::set<std::string> seen;
  for (const TextFile& file : found.files) {
    if (!seen.insert(fs::absolute(file.path).lexically_normal().string()).second) {
      throw usage_error("corpus", "{} is given twice as input", file.path);
    }
  }
}

}  // namespace

TextFiles find_text_files(const std::vector<std::string>& inputs) {
  TextFiles found;
  for (const std::string& input : inputs) {
    std::error_code failed;
    const fs::file_status status = fs::status(input, failed);
    if (failed) throw usage_error("corpus", "cannot read input {}: {}", input, failed.message());
    if (fs::is_directory(status)) {
      add_folder(input, found);
    } else if (fs::is_regular_file(status)) {
      add_file(input, found);
    } else {
      throw usage_error("corpus", "input {} is neither a file nor a folder", input);
    }
  }
  refuse_duplicates(found);
  if (found.files.empty()) throw usage_error("corpus", "no text files in the input ({} skipped)", found.skipped.size());
  return found;
}

}  // namespace octet
