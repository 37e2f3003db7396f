// Rows of datasets, in the columns of each, and samples of an evaluation that goes on.
#include "src/evaluate/tasks/dataset_file.h"
#include "src/evaluate/tasks/item_readers.h"
#include "src/evaluate/tasks/task_files.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

/// Every task's reader on every row: what is a row of one is none of another, which a refusal must say.
void read_rows(const std::string& text) {
  for (const ReadItem read :
       {read_arc, read_hellaswag, read_mmlu, read_openbookqa, read_piqa, read_sciq, read_winogrande}) {
    try {
      read_dataset_text(text, "rows.jsonl", [&](const JsonReader& row, std::string_view) { read(row); });
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

std::vector<std::string> first_rows() {
  std::vector<std::string> seeds;
  for (const char* file : {"arc_easy/test", "hellaswag/validation", "mmlu/anatomy/test", "openbookqa/test",
                           "piqa/validation", "sciq/test", "winogrande/validation"}) {
    const std::string text = source_file(std::string("tests/evaluate/tasks/golden/data/") + file + ".jsonl");
    seeds.push_back(text.substr(0, text.find('\n', text.find('\n') + 1)));
  }
  return seeds;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"dataset-rows", read_rows, first_rows},
      {"task-samples", read_samples, texts({samples})},
  };
  return all;
}

}  // namespace octet::fuzz
