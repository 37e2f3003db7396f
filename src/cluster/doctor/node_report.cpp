#include "src/cluster/doctor/node_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "src/base/json_reader.h"
#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/hca.h"
#include "src/cluster/doctor/nccl_library.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

/// "8 x NVIDIA H100 80GB HBM3": how often each text is there.
std::string counted(const std::vector<std::string>& texts) {
  std::map<std::string, int> counts;
  for (const std::string& text : texts) ++counts[text];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [text, count] : counts) parts.push_back(fmt::format("{} x {}", count, text));
  return joined(parts);
}

std::map<std::string, std::string> versions_of(const Machine& machine) {
  std::map<std::string, std::string> out;
  out["kernel"] = machine.read("/proc/sys/kernel/osrelease").value_or("");
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ..."
  const std::string driver = value_after(machine.read("/proc/driver/nvidia/version").value_or(""), "NVRM version");
  for (const std::string& word : split(driver, ' ')) {
    if (word.find('.') != std::string::npos && out["driver"].empty()) out["driver"] = word;
  }
  out["nccl"] = find_nccl(machine).version;
  std::vector<std::string> gpus, cards, firmware;
  for (const std::string& gpu : machine.list("/proc/driver/nvidia/gpus")) {
    gpus.push_back(value_after(machine.read("/proc/driver/nvidia/gpus/" + gpu + "/information").value_or(""), "Model"));
  }
  for (const Hca& card : read_hcas(machine)) {
    cards.push_back(card.rate);
    firmware.push_back(card.firmware);
  }
  out["gpus"] = counted(gpus);
  out["hcas"] = counted(cards);
  out["firmware"] = counted(firmware);
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  return out;
}

void append(std::string& out, const char* what, const std::string& text) {
  if (!text.empty()) out += fmt::format("{:12}{} {}\n", "", what, text);
}

}  // namespace

NodeReport examine_node(const Examination& e) {
  NodeReport out;
  out.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.node = e.machine.name();
  out.findings = examine(e);
  out.versions = versions_of(e.machine);
  return out;
}

std::string to_json(const NodeReport& report) {
  Json out = {{"node", report.node}, {"healthy", healthy(report.findings)}, {"time", report.time}};
  out["versions"] = report.versions;
  out["findings"] = Json::array();
  for (const Finding& f : report.findings) {
    out["findings"].push_back({{"check", f.check},
                               {"state", name_of(f.state)},
                               {"seen", f.seen},
                               {"expected", f.expected},
                               {"advice", f.advice}});
  }
  // What programs print need not be UTF-8.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

NodeReport parse_report(const std::string& text, const std::string& source) {
  const auto json = parse_json(text, "cluster", source, "what octet doctor --json prints");
  const JsonReader in(json, "cluster", source);
  NodeReport out{.node = in.text("node"), .time = in.number("time"), .versions = {}, .findings = {}};
  for (const auto& [name, version] : in.at("versions").members()) out.versions[name] = version.text();
  for (const JsonReader& f : in.list("findings")) {
    out.findings.push_back(
        {f.text("check"), f.choice<FindingState>("state"), f.text("seen"), f.text("expected"), f.text("advice")});
  }
  return out;
}

std::string to_text(const Findings& findings) {
  std::size_t width = 20;
  for (const Finding& f : findings) width = std::max(width, f.check.size());
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{:<12}{:<{}}  {}\n", name_of(f.state), f.check, width, f.seen);
    append(out, "expected:", f.expected);
    append(out, "advice:  ", f.advice);
  }
  return out;
}

}  // namespace octet
