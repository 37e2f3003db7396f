#include "src/corpus/input_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/corpus/glob.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

/// The path in its normal form: apart from links, two different ones never name the same place.
std::string plain_path(const std::string& path) {
  std::string plain = fs::absolute(path).lexically_normal().string();
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

/// What is found, the linked folders among what is left out, and the folders that are inputs themselves.
struct Search {
  InputFiles found;
  std::set<std::string> linked_folders;
  std::set<std::string> inputs;  ///< plain paths

  void pass_over_link(const std::string& folder) {
    if (linked_folders.insert(folder).second) found.skipped.push_back(folder);
  }
  /// A link that one input passes over may be another input.
  void drop_inputs() {
    const auto is_input = [&](const std::string& folder) { return inputs.contains(plain_path(folder)); };
    std::erase_if(found.skipped,
                  [&](const std::string& path) { return linked_folders.contains(path) && is_input(path); });
    std::erase_if(linked_folders, is_input);
  }
};

void add_file(const std::string& path, InputFiles& found) {
  found.files.push_back(look_at_file(path));
  found.bytes += found.files.back().bytes;
}

void add_folder(const fs::path& folder, Search& search) {
  std::error_code failed;
  std::vector<std::string> files;
  fs::recursive_directory_iterator entry(folder, failed);
  while (!failed && entry != fs::recursive_directory_iterator()) {
    const fs::path& path = entry->path();
    const bool hidden = path.filename().string().starts_with('.');
    const bool linked_folder = entry->is_symlink(failed) && entry->is_directory(failed);
    if (hidden) {
      search.found.skipped.push_back(path.string());
      entry.disable_recursion_pending();
    } else if (linked_folder) {
      search.pass_over_link(path.string());
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(failed)) {
      files.push_back(path.string());
    } else if (!entry->is_directory(failed)) {
      search.found.skipped.push_back(path.string());
    }
    entry.increment(failed);
  }
  errno = failed.value();
  if (failed) throw not_read("corpus", "folder " + folder.string());
  std::ranges::sort(files);
  for (const std::string& path : files) add_file(path, search.found);
}

void add_path(const std::string& input, Search& search) {
  std::error_code failed;
  const fs::file_status status = fs::status(input, failed);
  if (fs::is_directory(status)) {
    search.inputs.insert(plain_path(input));
    add_folder(input, search);
  } else if (fs::is_regular_file(status)) {
    add_file(input, search.found);
  } else if (failed) {
    errno = failed.value();
    throw not_read("corpus", "input " + input);
  } else {
    throw usage_error("corpus", "input {} is neither a file nor a folder", input);
  }
}

void add_input(const std::string& input, Search& search) {
  std::error_code failed;
  if (!is_glob(input) || fs::exists(input, failed)) return add_path(input, search);
  const GlobMatches matches = expand_glob(input);
  for (const std::string& folder : matches.linked_folders) search.pass_over_link(folder);
  if (matches.paths.empty()) {
    throw usage_error("corpus", "cannot read input {}: no file matches the pattern{}", input,
                      matches.linked_folders.empty()
                          ? ""
                          : "; ** goes into no linked folder, as " + readable(matches.linked_folders.front()));
  }
  for (const std::string& match : matches.paths) add_path(match, search);
}

void add_list(const std::string& list, Search& search) {
  const std::string text = given_text("corpus", list, "a list of inputs");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) add_input(line, search);
    begin = end + 1;
  }
}

void refuse_duplicates(const InputFiles& found) {
  std::set<std::string> seen;
  for (const ListedFile& file : found.files) {
    if (!seen.insert(plain_path(file.path)).second) {
      throw usage_error("corpus", "{} is given twice as input", file.path);
    }
  }
}

void warn_of_links(const std::set<std::string>& folders) {
  if (folders.empty()) return;
  log::warning(
      "{} linked folder{} passed over, the first is {}: folders are read without them, and ** of a pattern goes into "
      "none; an input that names one, or * in place of **, does",
      folders.size(), folders.size() == 1 ? " is" : "s are", readable(*folders.begin()));
}

}  // namespace

ListedFile look_at_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw not_read("corpus", path);
  return {path, status.st_size, status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

InputFiles find_input_files(const std::vector<std::string>& inputs) {
  Search search;
  for (const std::string& input : inputs) {
    if (input.starts_with('@')) {
      add_list(input.substr(1), search);
    } else {
      add_input(input, search);
    }
  }
  search.drop_inputs();
  warn_of_links(search.linked_folders);
  InputFiles found = std::move(search.found);
  refuse_duplicates(found);
  if (found.files.empty()) throw usage_error("corpus", "no text files in the input ({} skipped)", found.skipped.size());
  return found;
}

}  // namespace octet
