#include "src/corpus/prepare.h"

#include <charconv>

#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/options/byte_size.h"
#include "src/base/progress.h"

namespace octet {
namespace {

constexpr std::string_view prepare_usage =
    "usage: octet prepare --input TEXT... --output PREFIX [OPTIONS]\n\n"
    "Reads texts and writes PREFIX.bin and PREFIX.idx, token files in Megatron's format for data.train of\n"
    "octet-train, and PREFIX.data.json, which says which tokenizer made them, their smallest and largest token id and\n"
    "how much text they stand for. docs/data.md leads from a corpus to a run.\n\n"
    "TEXT is a file, a folder (read recursively, sorted by path, without hidden files and linked folders), a\n"
    "pattern in quotes ('crawl/**/*.jsonl.zst') or @LIST, a file with one of these a line. Files are plain text,\n"
    "JSONL (an object with the text a line) or Parquet, the first two also packed as .gz, .zst or .zstd: their\n"
    "content and their name say which.\n\n"
    "Memory does not grow with the text. Input above --part-size is made in parts, in the folder PREFIX.parts: what "
    "is\n"
    "interrupted goes on when it is started again. Nothing else is left behind by a run that fails.\n";

template <NamedEnum E>
E choice(const std::string& option, const std::string& text) {
  const auto names = names_of(E{});
  if (const auto value = value_named<E>(text)) return *value;
  throw usage_error("octet", "--{} is \"{}\"; expected {}", option, text, fmt::join(names, " or "));
}

Share share_of(const std::string& text) {
  Share share;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, share.share);
  const bool has_slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = has_slash ? std::from_chars(first.ptr + 1, end, share.shares) : first;
  const bool whole = has_slash && second.ec == std::errc() && second.ptr == end;
  if (!whole || share.share < 1 || share.share > share.shares || share.shares > 99999) {
    throw usage_error("octet", "--part is \"{}\"; expected k/N with k from 1 to N and N up to 99999", text);
  }
  --share.share;
  return share;
}

void print(const TokenCounts& counts, std::string_view suffix) {
  log::out("documents  {}{}", counts.documents, suffix);
  log::out("tokens     {}{}", counts.tokens, suffix);
}

void print(const PrepareReport& report) {
  const PartCounts& counts = report.counts;
  const double seconds = std::max(report.seconds, 1e-9);
  const std::int64_t text = counts.kept.text_bytes + counts.held_out.text_bytes;
  print(counts.kept, "");
  if (counts.held_out.documents > 0) print(counts.held_out, " held out");
  if (report.made_before) {
    log::out("text       {} bytes; made before, by the same command", text);
  } else {
    log::out("text       {} bytes of {} bytes in {} file{} ({} without text, {} skipped)", text, report.input_bytes,
             report.files, report.files == 1 ? "" : "s", counts.empty_files, report.skipped);
  }
  if (counts.empty_documents + counts.broken + counts.replaced > 0) {
    log::out("left out   {} records with an empty text, {} broken ones; {} pieces that were no UTF-8 replaced",
             counts.empty_documents, counts.broken, counts.replaced);
  }
  if (report.parts > 1) log::out("parts      {}, {} of them finished before", report.parts, report.parts_before);
  if (report.parts_before == 0 && !report.made_before) {
    log::out("time       {:.2f} s ({}/s of text, {} workers)", report.seconds,
             format_bytes(static_cast<std::int64_t>(static_cast<double>(text) / seconds)), report.workers);
  }
  log::out("written    {}", fmt::join(report.written, "\n           "));
  if (report.entropies) {
    log::out("entropy    order 0 {:.4f}, order 1 {:.4f}, order 2 {:.4f} nats a byte", report.entropies->order0,
             report.entropies->order1, report.entropies->order2);
  }
}

void explain_holdout(const PrepareOptions& options) {
  if (options.holdout == 0) return;
  log::info(
      "--holdout takes whole documents by a hash of their text: a copy of one is never on the other side. "
      "octet-evaluate --data PREFIX-holdout measures checkpoints on them; a run's own validation "
      "(data.validation_fraction) is on windows out of data.train's tokens, where documents go across");
}

}  // namespace

