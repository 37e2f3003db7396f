#include "jobs/octet/submit/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "src/base/error.h"
#include "src/cluster/shell_text.h"

namespace octet::submit {
namespace {

/// A file without a name: a program can write any amount into it while nobody reads.
using Scratch = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Scratch scratch(std::string_view content) {
  Scratch file(std::tmpfile(), std::fclose);
  const bool written =
      file && fwrite(content.data(), 1, content.size(), file.get()) == content.size() && std::fflush(file.get()) == 0;
  if (!written) throw internal_error("submit", "no temporary file can be written: {}", std::strerror(errno));
  std::rewind(file.get());
  return file;
}

std::string content_of(std::FILE* file) {
  std::rewind(file);
  std::string out;
  std::array<char, 4096> block{};
  for (std::size_t n = 0; (n = fread(block.data(), 1, block.size(), file)) > 0;) out.append(block.data(), n);
  return out;
}

/// posix_spawn's list of what becomes of file descriptors.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void use(std::FILE* file, int as) { posix_spawn_file_actions_adddup2(&actions_, fileno(file), as); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

ProgramResult run_program(const std::vector<std::string>& words, std::string_view input) {
  const Scratch in = scratch(input), out = scratch(""), err = scratch("");
  FileActions actions;
  actions.use(in.get(), STDIN_FILENO);
  actions.use(out.get(), STDOUT_FILENO);
  actions.use(err.get(), STDERR_FILENO);
  std::vector<std::string> own = words;
  std::vector<char*> argv;
  argv.reserve(own.size() + 1);
  for (std::string& word : own) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ);
  if (error != 0) throw internal_error("submit", "{} cannot be run: {}", command_text(words), std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = content_of(out.get()),
          .err = content_of(err.get())};
}

std::string command_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_word(word);
  }
  return out;
}

std::string run_or_throw(const std::vector<std::string>& words, std::string_view input) {
  const ProgramResult result = run_program(words, input);
  if (result.exit_code == 0) return result.out;
  throw usage_error("submit", "{} failed with exit code {}\n  it was run as: {}\n  it said: {}{}", words.at(0),
                    result.exit_code, command_text(words), result.err, result.out);
}

}  // namespace octet::submit
