#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/options/yaml.h"
#include "src/evaluate/tasks/dataset_file.h"
#include "src/evaluate/tasks/load_task.h"

namespace octet {
namespace {

/// What FILE.yaml says: the last three are names of columns.
struct OwnTask {
  std::string name, path, context, choices, gold;
};

OwnTask read_own_task(const std::string& yaml) {
  OwnTask task;
  Schema schema;
  schema.add("name", task.name).required();
  schema.add("path", task.path).required();
  schema.add("context", task.context).required();
  schema.add("choices", task.choices).required();
  schema.add("gold", task.gold).required();
  read_yaml_file(schema, yaml);
  schema.check_required(yaml, false);
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  if (task.name.empty() || task.name[0] == '.' || !std::ranges::all_of(task.name, plain)) {
    throw usage_error("evaluate", "{}: name is \"{}\"; expected letters, digits, '_', '-' and '.': files are called so",
                      yaml, task.name);
  }
  if (task.name == "text" || task.name == "data") {
    throw usage_error("evaluate", "{}: name is \"{}\"; expected another: the results of --{} are called so", yaml,
                      task.name, task.name);
  }
  return task;
}

/// Other columns of the same file are other questions.
std::uint64_t columns_of(const OwnTask& task) {
  const std::string columns = fmt::format("{}\n{}\n{}", task.context, task.choices, task.gold);
  return XXH3_64bits(columns.data(), columns.size());
}

}  // namespace

LoadedTask load_own_task(const std::string& yaml) {
  const OwnTask task = read_own_task(yaml);
  const std::string path = (std::filesystem::path(yaml).parent_path() / task.path).string();
  LoadedTask out{.name = task.name};
  out.fingerprint = read_dataset_file(path, [&](const JsonReader& row, const nlohmann::json&) {
    TaskItem item{.contexts = {row.text(task.context.c_str())}};
    const JsonReader choices = row.at(task.choices.c_str());
    item.choices = choices.texts();
    if (item.choices.empty() || std::ranges::find(item.choices, "") != item.choices.end()) {
      throw choices.refuse("texts, none of them empty");
    }
    item.continuations = item.choices;
    item.place = row.where();
    const auto last = static_cast<std::int64_t>(item.choices.size()) - 1;
    item.gold = static_cast<std::size_t>(row.integer(task.gold.c_str(), 0, last));
    out.items.push_back(std::move(item));
  });
  out.fingerprint = out.fingerprint * 3 + columns_of(task);
  return out;
}

}  // namespace octet
