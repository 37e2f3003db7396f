#include "src/base/log.h"

#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/printable.h"

namespace octet::log {
namespace {

struct Identity {
  int rank = 0;
  int ranks = 1;
  std::string host;
};
Identity& self() {
  static Identity identity;
  return identity;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto l = spdlog::stderr_color_mt("octet");
    l->set_pattern("%Y-%m-%d %H:%M:%S %^%L%$ %v");
    l->flush_on(spdlog::level::info);
    return l;
  }();
  return *instance;
}

/// All lines but those of write_error_at_once go through here. Control characters come with quoted text and are spelled
/// out, except line breaks: quoted text that must have none is put into a message by readable().
void put(spdlog::level::level_enum level, std::string_view text) {
  logger().log(level, "{}", printable(text));
}

std::string with_rank(std::string_view text) {
  const Identity& me = self();
  return me.ranks > 1 ? fmt::format("[rank {} {}] {}", me.rank, me.host, text) : std::string(text);
}

std::string prefixed(std::string_view text) {
  return self().rank != 0 ? with_rank(text) : std::string(text);
}

/// The warnings that wait until they are told once for all ranks that have them.
struct Shared {
  std::mutex mutex;
  bool kept = false;
  std::vector<std::string> texts;
};
Shared& shared() {
  static Shared instance;
  return instance;
}

}  // namespace

void set_identity(int rank, int ranks, std::string host) {
  self() = {rank, ranks, std::move(host)};
}
int rank() {
  return self().rank;
}

const char* host() {
  if (!self().host.empty()) return self().host.c_str();
  static const auto machine = [] {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name;
  }();
  return machine.data();
}

std::string identity() {
  const Identity& me = self();
  return me.ranks > 1 ? fmt::format("rank {} of {} on {}", me.rank, me.ranks, me.host) : std::string();
}

void write_info(std::string_view text) {
  if (self().rank == 0) put(spdlog::level::info, text);
}
void write_warning(std::string_view text) {
  put(spdlog::level::warn, prefixed(text));
}
void write_error(std::string_view text) {
  for (const std::string& waiting : SharedWarnings::take()) write_warning(waiting);
  put(spdlog::level::err, prefixed(text));
}

void write_shared_warning(std::string_view text) {
  Shared& s = shared();
  {
    const std::scoped_lock lock(s.mutex);
    if (s.kept) {
      if (std::ranges::find(s.texts, text) == s.texts.end()) s.texts.emplace_back(text);
      return;
    }
  }
  write_warning(text);
}

SharedWarnings::SharedWarnings() {
  Shared& s = shared();
  const std::scoped_lock lock(s.mutex);
  if (s.kept) throw internal_error("base", "shared warnings are kept already; expected one keeper at a time");
  s.kept = true;
}

SharedWarnings::~SharedWarnings() {
  Shared& s = shared();
  const std::scoped_lock lock(s.mutex);
  s.kept = false;
  for (const std::string& text : std::exchange(s.texts, {})) write_warning(text);
}

bool SharedWarnings::any() {
  Shared& s = shared();
  const std::scoped_lock lock(s.mutex);
  return !s.texts.empty();
}

std::vector<std::string> SharedWarnings::take() {
  Shared& s = shared();
  const std::scoped_lock lock(s.mutex);
  return std::exchange(s.texts, {});
}

namespace {

/// Masks what printable() would spell out, since there may be no memory for that: each such byte becomes a question
/// mark. Bytes that are not UTF-8 stay.
void mask(char* text, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 ? byte != '\n' && byte != '\t' : byte == 0x7F) text[i] = '?';
    if (byte != 0xC2 || i + 1 == size || static_cast<unsigned char>(text[i + 1]) >= 0xA0) continue;
    text[i] = text[i + 1] = '?';  // U+0080 to U+009F
  }
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): fmt checks the format at compile time, and no memory is asked for
void write_error_at_once(std::string_view text) noexcept {
  std::array<char, 4096> line;  // a pipe that poll() calls writable takes so much at once
  const auto put =
      fmt::format_to_n(line.data(), line.size() - 1, "E [rank {} {}] {}", self().rank, host(), text.substr(0, 4000));
  const std::size_t length = std::min(put.size, line.size() - 1);
  mask(line.data(), length);
  line[length] = '\n';
  pollfd out{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 1000) <= 0) return;
  [[maybe_unused]] const bool written = write_all(STDERR_FILENO, {line.data(), length + 1});
}

void write_of_rank(Level level, std::string_view text) {
  if (level == Level::error) {
    for (const std::string& waiting : SharedWarnings::take()) write_warning(waiting);
  }
  constexpr spdlog::level::level_enum levels[] = {spdlog::level::info, spdlog::level::warn, spdlog::level::err};
  put(levels[static_cast<int>(level)], with_rank(text));
}

// What a full disk does not take stays in the stream's buffer and is written with a later line. That is no reason to
// end a run; a program whose output is its result exits through after_output().
void write_out(std::string_view text) {
  if (self().rank != 0) return;
  const std::string line = printable(text) + "\n";
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
  static bool told = false;
  if (written || std::exchange(told, true)) return;
  write_warning(fmt::format("standard output does not take what is printed: {}", std::strerror(errno)));
}

int after_output(int code) {
  FileHandle copy(::dup(STDOUT_FILENO));  // closing it shows the error that the last close would have
  const bool flushed = std::fflush(stdout) == 0 && (!copy || close_file(copy));
  if (flushed && std::ferror(stdout) == 0) return code;
  write_error(fmt::format("standard output did not take all that was printed{}{}", flushed ? "" : ": ",
                          flushed ? "" : std::strerror(errno)));
  return static_cast<int>(ExitCode::internal);
}

}  // namespace octet::log
