#include <algorithm>

#include "jobs/octet/commands.h"
#include "jobs/octet/tokenizer/tokenizer_tool.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/options/byte_size.h"
#include "src/base/progress.h"
#include "src/base/replace_file.h"
#include "src/base/seconds_since.h"
#include "src/corpus/count_words.h"
#include "src/tokenizer/training/tokenizer_file.h"

namespace octet::tokenizer_tool {
namespace {

constexpr std::string_view train_usage =
    "usage: octet tokenizer train --input TEXT... --vocab-size N --output FILE [OPTIONS]\n\n"
    "Makes a vocabulary of byte-level BPE from texts: words as the Llama-3 pattern cuts them, and the merges that\n"
    "Hugging Face's BpeTrainer finds. Writes a tokenizer.json, which its library reads too. TEXT is what octet "
    "prepare\n"
    "takes: files, folders, patterns, @lists, of plain text, JSONL or Parquet.\n";

struct TrainOptions {
  PrepareOptions input;
  BpeTraining training{.vocab_size = 0, .special = {}};
  std::string output, bos = "<|begin_of_text|>", eos = "<|end_of_text|>";
  bool overwrite = false;
};

/// The special tokens in the order of their ids: begin, end, and what the user wants besides.
void complete(TrainOptions& options, std::vector<std::string> more) {
  options.training.special = {options.bos, options.eos};
  options.training.special.insert(options.training.special.end(), more.begin(), more.end());
  check_training(options.training);
  if (!options.overwrite && ::access(options.output.c_str(), F_OK) == 0) {
    throw usage_error("octet", "{} exists; --overwrite replaces it", options.output);
  }
  // A large corpus takes hours, at whose end it would be late to hear of a folder that is not there.
  if (!can_replace_file(options.output)) throw not_written("octet", "--output: " + options.output);
}

bool read_options(const std::vector<std::string>& arguments, TrainOptions& options) {
  std::vector<std::string> special;
  std::string format = "auto", max_document = "64MiB";
  bool replace = false;
  Schema schema;
  schema.add("input", options.input.inputs).required().several().letter('i').help("Texts; may be repeated.");
  schema.add("output", options.output).required().letter('o').help("The tokenizer.json to write.");
  schema.add("vocab-size", options.training.vocab_size)
      .required()
      .letter('n')
      .help("Tokens: the special ones, the 256 bytes and what merges make.");
  schema.add("bos", options.bos).help("The token that begins a document.");
  schema.add("eos", options.eos).help("The token that ends a document.");
  schema.add("special", special).several().help("Further special tokens, in the order of their ids.");
  schema.add("min-frequency", options.training.min_frequency)
      .at_least(0)
      .help("Pairs that are rarer in the texts are not merged.");
  schema.add("format", format).help("What files are: auto (by content and name), text, jsonl or parquet.");
  schema.add("field", options.input.field).help("Key or column that holds a record's text.");
  schema.add_flag("replace-bad-utf8", replace).help("Take text that is no UTF-8 with U+FFFD in place of that.");
  schema.add("max-bad", options.input.max_bad).at_least(0).help("Records without a text that may be left out.");
  schema.add("max-document", max_document)
      .help("Limit of a record, and of a text without a place to cut it; a longer one is refused.");
  schema.add("workers", options.input.workers).between(0, 4096).help("Threads that count; 0: one for each core.");
  schema.add_flag("overwrite", options.overwrite).help("Replace a file that exists.");
  if (!parse_words(arguments, train_usage, schema, "input", -1)) return false;
  options.input.format = text_format_from(format);
  options.input.max_document = parse_bytes(max_document, "--max-document");
  if (replace) options.input.bad_utf8 = BadUtf8::replace;
  complete(options, special);
  return true;
}

TrainedBpe merge_words(const std::vector<WordCount>& words, const BpeTraining& training) {
  StatusLine line;
  return train_bpe(words, training, [&](std::int32_t tokens) {
    if (line.due()) line.show(fmt::format("merge: {} of {} tokens", tokens, training.vocab_size));
  });
}

}  // namespace

int run_train(const std::vector<std::string>& arguments) {
  TrainOptions options;
  if (!read_options(arguments, options)) return 0;
  const auto start = std::chrono::steady_clock::now();
  const WordCounter counter = count_words(options.input);
  const std::vector<WordCount> words = counter.counts();
  log::out("text         {}, {} words, {} different", format_bytes(counter.bytes()), counter.pieces(), words.size());
  const TrainedBpe trained = merge_words(words, options.training);
  if (!replace_file(options.output, tokenizer_json(trained, options.bos))) {
    throw not_written("octet", "--output: " + options.output);
  }
  if (static_cast<std::int32_t>(trained.tokens.size()) < options.training.vocab_size) {
    log::warning("the texts have no more pairs to merge: {} tokens instead of {}", trained.tokens.size(),
                 options.training.vocab_size);
  }
  log::out("vocabulary   {} tokens: {} special, 256 bytes, {} merges", trained.tokens.size(), trained.special,
           trained.merges.size());
  log::out("time         {:.2f} s", seconds_since(start));
  log::out("written      {}", options.output);
  return 0;
}

}  // namespace octet::tokenizer_tool
