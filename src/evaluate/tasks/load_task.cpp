#include "src/evaluate/tasks/load_task.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/evaluate/tasks/dataset_file.h"
#include "src/evaluate/tasks/python_random.h"

namespace octet {
namespace {

constexpr std::uint32_t seed = 1234;  // lm-eval's of few-shot examples

/// Rows as questions, and which rows are the same: `rows` has the columns of each in one order.
struct Split {
  std::string path{};  ///< the first of its files
  std::vector<TaskItem> items{};
  std::vector<std::string> rows{};
  std::uint64_t fingerprint = 0;
};

Split read_split(const std::string& folder, std::string_view name, const TaskFormat& format, bool keep_rows) {
  Split split;
  for (const std::string& path : dataset_files(folder, name)) {
    if (split.path.empty()) split.path = path;
    const std::uint64_t bytes = read_dataset_file(path, [&](const JsonReader& row, const nlohmann::json& json) {
      split.items.push_back(format.read(row));
      split.items.back().place = row.where();
      if (keep_rows) split.rows.push_back(json.dump());
    });
    split.fingerprint = split.fingerprint * 3 + bytes;
  }
  return split;
}

/// The rows before one question, by number.
class ExampleChooser {
 public:
  ExampleChooser(const TaskFormat& format, const Split& pool, std::size_t shots)
      : format_(format), pool_(pool), shots_(shots) {}

  std::vector<std::size_t> next(const std::string& row) {
    const std::size_t size = pool_.items.size();
    if (format_.how == Examples::first) {
      std::vector<std::size_t> chosen(shots_);
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
      return chosen;
    }
    if (format_.how == Examples::drawn) return random_.sample(size, shots_);
    std::vector<std::size_t> chosen;
    for (const std::size_t i : random_.sample(size, shots_ + 1)) {
      if (pool_.rows[i] != row && chosen.size() < shots_) chosen.push_back(i);
    }
    return chosen.size() == shots_ ? chosen : again(row);
  }

 private:
  /// Where more than one of those drawn was the question itself, lm-eval draws again from all others.
  std::vector<std::size_t> again(const std::string& row) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < pool_.rows.size(); ++i) {
      if (pool_.rows[i] != row) others.push_back(i);
    }
    if (others.size() < shots_)
      throw usage_error("evaluate", "--shots {}: too few rows other than the question", shots_);
    std::vector<std::size_t> chosen;
    for (const std::size_t i : random_.sample(others.size(), shots_)) chosen.push_back(others[i]);
    return chosen;
  }

  const TaskFormat& format_;
  const Split& pool_;
  std::size_t shots_;
  PythonRandom random_{seed};
};

void put_examples(const TaskFormat& format, const Split& pool, std::int64_t shots, const Split& asked,
                  std::vector<TaskItem>& items) {
  const std::size_t least = static_cast<std::size_t>(shots) + (format.how == Examples::drawn_others ? 1 : 0);
  if (pool.items.size() < least) {
    throw usage_error("evaluate", "{}: has {} rows; --shots {} needs {}", pool.path, pool.items.size(), shots, least);
  }
  ExampleChooser chooser(format, pool, static_cast<std::size_t>(shots));
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string before;
    for (const std::size_t example : chooser.next(asked.rows[i])) before += pool.items[example].example;
    for (std::string& context : items[i].contexts) context.insert(0, before);
  }
}

}  // namespace

LoadedTask load_task(const KnownTask& task, const std::string& data, std::int64_t shots) {
  const std::string folder = fmt::format("{}/{}", data, task.folder);
  Split asked = read_split(folder, task.format.split, task.format, shots > 0);
  LoadedTask out{
      .name = task.name, .shots = shots, .normalised = task.format.normalised, .fingerprint = asked.fingerprint};
  out.items = std::move(asked.items);
  if (shots > 0) {
    const Split pool = read_split(folder, task.format.examples, task.format, true);
    put_examples(task.format, pool, shots, asked, out.items);
    out.fingerprint = out.fingerprint * 3 + pool.fingerprint;
  }
  if (!task.description.empty()) {
    for (TaskItem& item : out.items) {
      for (std::string& context : item.contexts) context.insert(0, task.description);
    }
  }
  return out;
}

void keep_first(LoadedTask& task, std::int64_t questions) {
  task.left_out = std::max<std::int64_t>(std::ssize(task.items) - questions, 0);
  task.items.erase(task.items.end() - task.left_out, task.items.end());
}

}  // namespace octet
