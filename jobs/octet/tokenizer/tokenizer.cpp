// octet tokenizer: makes a tokenizer, and shows what one does; a subcommand a file.
#include <array>
#include <iostream>
#include <iterator>

#include "jobs/octet/commands.h"
#include "jobs/octet/tokenizer/tokenizer_tool.h"
#include "src/base/error.h"
#include "src/base/files.h"

namespace octet {
namespace {

constexpr std::array table{
    Command{"train", "make a vocabulary of one's own from texts, as a tokenizer.json", tokenizer_tool::run_train},
    Command{"encode", "the ids of a text", tokenizer_tool::run_encode},
    Command{"decode", "the text of ids", tokenizer_tool::run_decode},
    Command{"info", "what a tokenizer is: kind, vocabulary, special tokens, fingerprint", tokenizer_tool::run_info},
};

}  // namespace

int run_tokenizer(const std::vector<std::string>& arguments) {
  return run_group("tokenizer", table, "A TOKENIZER is what\n`octet prepare --tokenizer` takes.", arguments);
}

std::string tokenizer_tool::read_input(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return given_text("octet", path);
}

}  // namespace octet
