#include <algorithm>
#include <cmath>

#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/progress.h"
#include "src/corpus/document_statistics.h"
#include "src/corpus/recorded_tokenizer.h"
#include "src/data/data_facts.h"
#include "src/data/entropy.h"
#include "src/data/read_content.h"
#include "src/data/sampler.h"
#include "src/data/window_documents.h"
#include "src/run_config/options/sections.h"

namespace octet {
namespace {

constexpr std::string_view inspect_usage =
    "usage: octet inspect PATH [OPTIONS]\n\n"
    "Checks the token files PATH.bin and PATH.idx and prints what they hold: documents, tokens, the first text,\n"
    "the fingerprint that resuming compares, and, for byte tokens, the entropies of orders 0, 1 and 2 in nats:\n"
    "what a model scores that knows byte frequencies, pairs or triples, and nothing else. Give the run's\n"
    "--seq_len and --validation_fraction to have them for its validation split too, and the share of attention that\n"
    "crosses the ends of documents, which data.document_mask would take away. The smallest and the largest\n"
    "id are found too; --remember writes them to PATH.data.json, so that no run has to scan the data for them.\n"
    "PATH may stand for the parts PATH-00001-of-00004 and so on. --documents shows the first documents as text, and\n"
    "--scan reads all tokens, compares them with what was written, and counts control tokens and documents that occur\n"
    "more than once.\n";

constexpr std::int64_t shown_tokens = 256;  ///< of a document

/// The tokenizer of data: the one that is named, or the copy of its file beside them.
std::unique_ptr<Tokenizer> tokenizer_of(const TokenFile& file, const std::optional<DataFacts>& facts,
                                        const std::string& named) {
  const auto identity = facts ? facts->tokenizer : std::nullopt;
  if (!named.empty()) return make_recorded_tokenizer(named, identity);
  if (!identity) {
    throw usage_error("octet", "{}: the tokenizer is not known; --tokenizer names it", file.prefix());
  }
  if (identity->kind == TokenizerKind::bytes) return make_recorded_tokenizer("bytes", identity);
  return make_recorded_tokenizer(tokenizer_copy_path(file.pairs().front().prefix(), identity->kind), identity);
}

/// The first tokens as a person can read them: printable characters, escapes for the rest, ids when not bytes.
std::string beginning(const TokenFile& file) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(file.tokens(), 64)));
  file.read(0, ids, std::int64_t{1} << 31);
  if (file.type() != TokenType::u8) return fmt::format("{}", fmt::join(ids, " "));
  std::string text;
  for (const std::int32_t id : ids) text += static_cast<char>(id);
  return readable(text);
}

void print_documents(const TokenFile& file, const Tokenizer& tokenizer, std::int64_t count) {
  for (std::int64_t i = 0; i < std::min(count, file.documents()); ++i) {
    const auto ids = document_ids(file, i, shown_tokens);
    const std::int64_t tokens = file.document_tokens(i);
    log::out("document {:<3} {} tokens{}: {}", i, tokens,
             tokens > shown_tokens ? fmt::format(", the first {}", shown_tokens) : "", readable(tokenizer.decode(ids)));
  }
}

void print_lengths(const TokenFile& file) {
  const DocumentLengths lengths = document_lengths(file);
  if (file.documents() == 0) return;
  log::out("lengths      {} to {} tokens, median {}", lengths.least, lengths.most, lengths.median);
  constexpr double width = 40;
  const double most = static_cast<double>(std::ranges::max(lengths.documents));
  for (std::size_t i = 0; i < lengths.documents.size(); ++i) {
    const std::int64_t documents = lengths.documents[i];
    if (documents == 0) continue;
    const auto bar = static_cast<int>(std::ceil(static_cast<double>(documents) / most * width));
    log::out("  below {:<12} {:>12} {:#<{}}", std::int64_t{1} << i, documents, "", bar);
  }
}

void print_scan(const TokenFile& file, const std::map<std::string, std::int64_t>& special) {
  const std::int64_t width = size_of(file.type());
  DocumentScan scan;
  {
    Progress progress("scan", file.tokens() * width);
    scan = scan_documents(file, special, [&](std::int64_t tokens) { progress.advance(tokens * width); });
  }
  const std::int64_t copies = file.documents() - scan.distinct;
  log::out("duplicates   {} documents of {} have the tokens of another one", copies, file.documents());
  if (special.empty()) return;
  log::out("special      {}", scan.special.empty() ? "none of the control tokens occurs" : "");
  for (const auto& [name, count] : scan.special) log::out("  {:<20} {:>12}", readable(name), count);
}

void print(std::string_view label, const ByteEntropies& e) {
  log::out("{:<12} order 0 {:.4f}, order 1 {:.4f}, order 2 {:.4f} nats a byte", label, e.order0, e.order1, e.order2);
}

