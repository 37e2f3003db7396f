#include "src/train/xid.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace octet {
namespace {

struct Entry {
  std::uint64_t number;
  std::string_view meaning, action;
};

constexpr std::string_view program =
    "the GPU is well: most often a fault of the program (compute-sanitizer finds it), seldom of hardware or driver";
constexpr std::string_view reset = "end the run and reset the GPU; if it comes back, have the GPU looked at";
constexpr std::string_view follows = "follows another Xid or the end of a process; what to do is said by the other";

constexpr Entry table[] = {
    {13, "exception in a kernel", program},
    {31, "GPU memory page fault", program},
    {32, "corrupted push buffer", "restart the run; mostly the quality of the PCIe link"},
    {43, "GPU stopped processing", program},
    {45, "preemptive cleanup", follows},
    {46, "GPU stopped processing", reset},
    {48, "double-bit ECC error", reset},
    {54, "auxiliary power is not connected", "leave the node out and check the board's power cables"},
    {62, "halt of an internal microcontroller", reset},
    {63, "a row of memory is to be remapped", "nothing now: the next reset remaps it"},
    {64, "a row of memory could not be remapped", reset},
    {74, "NVLink error", "reset the GPU, or reboot the node; the cause may be the other end of the link"},
    {79, "GPU has fallen off the bus", "reboot the node; if it comes back, have GPU and PCIe link looked at"},
    {92, "many single-bit ECC errors", "the run may go on; have the GPU looked at"},
    {94, "contained memory error", "restart the run; reset the GPU when convenient"},
    {95, "uncontained memory error", "end the run and reset the GPU before anything else runs on it"},
    {109, "timeout of a context switch", reset},
    {119, "the GPU's system processor (GSP) does not answer", reset},
    {120, "error in the GPU's system processor (GSP)", reset},
    {136, "an NVLink was not trained", reset},
    {140, "ECC error that was not recovered", reset},
    {143, "GPU was not initialised", reset},
    {154, "the recovery that the GPU needs has changed", "the kernel log has its name (dmesg, \"Xid 154\")"},
    {158, "fatal timeout of the GPU", reset},
};

}  // namespace

std::string describe_xid(std::uint64_t number) {
  const auto* entry = std::ranges::find(table, number, &Entry::number);
  if (entry != std::end(table)) return fmt::format("Xid {} ({}): {}", number, entry->meaning, entry->action);
  return fmt::format(
      "Xid {}: look into the kernel log (dmesg) and at docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
      number);
}

}  // namespace octet
