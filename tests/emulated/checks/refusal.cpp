// How a check ends a kernel, and the line that it names.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {
namespace {

/// From "/a/b.cuh:12 (discriminator 2)" to "b.cuh:12".
std::string short_name(std::string line) {
  if (const auto end = line.find_first_of(" \n"); end != std::string::npos) line.resize(end);
  if (const auto folder = line.rfind('/'); folder != std::string::npos) line.erase(0, folder + 1);
  return line.find('?') == std::string::npos ? line : "";
}

/// By addr2line (binutils), where the machine has it: the line of an instruction and those that it was inlined into.
std::string line_of(const void* from) {
  Dl_info program{};
  if (dladdr(from, &program) == 0) return "";
  auto at = reinterpret_cast<std::uintptr_t>(from) - 1;  // of the call
  const auto* header = static_cast<const ElfW(Ehdr)*>(program.dli_fbase);
  if (header->e_type == ET_DYN) at -= reinterpret_cast<std::uintptr_t>(program.dli_fbase);
  const std::string command = fmt::format("addr2line -i -e /proc/{}/exe {:#x} 2>/dev/null", getpid(), at);
  std::FILE* lines = popen(command.c_str(), "r");
  if (lines == nullptr) return "";
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, lines) != nullptr) {
    const std::string line = short_name(buffer);
    if (line.empty() || line.find(".cu") == std::string::npos) continue;
    text += (text.empty() ? ", " : " in ") + line;
  }
  pclose(lines);
  return text;
}

}  // namespace

void refuse(const std::string& what, const void* from) {
  watched = nullptr;
  abandon(what + line_of(from));
}

}  // namespace octet::emulated