void print_split(const std::string& path, std::int64_t seq_len, double fraction) {
  const SamplerConfig config{
      .seq_len = seq_len, .global_batch = 1, .vocab_size = 256, .seed = 0, .validation_fraction = fraction};
  const Sampler sampler({{path, 1.0}}, config);
  const WindowSplit& split = sampler.order().split(0);
  log::out("samples      {} for training, {} for validation, of {} tokens", split.train(), split.validation(), seq_len);
  if (split.validation() > 0) print("  validation", *validation_entropies(sampler));
}

void remember_content(const TokenFile& file, const DataFacts& facts) {
  const std::string path = data_facts_path(file.prefix());
  if (!write_data_facts(path, file, facts)) throw not_written("octet", "--remember: " + path);
  log::out("             remembered in {}", path);
}

/// With what the sum of all ids was compared.
std::string comparison_text(const Content& content) {
  if (content.compared == content.pairs) return "as it was when they were written";
  if (content.compared == 0) return "with nothing to compare it with";
  return fmt::format("compared for {} of {} parts", content.compared, content.pairs);
}

/// Of data that are prepared or were scanned before, what is remembered, but where all tokens are read.
void print_content(const TokenFile& file, const std::optional<DataFacts>& facts, bool scan, bool remember) {
  const bool is_told = facts && facts->unknown.empty();
  const bool writes = remember && (!is_told || (scan && !facts->content));  // no sum: an older version wrote it
  if (writes) refuse_to_forget(file);
  if (scan) refuse_other_data(file);
  if (file.tokens() == 0) return;
  const Content content = read_content(file, facts, scan);
  const TokenRange& range = content.range;
  log::out("ids          {} (at token {}) to {} (at token {})", range.smallest.id, range.smallest.position,
           range.largest.id, range.largest.position);
  if (facts && facts->tokenizer) log::out("tokenizer    {}", text_of(*facts->tokenizer));
  if (scan) log::out("sum of ids   {:016x}, {}", *content.sum, comparison_text(content));
  if (!writes) return;
  // Of parts only what is true of them together: what each is made by stands beside it.
  const bool adds_sum = is_told && file.pairs().size() == 1;
  DataFacts known = adds_sum ? *facts : DataFacts{.range = range};
  known.content = content.sum;
  remember_content(file, known);
}

}  // namespace

int run_inspect(const std::vector<std::string>& arguments) {
  std::string path;
  std::int64_t seq_len = 0;
  double fraction = 0.01;
  bool remember = false, scan = false;
  std::int64_t documents = 0;
  std::string tokenizer;
  Schema schema;
  schema.add("path", path).required().help("Token files: PREFIX, PREFIX.bin or PREFIX.idx.");
  schema.add("seq_len", seq_len)
      .between(1, most_sequences)
      .help("Also count samples of this many tokens, as train.seq_len does.");
  schema.add("validation_fraction", fraction).help("The part set apart, as data.validation_fraction; needs --seq_len.");
  schema.add("documents", documents).at_least(0).help("Show so many documents as text.");
  schema.add("tokenizer", tokenizer)
      .help("What made the tokens, as octet prepare takes it; without it the copy beside the data.");
  schema.add_flag("scan", scan)
      .help(
          "Read all tokens: compare them with what was written, count control tokens, and documents that occur again.");
  schema.add_flag("remember", remember)
      .help("Write the range of ids to PATH.data.json, where it is not there yet, and with --scan their sum.");
  if (!parse_words(arguments, inspect_usage, schema, "path", 1)) return 0;
  if (seq_len == 0 && schema.find("validation_fraction")->is_set()) {
    throw usage_error("octet", "--validation_fraction needs --seq_len");
  }

  const TokenFile file(path);
  log::out("files        {}\n             {}", file.bin_path(), file.idx_path());
  log::out("documents    {} in {} sequences", file.documents(), file.sequences());
  log::out("tokens       {} of {}", file.tokens(), name_of(file.type()));
  log::out("begins       {}", beginning(file));
  const auto facts = read_data_facts(data_facts_path(file.prefix()), file);
  print_content(file, facts, scan, remember);
  print_lengths(file);
  if (documents > 0) print_documents(file, *tokenizer_of(file, facts, tokenizer), documents);
  if (scan)
    print_scan(file, facts && facts->tokenizer ? facts->tokenizer->special : std::map<std::string, std::int64_t>());
  log::out("fingerprint  {:016x}", file.fingerprint());
  if (const auto entropies = stream_entropies(file)) print("entropy", *entropies);
  if (seq_len > 0) {
    log::out("across       {:.1f} % of attention over {} tokens goes to other documents (data.document_mask)",
             100 * attention_across_documents(file, seq_len), seq_len);
  }
  if (seq_len > 0 && file.type() == TokenType::u8) print_split(path, seq_len, fraction);
  return 0;
}

}  // namespace octet
