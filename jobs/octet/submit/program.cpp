#include "jobs/octet/submit/program.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "src/base/environment.h"
#include "src/cluster/shell_text.h"

namespace octet::submit {

std::string find_program(const std::string& name) {
  for (const std::string& folder : folders_of_list(environment_variable("PATH"))) {
    std::string file = fmt::format("{}/{}", folder, name);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string why_no_slurm_conf() {
  const char* conf = std::getenv("SLURM_CONF");
  std::error_code unknown;
  if (conf == nullptr || *conf == '\0' || std::filesystem::exists(conf, unknown)) return "";
  return fmt::format("SLURM_CONF is \"{}\", where there is no file; expected Slurm's configuration, or no SLURM_CONF",
                     conf);
}

std::string command_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_word(word);
  }
  return out;
}

std::string ending(const ProgramResult& result, const std::string& program) {
  if (!result.found || result.timed_out) return result.failure(program);
  return fmt::format("{} ended with {}", program, result.exit_code);
}

std::string run_or_throw(const std::vector<std::string>& words) {
  if (const std::string why = why_no_slurm_conf(); !why.empty()) throw usage_error("submit", "{}", why);
  const ProgramResult result = run_program(words, slurm_patience);
  if (result.succeeded()) return result.out;
  std::string said = result.err + result.out;
  said.erase(said.find_last_not_of('\n') + 1);
  throw usage_error("submit", "{}\n  it was run as: {}\n  it said: {}", ending(result, words.at(0)),
                    command_text(words), said);
}

double onlooker_patience() {
  const char* for_tests = std::getenv("OCTET_TEST_SLURM_SECONDS");
  const double seconds = for_tests == nullptr ? 0 : std::atof(for_tests);
  return seconds > 0 ? seconds : 15;
}

SlurmAnswer ask_controller(const std::vector<std::string>& words, double seconds) {
  if (std::string why = why_no_slurm_conf(); !why.empty()) return {"", std::move(why), ExitCode::usage};
  const ProgramResult result = run_program(words, seconds);
  if (result.succeeded()) return {.out = result.out};
  return {"", result.failure(words.at(0)), result.found ? ExitCode::internal : ExitCode::usage};
}

}  // namespace octet::submit
