#include "jobs/train/agreed_command.h"

#include <optional>

#include "jobs/dry_run/dry_run_command.h"
#include "jobs/ranks/same_lines.h"
#include "src/base/read_file.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/read_together.h"

namespace octet {

AgreedCommand::AgreedCommand(int argc, char** argv, Watchdog& watchdog)
    : words_(argv, argv + argc), watchdog_(watchdog) {
  read();
}

const CommandLine& AgreedCommand::get() const {
  if (wrong_) std::rethrow_exception(wrong_);
  return read_;
}

void AgreedCommand::agree() {
  const auto stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*stream, "command");
  if (largest(wrong_ ? 0 : 1, *control) == 0) return;  // a mistake
  std::optional<files::ReadError> unread;
  try {
    files::ReadProgress progress;
    files::with_retries(progress, [this] { reread(); });
  } catch (const files::ReadError& error) {
    unread = error;
  }
  files::agree_on_reading(unread, *control, false);
  require_same_lines("the ranks have different configurations", option_lines(read_.config), *control);
}

void AgreedCommand::read() {
  std::vector<const char*> words;
  for (const std::string& word : words_) words.push_back(word.c_str());
  wrong_ = nullptr;
  try {
    refuse_dry_run_options(words_);
    read_ = parse_command_line(static_cast<int>(words.size()), words.data());
    const CommConfig& comm = read_.config.comm;
    watchdog_.set_limits({.start = comm.start_timeout_seconds,
                          .step = comm.timeout_seconds,
                          .checkpoint = comm.checkpoint_timeout_seconds});
  } catch (...) {
    wrong_ = std::current_exception();
  }
}

void AgreedCommand::reread() {
  if (wrong_) read();
  try {
    get();
  } catch (const Error& error) {
    throw files::ReadError("what the command names", error.what());
  }
}

}  // namespace octet
