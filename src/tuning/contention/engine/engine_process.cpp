#include "src/tuning/contention/engine/engine_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <string>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/installation.h"
#include "src/base/is_there.h"
#include "src/tuning/contention/engine/engine.h"

namespace octet {
namespace {

/// What the child writes: a kind, a size, and so many bytes.
enum class Kind : std::int64_t { progress, result, failure };
struct Header {
  Kind kind = Kind::failure;
  std::int64_t bytes = 0;
};

/// Beside the programs of a build, or in lib/octet of an installation.
std::string library_path() {
  for (const char* folder : {"lib", "lib/octet"}) {
    std::string path = beside_programs(folder) / engine_library;
    if (is_there(path)) return path;
  }
  throw usage_error("tuning",
                    "{} is not in {}: this installation was made without the simulator (SimGrid); build Octet "
                    "from source, with the packages of jobs/install-packages.sh",
                    engine_library, beside_programs("lib").string());
}

/// False at the end of the file.
bool read_all(int file, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send(int file, Kind kind, const void* data, std::size_t bytes) {
  const Header header{kind, static_cast<std::int64_t>(bytes)};
  return write_all(file, &header, sizeof header) && write_all(file, data, bytes);
}

RunEngine* load_engine(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, engine_function);
  if (function == nullptr) {
    throw usage_error("tuning", "{}; SimGrid comes with the packages of jobs/install-packages.sh", dlerror());
  }
  return reinterpret_cast<RunEngine*>(function);
}

/// The child: no return, no destructors of what the parent has.
[[noreturn]] void serve(int file, const std::string& library, const Traffic& traffic) {
  try {
    std::vector<double> finish_us;
    double arrived = 0, told = 0, total = 0;
    for (const Lane& lane : traffic.lanes) total += lane.bytes * lane.steps;
    const std::function<void(double)> progress = [&](double bytes) {
      arrived += bytes;
      if (arrived - told < total / 200) return;
      const std::int64_t news = std::llround(arrived - told);
      told = arrived;
      if (!send(file, Kind::progress, &news, sizeof news)) _exit(1);  // the parent is gone
    };
    EngineRun run{traffic, finish_us, progress};
    load_engine(library)(run);
    send(file, Kind::result, finish_us.data(), finish_us.size() * sizeof(double));
  } catch (const std::exception& error) {
    send(file, Kind::failure, error.what(), std::strlen(error.what()));
  }
  _exit(0);
}

struct Answer {
  std::vector<double> finish_us;
  std::string failure;
  bool is_whole = false;
};

Answer read_answer(int file, const std::function<void(std::int64_t)>& progress) {
  Answer answer;
  for (Header header; !answer.is_whole && read_all(file, &header, sizeof header);) {
    const auto bytes = static_cast<std::size_t>(header.bytes);
    if (header.kind == Kind::progress) {
      std::int64_t news = 0;
      if (!read_all(file, &news, sizeof news)) break;
      if (progress) progress(news);
    } else if (header.kind == Kind::result) {
      answer.finish_us.resize(bytes / sizeof(double));
      answer.is_whole = read_all(file, answer.finish_us.data(), bytes);
    } else {
      answer.failure.resize(bytes);
      answer.is_whole = read_all(file, answer.failure.data(), bytes);
    }
  }
  return answer;
}

/// A forked process. Waits for its end.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { wait(); }

  std::string wait() {
    while (id_ > 0 && waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    if (WIFSIGNALED(status_)) return fmt::format("signal {}", WTERMSIG(status_));
    return fmt::format("exit code {}", WEXITSTATUS(status_));
  }

 private:
  pid_t id_;
  int status_ = 0;
};

}  // namespace

std::vector<double> run_engine(const Traffic& traffic, const std::function<void(std::int64_t)>& progress) {
  const std::string library = library_path();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw internal_error("tuning", "no pipe to the simulator: {}", std::strerror(errno));
  FileHandle output(ends[1]);
  const pid_t id = fork();
  if (id == 0) {
    ::close(ends[0]);  // else it would be the reader itself and never find out that its parent has stopped reading
    serve(output.get(), library, traffic);
  }
  Child child(id);
  FileHandle input(ends[0]);  // closed before the child is waited for: one that still writes ends
  if (id < 0) throw internal_error("tuning", "no process for the simulator: {}", std::strerror(errno));
  output.reset();
  Answer answer = read_answer(input.get(), progress);
  const std::string end = child.wait();
  if (!answer.failure.empty()) throw internal_error("tuning", "simulator: {}", answer.failure);
  if (!answer.is_whole) throw internal_error("tuning", "the simulator ended early: {}", end);
  return std::move(answer.finish_us);
}

}  // namespace octet
