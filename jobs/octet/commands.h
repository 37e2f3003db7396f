#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/options/schema.h"

namespace octet {

/// A subcommand of `octet`. `run` gets the arguments behind the command's name and returns the exit code.
struct Command {
  std::string_view name;
  std::string_view help;  ///< one line
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Command> commands();
/// "; nearest: NAME", of the command that may have been meant; empty: none.
std::string nearest_command(std::string_view name);

/// Reads a subcommand's words into the fields of its options. Words that belong to no option are values of the option
/// `positional`, at most so many (-1: any number). False after --help, which prints `usage` and the options: there is
/// nothing to do, then. Throws Error for options that are unknown or missing, or whose values are wrong.
bool parse_words(const std::vector<std::string>& arguments, std::string_view usage, Schema& options,
                 const std::string& positional = "", int most = 0);

/// A command that has subcommands, `octet NAME COMMAND`: help, a usage error with the nearest name, or the subcommand's
/// exit code. `closing`: the last lines of --help.
int run_group(std::string_view name, std::span<const Command> table, std::string_view closing,
              const std::vector<std::string>& arguments);

int run_prepare(const std::vector<std::string>& arguments);
int run_inspect(const std::vector<std::string>& arguments);
int run_checkpoint(const std::vector<std::string>& arguments);
int run_doctor(const std::vector<std::string>& arguments);
int run_generate(const std::vector<std::string>& arguments);
int run_job(const std::vector<std::string>& arguments);
int run_report(const std::vector<std::string>& arguments);
int run_submit(const std::vector<std::string>& arguments);
int run_tokenizer(const std::vector<std::string>& arguments);
int run_tune(const std::vector<std::string>& arguments);

}  // namespace octet
