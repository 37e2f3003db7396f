#include "jobs/evaluate/evaluate_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/is_there.h"
#include "src/base/options/arguments.h"
#include "src/base/options/byte_size.h"
#include "src/base/options/document.h"
#include "src/base/options/yaml_document.h"
#include "src/run_config/options/sections.h"

namespace octet::evaluate {
namespace {

const std::vector<std::string> flags = {"help"};

/// As written on the command line.
struct Texts {
  std::string compare_precision = "same", format = "auto", split = "none", max_document = "64MiB";
  std::int64_t seed = 1234;
  Float8Config float8{};
};

void declare_layout(Schema& schema, Options& o, Texts& t) {
  schema.add("tp", o.models.tp)
      .between(1, 1024)
      .help("Ranks between which a model is cut. The others, ranks / tp, divide the texts.");
  schema.add("row-tokens", o.models.row_tokens)
      .unit("tokens")
      .between(0, most_sequences)
      .help(
          "Tokens that go through the model at once, from as many texts as fit. 0: the window, but at least 512 on cpu "
          "and 8192 on cuda.");
  schema.add("compare", o.compare)
      .help(
          "Another model: the same texts or tasks, and the difference of the two with its interval, by document "
          "or question.");
  std::vector<std::string> precisions{"same"};
  for (const std::string_view name : names_of(Precision{})) precisions.emplace_back(name);
  schema.add_choice("compare-precision", t.compare_precision, precisions)
      .help("What the model of --compare computes in. same: in --precision, as the first.");
}

void declare_texts(Schema& schema, Options& o, Texts& t) {
  schema.add("data", o.data).help("PATH of a token file PATH.bin, PATH.idx.");
  schema.add("text", o.text.input)
      .help(
          "Texts: a file, a folder, a pattern or @LIST of plain text, JSONL or Parquet, as octet prepare reads them.");
  schema.add_choice("format", t.format, {"auto", "text", "jsonl", "parquet"}).help("What the files of --text are.");
  schema.add("field", o.text.field).help("Key or column of --text that holds a document.");
  schema.add_choice("split-documents", t.split, {"none", "blank-lines"})
      .help("What a document of plain text is: a file, or the lines between blank lines.");
  schema.add("max-document", t.max_document)
      .help("Limit of a record of --text, and of a text that the tokenizer cannot cut; a longer one is refused.");
  schema.add("stride", o.stride)
      .unit("tokens")
      .between(0, most_sequences)
      .help(
          "New tokens that each window predicts, behind those of the window before; the rest of the window is context. "
          "0: the whole window, so that windows share no token.");
  schema.add("documents", o.documents).between(0, 1e15).help("Evaluate only the first so many documents. 0: all.");
  schema.add("bootstrap", o.bootstrap.samples)
      .between(1, 1e6)
      .help("Bootstrap samples from which the 95 % intervals are computed.");
  schema.add("seed", t.seed)
      .between(0, 1e15)
      .help("Seed of the bootstrap samples, and of the tokens that --generate draws.");
  schema.add("output", o.output)
      .help(
          "Folder for results.json, documents.jsonl and the samples of tasks, which is made; those of --compare's "
          "model go to compare/ in it. Results that it has of the same models in the same settings stay beside the new "
          "ones; a folder with others is refused without --overwrite.");
  schema.add_flag("overwrite", o.overwrite).help("Replace results of another evaluation in the folder of --output.");
  declare_threads(schema, o.cpu);
  schema.add("timeout", o.timeout).unit("s").above(0).help("Limit of one operation between ranks.");
}

void declare_tasks(Schema& schema, Options& o) {
  schema.add("tasks", o.tasks)
      .help(
          "Tasks of lm-eval-harness, between commas: arc_challenge, arc_easy, hellaswag, mmlu (or a part or subject of "
          "it), openbookqa, piqa, sciq, winogrande; and own ones as FILE.yaml.");
  schema.add("task-data", o.task_data)
      .help(
          "Folder of their datasets: NAME/SPLIT.jsonl or .parquet in each dataset's own columns, "
          "mmlu/SUBJECT/SPLIT.jsonl.");
  schema.add("limit", o.limit)
      .unit("questions")
      .between(0, 1e15)
      .help("Ask only the first so many questions of each task, as lm-eval's --limit. 0: all.");
  schema.add("shots", o.shots).between(0, 1000).help("Examples before each question, chosen as lm-eval does.");
}

void declare(Schema& schema, Options& o, Texts& t) {
  declare_model(schema, o.models);
  declare_control_tokens(schema, o.models);
  declare_layout(schema, o, t);
  declare_texts(schema, o, t);
  declare_tasks(schema, o);
  schema.add_flag("generate", o.generates)
      .help("Write on behind --prompt; one process needs no mpiexec: octet generate.");
  declare_generate(schema, o.generate);
  declare_float8(schema, t.float8);
}

/// Options of what is not done, which would change nothing.
void refuse_idle(Schema& schema, const Options& o) {
  const auto refuse = [&](const std::string& name, const char* expected) {
    if (schema.find(name)->is_set()) {
      throw usage_error("evaluate", "--{} changes nothing here: it is for {}", name, expected);
    }
  };
  if (o.text.input.empty()) {
    for (const char* name : {"format", "field", "split-documents", "max-document"}) refuse(name, "--text");
  }
  if (o.models.control_tokens && !o.data.empty()) {
    throw usage_error("evaluate", "--control-tokens changes nothing here: it is for --text, --tasks and --generate");
  }
  if (o.compare.empty()) refuse("compare-precision", "--compare");
  if (!o.generates) {
    for (const char* name : {"prompt", "prompt-file", "tokens", "temperature", "top-p"}) refuse(name, "--generate");
  } else {
    for (const char* name : {"compare", "stride", "documents", "bootstrap", "output", "row-tokens"}) {
      refuse(name, "--data, --text and --tasks");
    }
    refuse_drawing(schema, o.generate);
  }
  if (o.tasks.empty()) {
    for (const char* name : {"task-data", "shots", "limit"}) refuse(name, "--tasks");
  } else {
    for (const char* name : {"stride", "documents"}) refuse(name, "--data and --text");
    if (o.compare.empty()) {
      for (const char* name : {"bootstrap", "seed"}) refuse(name, "--data, --text and --compare");
    }
  }
  const bool float8 = o.models.precision == Precision::float8 || o.compare_precision == Precision::float8;
  if (!float8) refuse_float8(schema);
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options o;
  Texts t;
  Schema schema;
  declare(schema, o, t);
  const Arguments arguments = [&] {
    Arguments a =
        parse_arguments(schema, flags, argc, argv, {"models", "; another to compare with is that of --compare"});
    o.model = std::exchange(a.file, "");  // no file of options
    return a;
  }();
  o.help = arguments.has("help");
  if (o.help) return o;
  apply(arguments, schema);
  if (o.model.empty()) {
    throw usage_error("evaluate", "no MODEL given; expected a checkpoint, a run or a Hugging Face folder (see --help)");
  }
  if (!o.generates) refuse_what_is_no_text(o.model, "MODEL");  // the results name it; options are read as texts
  const int asked =
      (o.data.empty() ? 0 : 1) + (o.text.input.empty() ? 0 : 1) + (o.tasks.empty() ? 0 : 1) + (o.generates ? 1 : 0);
  if (asked != 1) {
    throw usage_error("evaluate", "{}; expected one of --data, --text, --tasks and --generate",
                      asked == 0 ? "nothing to evaluate on" : "more than one thing to evaluate on");
  }
  if (o.overwrite && o.output.empty()) {
    throw usage_error("evaluate", "--overwrite changes nothing here: it is for --output");
  }
  if (t.format != "auto") o.text.format = value_named<TextFormat>(t.format);
  o.text.split = split_documents_from(t.split);
  o.text.max_document = parse_bytes(t.max_document, "--max-document");
  o.bootstrap.seed = o.generate.sampling.seed = static_cast<std::uint64_t>(t.seed);
  if (t.compare_precision != "same") o.compare_precision = value_named<Precision>(t.compare_precision);
  o.models.float8 = float8_given(schema);
  refuse_idle(schema, o);
  if (!o.output.empty() && is_there(o.output) && !std::filesystem::is_directory(o.output)) {
    throw usage_error("evaluate", "--output {}: is no folder; expected one, or the name of a new one", o.output);
  }
  return o;
}

std::string compared_folder(const Options& options) {
  return options.compare.empty() || options.output.empty() ? "" : options.output + "/compare";
}

std::string usage_text() {
  Options o;
  Texts t;
  Schema schema;
  declare(schema, o, t);
  return "Says what a trained model is worth: how likely it finds texts, with intervals, and how that differs from\n"
         "another model; and how many questions of lm-eval's tasks it answers. docs/evaluation.md says what is "
         "computed.\n\n"
         "Usage: mpiexec -n N octet-evaluate MODEL --data PATH | --text TEXT | --tasks NAMES | --generate [OPTIONS]\n\n"
         "MODEL is a checkpoint, a run (its newest whole checkpoint) or a Hugging Face folder of LlamaForCausalLM.\n\n"
         "  octet-evaluate runs/a --data data/english-holdout                 loss, perplexity, bits per byte\n"
         "  mpiexec -n 2 octet-evaluate runs/float8 --compare runs/bf16 --text held-out/    is one better?\n"
         "  octet-evaluate runs/a --tasks piqa,arc_easy --task-data datasets --output results/a    accuracies\n"
         "  mpiexec -n 2 octet-evaluate runs/a --tp 2 --generate --prompt 'Once upon a time'    what comes behind "
         "it\n\n"
         "  -h, --help  this text\n"
         "  --version   commit, build and libraries\n\n" +
         help_text(schema) +
         "\nExit codes: 0; 64 for a wrong command, model or text; 71 when a rank was lost or an operation took longer\n"
         "than --timeout; 70 for what the machine refused.\n";
}

}  // namespace octet::evaluate
