#include <algorithm>

#include "jobs/octet/commands.h"
#include "jobs/octet/tokenizer/tokenizer_tool.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet::tokenizer_tool {
namespace {

constexpr std::string_view info_usage =
    "usage: octet tokenizer info TOKENIZER\n\n"
    "Prints what a tokenizer is: its kind, the size of its vocabulary, bos and eos, its special tokens, and the\n"
    "fingerprint by which data, checkpoints and exports name it.\n";

std::string id_text(const std::optional<std::int32_t>& id, const Tokenizer& tokenizer) {
  return id ? fmt::format("{}  {}", *id, tokenizer.info().kind == "bytes" ? "" : readable(tokenizer.decode({&*id, 1})))
            : "none";
}

void print_special(const TokenizerInfo& info) {
  constexpr std::size_t most = 16;
  log::out("special      {}", info.special.size());
  for (std::size_t i = 0; i < std::min(info.special.size(), most); ++i) {
    log::out("  {:>8}  {}", info.special[i].id, readable(info.special[i].text));
  }
  if (info.special.size() > most) log::out("  and {} more", info.special.size() - most);
}

}  // namespace

int run_info(const std::vector<std::string>& arguments) {
  std::string name;
  Schema schema;
  schema.add("tokenizer", name).required().help(std::string(tokenizer_help));
  if (!parse_words(arguments, info_usage, schema, "tokenizer", 1)) return 0;
  const auto tokenizer = make_tokenizer(name, {});
  const TokenizerInfo& info = tokenizer->info();
  log::out("kind         {}", info.kind);
  if (!info.path.empty()) log::out("file         {}", readable(info.path));
  log::out("fingerprint  {:016x}", info.fingerprint);
  log::out("vocabulary   {} ids", info.vocab_size);
  log::out("bos          {}", id_text(info.bos, *tokenizer));
  log::out("eos          {}", id_text(info.eos, *tokenizer));
  print_special(info);
  return 0;
}

}  // namespace octet::tokenizer_tool
