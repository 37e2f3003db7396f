// Rows of datasets, in the columns of each, and samples of an evaluation that goes on.
#include "src/evaluate/tasks/dataset_file.h"
#include "src/evaluate/tasks/item_readers.h"
#include "src/evaluate/tasks/task_files.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

/// Every task's reader on every row: what is a row of one is none of another, which a refusal must say.
template <typename ReadRows>
void read_rows(const std::string& text, const ReadRows& rows) {
  for (const ReadItem read :
       {read_arc, read_hellaswag, read_mmlu, read_openbookqa, read_piqa, read_sciq, read_winogrande}) {
    try {
      rows(text, "rows", [&](const JsonReader& row, const nlohmann::json&) { read(row); });
    } catch (const Error&) {  // the others are still to be tried
    }
  }
}

void read_samples(const std::string& text) {
  LoadedTask task;
  task.items.assign(2, {.choices = {"a", "b"}});
  read_sample_lines(text, task);
}

const std::string samples =
    "{\"doc_id\":0,\"loglikelihoods\":[-0.5,-2.5],\"acc\":0.0}\n{\"doc_id\":1,\"loglikelihoods\":[-3,-1e2],\"acc\":1.0}"
    "\n";

std::vector<std::string> datasets(const std::string& folder, const std::string& ending) {
  std::vector<std::string> texts;
  for (const char* file : {"arc_easy/test", "hellaswag/validation", "mmlu/anatomy/test", "openbookqa/test",
                           "piqa/validation", "sciq/test", "winogrande/validation"}) {
    texts.push_back(source_file(fmt::format("tests/evaluate/tasks/golden/{}/{}{}", folder, file, ending)));
  }
  return texts;
}

std::vector<std::string> first_rows() {
  std::vector<std::string> seeds = datasets("data", ".jsonl");
  for (std::string& text : seeds) text.resize(text.find('\n', text.find('\n') + 1));
  return seeds;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"dataset-rows", [](const std::string& text) { read_rows(text, read_dataset_text); }, first_rows},
#ifdef OCTET_HAS_ARROW  // which a preset with sanitizers has with -DOCTET_ARROW=ON alone
      {"dataset-parquet", [](const std::string& bytes) { read_rows(bytes, read_dataset_parquet); },
       [] { return datasets("parquet", ".parquet"); }},
#endif
      {"task-samples", read_samples, texts({samples})},
  };
  return all;
}

}  // namespace octet::fuzz
