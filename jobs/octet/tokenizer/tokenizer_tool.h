#pragma once

#include <string>
#include <string_view>
#include <vector>

// The subcommands of `octet tokenizer`. Each gets the arguments behind its name and returns the exit code.
namespace octet::tokenizer_tool {

int run_train(const std::vector<std::string>& arguments);
int run_encode(const std::vector<std::string>& arguments);
int run_decode(const std::vector<std::string>& arguments);
int run_info(const std::vector<std::string>& arguments);

inline constexpr std::string_view tokenizer_help =
    "bytes, a Hugging Face tokenizer.json, a rank file (.tiktoken, Llama 3's tokenizer.model), a SentencePiece model, "
    "or "
    "a folder with one";

/// All of a file, or of standard input for "-". Usage error where it cannot be read.
std::string read_input(const std::string& path);

}  // namespace octet::tokenizer_tool
