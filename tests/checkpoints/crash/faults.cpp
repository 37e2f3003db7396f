// Loaded before libc (LD_PRELOAD) into a process that writes checkpoints: counts the calls of its write path on files
// under one folder and lets one of them, or all from one on, go wrong. Everything else passes untouched.
//   OCTET_FAULT_ROOT   the folder, absolute
//   OCTET_FAULT        KIND:K, with K from 1; none: only count
//                        kill    SIGKILL in place of the K-th call        torn   the K-th call, if a write, half;
//                        SIGKILL short   the K-th call, if a write, writes half   enospc, erofs, eio   from K on
//                        zero    from K on a write writes nothing and gives no reason
//   OCTET_FAULT_NO_EXCHANGE  set: the file system cannot exchange two names
//   OCTET_FAULT_COUNT  file that gets the number of calls at the end
//   OCTET_FAULT_TRACE  file that gets every call with its data (crash/replay.h reads it), and what goes to standard
//                      output as marks
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

enum class Kind { none, kill, torn, brief, enospc, erofs, eio, zero };

/// What a call does, for the question which errors it can meet.
enum class Call { open, create, write, truncate, sync, rename, mkdir, remove, close };

struct Settings {
  std::string root;
  Kind kind = Kind::none;
  long at = 0;
  std::string count_file;
  int trace = -1;
};

