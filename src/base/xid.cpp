#include "src/base/xid.h"

#include <fmt/format.h>

#include <algorithm>

namespace octet {
namespace {

constexpr std::string_view program =
    "the GPU is well: most often a fault of the program (compute-sanitizer finds it), seldom of hardware or driver";
constexpr std::string_view follows =
    "follows another Xid or the end of a process; if there is another Xid, do what is said of that one";
constexpr std::string_view reset = "end the run and reset the GPU; if it comes back, have the GPU looked at";
constexpr std::string_view reset_node = "leave the node out and reset the GPU (nvidia-smi -r)";
constexpr std::string_view reset_later = "reset the GPU when convenient";
constexpr std::string_view look_up =
    "look it up in the kernel log (dmesg) and at docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html";

constexpr std::string_view link_error =
    "the kernel log says whether it is fatal (dmesg); if so, end the run and reset the GPUs, or reboot the node";
constexpr std::string_view look_at_link = "where it comes back, have the GPU and its NVLinks looked at";

constexpr auto well = XidVerdict::well, watch = XidVerdict::watch, broken = XidVerdict::broken;

constexpr Xid catalog[] = {
    {13, well, "exception in a kernel", program, ""},
    {31, well, "GPU memory page fault", program, ""},
    {32, watch, "corrupted push buffer", "restart the run; mostly the quality of the PCIe link", "check the PCIe link"},
    {43, well, "GPU stopped processing for a program", program, ""},
    {45, well, "preemptive cleanup", follows, ""},
    {46, broken, "GPU stopped processing", reset, reset_node},
    {48, broken, "double-bit ECC error", reset, reset_node},
    {54, broken, "auxiliary power is not connected", "leave the node out and check the board's power cables",
     "leave the node out and check the board's power cables"},
    {62, broken, "halt of an internal microcontroller", reset, reset_node},
    {63, watch, "a row of memory is to be remapped", "nothing now: the next reset remaps it", reset_later},
    {64, broken, "a row of memory could not be remapped", reset, reset_node},
    {74, broken, "NVLink error", "reset the GPU, or reboot the node; the cause may be the other end of the link",
     "leave the node out, reset the GPU or reboot; the cause may be the link's other end"},
    {79, broken, "GPU has fallen off the bus", "reboot the node; if it comes back, have GPU and PCIe link looked at",
     "leave the node out and reboot it"},
    {92, watch, "many single-bit ECC errors", "the run may go on; have the GPU looked at", "have the GPU looked at"},
    {94, watch, "contained memory error", "restart the run; reset the GPU when convenient", reset_later},
    {95, broken, "uncontained memory error", "end the run and reset the GPU before anything else runs on it",
     reset_node},
    {109, broken, "timeout of a context switch", reset, reset_node},
    {119, broken, "the GPU's system processor (GSP) does not answer", reset, reset_node},
    {120, broken, "error in the GPU's system processor (GSP)", reset, reset_node},
    {136, broken, "an NVLink was not trained", reset, reset_node},
    {140, broken, "ECC error that was not recovered", reset, reset_node},
    {143, broken, "GPU was not initialised", reset, reset_node},
    {144, watch, "NVLink error (SAW)", link_error, look_at_link},
    {145, watch, "NVLink error (RLW)", link_error, look_at_link},
    {146, watch, "NVLink error (TLW)", link_error, look_at_link},
    {147, watch, "NVLink error (TREX)", link_error, look_at_link},
    {148, watch, "NVLink error (NVLPW_CTRL)", link_error, look_at_link},
    {149, watch, "NVLink error (NETIR)", link_error, look_at_link},
    {150, watch, "NVLink error (MSE)", link_error, look_at_link},
    {154, watch, "the recovery that the GPU needs has changed", "the kernel log has its name (dmesg, \"Xid 154\")",
     "do what the log names"},
    {158, broken, "fatal timeout of the GPU", reset, reset_node},
};

}  // namespace

Xid find_xid(std::uint64_t number) {
  const auto* entry = std::ranges::find(catalog, number, &Xid::number);
  return entry != std::end(catalog) ? *entry : Xid{number, watch, "see the catalog", look_up, look_up};
}

std::string describe_xid(std::uint64_t number) {
  const Xid xid = find_xid(number);
  return fmt::format("Xid {} ({}): {}", number, xid.meaning, xid.for_run);
}

}  // namespace octet
