#include "src/evaluate/tasks/begun_task.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/evaluate/tasks/task_files.h"

namespace octet {

BegunTask::BegunTask(const std::string& folder, const LoadedTask& task, nlohmann::ordered_json identity)
    : task_(task), identity_(std::move(identity)) {
  if (folder.empty()) return;
  path_ = folder + "/samples_" + task.name + ".jsonl.part";
  read();
}

void BegunTask::read() {
  const auto text = read_kept(path_);
  if (!text) return;
  const std::size_t end = std::min(text->find('\n'), text->size());
  const auto first =
      nlohmann::json::parse(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  if (first.is_discarded() || first != nlohmann::json(identity_)) {
    log::info("{}: what {} has is of another model, layout, tokenizer or data: the task begins anew", task_.name,
              path_);
    return;
  }
  before_ = read_sample_lines(std::string_view(*text).substr(std::min(end + 1, text->size())), task_);
  log::info("{}: {} of {} questions were scored before", task_.name, before_.size(), task_.items.size());
}

void BegunTask::add(const LogLikelihoods& rows, std::size_t first) {
  if (path_.empty()) return;
  const std::string lines = sample_lines(task_, rows, first);
  bool written = false;
  if (std::exchange(begun_, true)) {
    written = append_text(path_, lines);
  } else {
    before_.resize(std::min(first, before_.size()));
    written = replace_file(path_, identity_.dump() + "\n" + sample_lines(task_, before_) + lines);
  }
  if (!written) throw not_written("evaluate", path_);
}

void BegunTask::done() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace octet