void put(int file, const void* data, std::size_t bytes) {
  (void)!syscall(SYS_write, file, data, bytes);  // not through ourselves
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Settings read_settings() {
  Settings s;
  s.root = variable("OCTET_FAULT_ROOT");
  s.count_file = variable("OCTET_FAULT_COUNT");
  const std::string fault = variable("OCTET_FAULT"), trace = variable("OCTET_FAULT_TRACE");
  const std::string kind = fault.substr(0, fault.find(':'));
  const std::array<const char*, 8> names{"", "kill", "torn", "short", "enospc", "erofs", "eio", "zero"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (kind == names[i]) s.kind = static_cast<Kind>(i);
  }
  if (s.kind != Kind::none) s.at = std::atol(fault.c_str() + kind.size() + 1);
  if (!trace.empty()) {
    s.trace = static_cast<int>(syscall(SYS_openat, AT_FDCWD, trace.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666));
  }
  return s;
}

const Settings& settings() {
  static const Settings s = read_settings();
  return s;
}

std::atomic<long> calls{0};
std::array<std::atomic<bool>, 1024> watched{};  // by file descriptor
std::mutex trace_mutex;

template <typename F>
F real(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool is_inside(const char* path) {
  const std::string& root = settings().root;
  return !root.empty() && std::strncmp(path, root.c_str(), root.size()) == 0;
}
bool is_watched(int file) {
  return file >= 0 && static_cast<std::size_t>(file) < watched.size() && watched[static_cast<std::size_t>(file)];
}
void watch(int file, bool on) {
  if (file >= 0 && static_cast<std::size_t>(file) < watched.size()) watched[static_cast<std::size_t>(file)] = on;
}

bool can_fail(Kind kind, Call call) {
  switch (kind) {
    case Kind::enospc:
      return call == Call::create || call == Call::write || call == Call::sync || call == Call::mkdir ||
             call == Call::rename;
    case Kind::erofs:
      return call != Call::open && call != Call::sync && call != Call::close;
    case Kind::eio:
      return true;
    case Kind::zero:
      return call == Call::write;
    default:
      return false;
  }
}

int errno_of(Kind kind) {
  return kind == Kind::enospc ? ENOSPC : kind == Kind::erofs ? EROFS : EIO;
}

/// What is to happen to this call.
struct Verdict {
  bool fails = false;
  bool half = false;  ///< of a write
  bool dies = false;  ///< after that
};

Verdict count(Call call) {
  const Settings& s = settings();
  const long n = ++calls;
  if (s.kind == Kind::kill && n == s.at) std::raise(SIGKILL);
  Verdict v;
  v.half = (s.kind == Kind::torn || s.kind == Kind::brief) && n == s.at && call == Call::write;
  v.dies = s.kind == Kind::torn && n == s.at;
  v.fails = s.at > 0 && n >= s.at && can_fail(s.kind, call);
  if (v.dies && !v.half) std::raise(SIGKILL);
  if (v.fails && s.kind != Kind::zero) errno = errno_of(s.kind);
  return v;
}

/// One record: a line of words, then `bytes` of data. Paths have no spaces in the tests.
void trace(const std::string& words, const void* data = nullptr, std::size_t bytes = 0) {
  const int file = settings().trace;
  if (file < 0) return;
  const std::lock_guard lock(trace_mutex);
  const std::string line = words + " " + std::to_string(bytes) + "\n";
  put(file, line.data(), line.size());
  put(file, data, bytes);
}

template <typename Open>
int opened(const char* path, int flags, const Open& open_it) {
  constexpr int writes = O_WRONLY | O_RDWR | O_CREAT | O_DIRECTORY;
  if (!is_inside(path) || (flags & writes) == 0) {
    const int file = open_it();
    watch(file, false);
    return file;
  }
  if (count((flags & O_CREAT) != 0 ? Call::create : Call::open).fails) return -1;
  const int file = open_it();
  watch(file, file >= 0);
  if (file >= 0) {
    const std::string made = (flags & O_CREAT) != 0 ? "1 " : "0 ";
    trace("open " + std::to_string(file) + " " + made + ((flags & O_TRUNC) != 0 ? "1 " : "0 ") + path);
  }
  return file;
}

using Write = ssize_t (*)(int, const void*, size_t);
using PositionedWrite = ssize_t (*)(int, const void*, size_t, off_t);

/// `offset` is -1 for where the file stands.
template <typename Do>
ssize_t written(int file, const void* data, size_t bytes, off_t offset, const Do& write_it) {
  const Verdict v = count(Call::write);
  if (v.fails) return settings().kind == Kind::zero ? 0 : -1;
  const ssize_t n = write_it(v.half ? (bytes + 1) / 2 : bytes);
  if (v.dies) std::raise(SIGKILL);
  if (n > 0) {
    trace("write " + std::to_string(file) + " " + std::to_string(offset), data, static_cast<std::size_t>(n));
  }
  return n;
}

ssize_t positioned(const char* name, int file, const void* data, size_t bytes, off_t offset) {
  const auto next = real<PositionedWrite>(name);
  if (!is_watched(file)) return next(file, data, bytes, offset);
  return written(file, data, bytes, offset, [&](size_t n) { return next(file, data, n, offset); });
}

/// Calls of a descriptor without data.
template <typename Do>
int on_file(Call call, int file, const std::string& words, const Do& do_it) {
  if (!is_watched(file)) return do_it();
  if (count(call).fails) return -1;
  const int result = do_it();
  if (result == 0) trace(words);
  return result;
}

/// What `name` means in an open folder.
std::string path_in(int folder, const char* name) {
  if (folder == AT_FDCWD || name[0] == '/') return name;
  std::array<char, PATH_MAX> text;
  const std::string link = "/proc/self/fd/" + std::to_string(folder);
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  return size < 0 ? name : std::string(text.data(), static_cast<std::size_t>(size)) + "/" + name;
}

/// Calls of paths.
template <typename Do>
int on_path(Call call, const char* path, const std::string& words, const Do& do_it) {
  if (!is_inside(path)) return do_it();
  if (count(call).fails) return -1;
  const int result = do_it();
  if (result == 0) trace(words);
  return result;
}

__attribute__((destructor)) void tell_count() {
  const Settings& s = settings();
  if (s.count_file.empty()) return;
  const long file = syscall(SYS_openat, AT_FDCWD, s.count_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const std::string text = std::to_string(calls);
  put(static_cast<int>(file), text.data(), text.size());
}

}  // namespace

extern "C" {

#define OCTET_OPEN(name)                                                                   \
  int name(const char* path, int flags, ...) {                                             \
    va_list list;                                                                          \
    va_start(list, flags);                                                                 \
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0; \
    va_end(list);                                                                          \
    const auto next = real<int (*)(const char*, int, ...)>(#name);                         \
    return opened(path, flags, [&] { return next(path, flags, mode); });                   \
  }
OCTET_OPEN(open)
OCTET_OPEN(open64)

ssize_t write(int file, const void* data, size_t bytes) {
  const auto next = real<Write>("write");
  if (file == STDOUT_FILENO) trace("mark", data, bytes);
  if (!is_watched(file)) return next(file, data, bytes);
  return written(file, data, bytes, -1, [&](size_t n) { return next(file, data, n); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return positioned("pwrite", file, data, bytes, offset);
}
ssize_t writev(int file, const iovec* parts, int count) {
  const auto next = real<ssize_t (*)(int, const iovec*, int)>("writev");
  if (!is_watched(file)) return next(file, parts, count);
  return ::write(file, parts[0].iov_base, parts[0].iov_len);  // a part may be all that is written
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  return positioned("pwrite64", file, data, bytes, offset);
}

#define OCTET_TRUNCATE(name)                                                                               \
  int name(int file, off_t bytes) noexcept {                                                               \
    return on_file(Call::truncate, file, "truncate " + std::to_string(file) + " " + std::to_string(bytes), \
                   [&] { return real<int (*)(int, off_t)>(#name)(file, bytes); });                         \
  }
OCTET_TRUNCATE(ftruncate)
OCTET_TRUNCATE(ftruncate64)

#define OCTET_SYNC(name)                                                                                               \
  int name(int file) {                                                                                                 \
    return on_file(Call::sync, file, "sync " + std::to_string(file), [&] { return real<int (*)(int)>(#name)(file); }); \
  }
OCTET_SYNC(fsync)
OCTET_SYNC(fdatasync)

int close(int file) {
  const auto next = real<int (*)(int)>("close");
  if (!is_watched(file)) return next(file);
  const Verdict v = count(Call::close);
  watch(file, false);
  trace("close " + std::to_string(file));
  const int result = next(file);  // also when it fails, the descriptor is gone
  if (v.fails) errno = errno_of(settings().kind);
  return v.fails ? -1 : result;
}

int rename(const char* from, const char* to) noexcept {
  return on_path(Call::rename, from, std::string("rename ") + from + " " + to,
                 [&] { return real<int (*)(const char*, const char*)>("rename")(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned int flags) noexcept {
  const bool exchanges = (flags & RENAME_EXCHANGE) != 0;
  const std::string words = exchanges ? "exchange " : "rename ";
  if (exchanges && is_inside(from) && !variable("OCTET_FAULT_NO_EXCHANGE").empty()) {
    errno = EINVAL;
    return -1;
  }
  return on_path(Call::rename, from, words + from + " " + to, [&] {
    return real<int (*)(int, const char*, int, const char*, unsigned int)>("renameat2")(from_folder, from, to_folder,
                                                                                        to, flags);
  });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return on_path(Call::mkdir, path, std::string("mkdir ") + path,
                 [&] { return real<int (*)(const char*, mode_t)>("mkdir")(path, mode); });
}
int unlink(const char* path) noexcept {
  return on_path(Call::remove, path, std::string("remove ") + path,
                 [&] { return real<int (*)(const char*)>("unlink")(path); });
}
int rmdir(const char* path) noexcept {
  return on_path(Call::remove, path, std::string("remove ") + path,
                 [&] { return real<int (*)(const char*)>("rmdir")(path); });
}
// With these two the standard library removes folders and what is in them.
int remove(const char* path) noexcept {
  return on_path(Call::remove, path, std::string("remove ") + path,
                 [&] { return real<int (*)(const char*)>("remove")(path); });
}
int unlinkat(int folder, const char* name, int flags) noexcept {
  const std::string path = path_in(folder, name);
  return on_path(Call::remove, path.c_str(), "remove " + path,
                 [&] { return real<int (*)(int, const char*, int)>("unlinkat")(folder, name, flags); });
}

}  // extern "C"
