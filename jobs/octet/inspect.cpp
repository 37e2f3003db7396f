#include <algorithm>
#include <cctype>

#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/data/data_facts.h"
#include "src/data/entropy.h"
#include "src/data/sampler.h"
#include "src/train/run/token_ranges.h"

namespace octet {
namespace po = boost::program_options;
namespace {

constexpr std::string_view usage =
    "usage: octet inspect PATH [OPTIONS]\n\n"
    "Checks the token files PATH.bin and PATH.idx and prints what they hold: documents, tokens, the first text,\n"
    "the fingerprint that resuming compares, and, for byte tokens, the entropies of orders 0, 1 and 2 in nats:\n"
    "what a model scores that knows byte frequencies, pairs or triples, and nothing else. Give the run's\n"
    "--seq_len and --validation_fraction to have them for its validation split too. The smallest and the largest\n"
    "id are found too; --remember writes them to PATH.data.json, so that no run has to scan the data for them.\n";

/// The first tokens as a person can read them: printable characters, escapes for the rest, ids when not bytes.
std::string beginning(const TokenFile& file) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(file.tokens(), 64)));
  file.read(0, ids, std::int64_t{1} << 31);
  std::string text;
  for (const std::int32_t id : ids) {
    if (file.type() != TokenType::u8) {
      text += fmt::format("{} ", id);
    } else if (std::isprint(id) != 0) {
      text += static_cast<char>(id);
    } else {
      text += id == '\n' ? "\\n" : fmt::format("\\x{:02x}", id);
    }
  }
  return text;
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

/// Of data that are prepared or were scanned before, what is remembered.
void print_range(const TokenFile& file, bool remember) {
  const std::string path = data_facts_path(file.prefix());
  const auto facts = read_data_facts(path, file);
  const TokenRange range = facts ? facts->range : scan_tokens(file);
  if (range.is_empty()) return;
  log::out("ids          {} (at token {}) to {} (at token {})", range.smallest.id, range.smallest.position,
           range.largest.id, range.largest.position);
  if (facts) {
    if (facts->tokenizer) log::out("tokenizer    {}", text_of(*facts->tokenizer));
    return;
  }
  if (!remember) return;
  if (!write_data_facts(path, file, {.range = range})) throw not_written("octet", "--remember: " + path);
  log::out("             remembered in {}", path);
}

}  // namespace

int run_inspect(const std::vector<std::string>& arguments) {
  std::string path;
  std::int64_t seq_len = 0;
  double fraction = 0.01;
  bool remember = false;
  po::options_description described("options");
  described.add_options()                                                                                //
      ("path", po::value(&path)->required(), "token files: PREFIX, PREFIX.bin or PREFIX.idx")            //
      ("seq_len", po::value(&seq_len), "also count samples of this many tokens, as train.seq_len does")  //
      ("validation_fraction", po::value(&fraction)->default_value(fraction, "0.01"),
       "the part set apart, as data.validation_fraction; needs --seq_len")  //
      ("remember", po::bool_switch(&remember), "write the range of ids to PATH.data.json, where it is not there yet");
  const auto values = parse_arguments(arguments, usage, described, "path", 1);
  if (!values) return 0;
  if (values->contains("seq_len") && seq_len < 1) {
    throw usage_error("octet", "--seq_len is {}; expected at least 1", seq_len);
  }
  if (!values->contains("seq_len") && !(*values)["validation_fraction"].defaulted()) {
    throw usage_error("octet", "--validation_fraction needs --seq_len");
  }

  const TokenFile file(path);
  log::out("files        {}\n             {}", file.bin_path(), file.idx_path());
  log::out("documents    {} in {} sequences", file.documents(), file.sequences());
  log::out("tokens       {} of {}", file.tokens(), name_of(file.type()));
  log::out("begins       {}", beginning(file));
  print_range(file, remember);
  log::out("fingerprint  {:016x}", file.fingerprint());
  if (const auto entropies = stream_entropies(file)) print("entropy", *entropies);
  if (seq_len > 0 && file.type() == TokenType::u8) print_split(path, seq_len, fraction);
  return 0;
}

}  // namespace octet
