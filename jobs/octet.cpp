// octet: the toolkit around a training run, one subcommand a file in jobs/octet/.
#include <fmt/format.h>

#include <boost/program_options/errors.hpp>
#include <string_view>

#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {
namespace {

void print_help() {
  fmt::print("octet {}: tools around float8 pre-training of Llama models\n\nusage: octet COMMAND [OPTIONS]\n\n",
             OCTET_VERSION);
  for (const Command& command : commands()) fmt::print("  {:<10} {}\n", command.name, command.help);
  fmt::print("\n\"octet COMMAND --help\" explains a command. Training itself is octet-train.\n");
}

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name.empty()) throw usage_error("octet", "which command? \"octet --help\" lists them");
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  if (name == "--version") {
    fmt::print("octet {}\n", OCTET_VERSION);
    return 0;
  }
  for (const Command& command : commands()) {
    if (command.name == name) return command.run({argv + 2, argv + argc});
  }
  throw usage_error("octet", "unknown command \"{}\"; did you mean \"{}\"? \"octet --help\" lists all", name,
                    nearest_command(name));
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  using octet::ExitCode;
  try {
    return octet::dispatch(argc, argv);
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const boost::program_options::error& error) {
    octet::log::error("[octet] {}; --help lists the options", error.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    octet::log::error("[octet] {}", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