int run_prepare(const std::vector<std::string>& arguments) {
  PrepareOptions options;
  std::string split = "none", format = "auto", bad_utf8 = "refuse", max_document = "64MiB", part_size = "256MiB";
  std::string part = "1/1", bos_token, eos_token;
  bool eos = false, no_eos = false;
  Schema schema;
  schema.add("input", options.inputs)
      .required()
      .several()
      .letter('i')
      .help("File, folder, 'pattern' or @list; may be repeated.");
  schema.add("output", options.output).required().letter('o').help("PREFIX of the files; its folder is created.");
  schema.add("tokenizer", options.tokenizer)
      .help(
          "How text becomes tokens: bytes, or the path of a tokenizer.json, a rank file (.tiktoken, Llama 3's "
          "tokenizer.model), a SentencePiece model or a folder with one.");
  schema.add("format", format).help("What files are: auto (by content and name), text, jsonl or parquet.");
  schema.add("field", options.field)
      .help("Key or column that holds a record's text; meta.text is the key text in the object meta.");
  schema.add("split-documents", split)
      .help("What a document of plain text is. none: a file; blank-lines: lines between blank lines.");
  schema.add_flag("bos", options.bos).help("Begin each document with the tokenizer's token for that.");
  schema.add_flag("eos", eos).help("End each document with the tokenizer's token for that (the default).");
  schema.add_flag("no-eos", no_eos).help("Write nothing behind a document.");
  schema.add("bos-token", bos_token).help("The token, by its text, where the tokenizer's file names none or another.");
  schema.add("eos-token", eos_token).help("Likewise.");
  schema.add_flag("control-tokens", options.tokenizer_options.control_tokens)
      .help("Text that spells a control token, such as <|end_of_text|>, is that token and not plain text.");
  schema.add("bad-utf8", bad_utf8)
      .help("Text that is no UTF-8 where it must be. refuse: with file and place; replace: by U+FFFD, counted.");
  schema.add("max-bad", options.max_bad).at_least(0).help("Records without a text that may be left out.");
  schema.add("max-document", max_document)
      .help("Limit of a record, and of a text that the tokenizer cannot cut; a longer one is refused.");
  schema.add("holdout", options.holdout)
      .help("Share of the documents that goes to PREFIX-holdout, by a hash of their text.");
  schema.add("part", part).help("k/N: make the k-th of N shares of the input, as PREFIX-0000k-of-0000N.");
  schema.add("part-size", part_size).help("Input that is finished together; what an interruption may cost.");
  schema.add("workers", options.workers).between(0, 4096).help("Threads; 0: one for each core of this process.");
  schema.add_flag("overwrite", options.overwrite)
      .help(
          "Replace files that exist, and parts that were made otherwise; without it files that the same command has "
          "made stay as they are, which is no error.");
  if (!parse_words(arguments, prepare_usage, schema, "input", -1)) return 0;
  if (schema.find("bos-token")->is_set()) options.tokenizer_options.bos = bos_token;
  if (schema.find("eos-token")->is_set()) options.tokenizer_options.eos = eos_token;
  if (eos && no_eos) throw usage_error("octet", "--eos and --no-eos exclude each other");
  options.eos = !no_eos;
  options.split = split_documents_from(split);
  options.format = text_format_from(format);
  options.bad_utf8 = choice<BadUtf8>("bad-utf8", bad_utf8);
  options.max_document = parse_bytes(max_document, "--max-document");
  options.part_bytes = parse_bytes(part_size, "--part-size");
  options.part = share_of(part);
  explain_holdout(options);
  print(prepare(options));
  return 0;
}

}  // namespace octet
