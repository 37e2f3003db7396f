#include <charconv>
#include <iostream>

#include "jobs/octet/commands.h"
#include "jobs/octet/tokenizer/tokenizer_tool.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/corpus/file_format.h"
#include "src/corpus/utf8.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet::tokenizer_tool {
namespace {

constexpr std::string_view encode_usage =
    "usage: octet tokenizer encode TOKENIZER [FILE] [OPTIONS]\n\n"
    "Prints the ids of a text, which is one document: that of FILE, of --text, or of standard input. Neither bos nor\n"
    "eos is added.\n";
constexpr std::string_view decode_usage =
    "usage: octet tokenizer decode TOKENIZER [ID...]\n\n"
    "Prints the text of ids, or of the ids on standard input where none is given: byte by byte as it is, but on a\n"
    "terminal with control characters spelled out. Ids stand apart by white space or commas.\n";

/// As a person can read it, and as nothing else could be: a backslash is doubled.
std::string visible(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += c == '\\' ? "\\\\" : std::string(1, c);
  return readable(text);
}

std::vector<std::int32_t> ids_of(std::string_view text) {
  std::vector<std::int32_t> ids;
  constexpr std::string_view between = " \t\r\n,[]";
  for (std::size_t at = text.find_first_not_of(between); at != std::string_view::npos;) {
    const std::string_view word = text.substr(at, text.find_first_of(between, at) - at);
    std::int32_t id = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failed != std::errc() || end != word.data() + word.size()) {
      throw usage_error("octet", "tokenizer decode: \"{}\" is no token id; expected whole numbers", word.substr(0, 40));
    }
    ids.push_back(id);
    at = text.find_first_not_of(between, at + word.size());
  }
  return ids;
}

/// `name`: of the file that the text is from.
void expect_text(const Tokenizer& tokenizer, std::string_view text, const std::string& name) {
  if (const Packing packing = packing_by_content(text, name); packing != Packing::none) {
    throw usage_error("octet", "tokenizer encode: {} is packed with {}; unpack it first", name, name_of(packing));
  }
  const auto refuse = [&](std::size_t at, const std::string& why) {
    throw usage_error("octet", "tokenizer encode: byte {} at offset {} is {}", static_cast<unsigned char>(text[at]), at,
                      why);
  };
  if (const auto bad = tokenizer.find_refused(text)) {
    refuse(*bad, fmt::format("not text for the {} tokenizer", tokenizer.info().kind));
  }
  if (const auto bad = tokenizer.needs_utf8() ? find_bad_utf8(text) : std::nullopt) {
    refuse(*bad, "no UTF-8; octet prepare --bad-utf8 replace takes such text");
  }
}

}  // namespace

int run_encode(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  std::string text;
  TokenizerOptions options;
  bool pieces = false;
  Schema schema;
  schema.add("tokenizer", words).required().several().help(std::string(tokenizer_help));
  schema.add("text", text).help("The text itself, instead of a FILE.");
  schema.add_flag("pieces", pieces).help("A line for each id, with the text that it stands for.");
  schema.add_flag("control-tokens", options.control_tokens).help("Text that spells a control token is that token.");
  if (!parse_words(arguments, encode_usage, schema, "tokenizer", 2)) return 0;
  std::string name = "--text";
  if (!schema.find("text")->is_set()) {
    name = words.size() > 1 ? words[1] : "-";
    text = read_input(name);
    if (name == "-") name = "standard input";
  } else if (words.size() > 1) {
    throw usage_error("octet", "tokenizer encode: give a FILE or --text, not both");
  }
  const auto tokenizer = make_tokenizer(words[0], options);
  expect_text(*tokenizer, text, name);
  std::vector<std::int32_t> ids;
  tokenizer->make_encoder()->encode(text, ids);
  if (pieces) {
    for (const std::int32_t id : ids) log::out("{:>8}  {}", id, visible(tokenizer->decode({&id, 1})));
  } else {
    log::out("{}", fmt::join(ids, " "));
  }
  return 0;
}

int run_decode(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  Schema schema;
  schema.add("tokenizer", words).required().several().help(std::string(tokenizer_help));
  if (!parse_words(arguments, decode_usage, schema, "tokenizer", -1)) return 0;
  const auto tokenizer = make_tokenizer(words[0], {});
  const std::string ids =
      words.size() > 1 ? fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " ")) : read_input("-");
  std::cout << printable_on_terminal(tokenizer->decode(ids_of(ids)));
  return 0;
}

}  // namespace octet::tokenizer_tool
