#include "jobs/octet/job/launch_record.h"

#include <nlohmann/json.hpp>

#include "src/base/json_reader.h"
#include "src/metrics/status.h"

namespace octet {

std::string to_line(const LaunchRecord& r) {
  nlohmann::ordered_json json = {{"job", r.launch.job},
                                 {"hosts", r.hosts},
                                 {"began", r.began},
                                 {"ended", r.ended},
                                 {"checkpoint", r.launch.checkpoint},
                                 {"checkpoint_after", r.checkpoint_after},
                                 {"state", r.launch.state},
                                 {"reason", r.launch.reason},
                                 {"exit_code", r.launch.exit_code},
                                 {"action", r.action},
                                 {"status_before", r.status_before}};
  if (r.owner_before) json["owner_before"] = *r.owner_before;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

LaunchRecord parse_launch(std::string_view line, const std::string& where) {
  const auto json = parse_json(line, "job", where, "a launch");
  const JsonReader r(json, "job", where);
  return {.launch = {.job = r.text("job"),
                     .checkpoint = within_run(r.text("checkpoint")),  // older versions wrote whole paths
                     .state = r.text("state"),
                     .reason = r.text("reason"),
                     .exit_code = static_cast<int>(r.integer("exit_code", INT32_MIN, INT32_MAX))},
          .hosts = r.text("hosts"),
          .began = r.text("began"),
          .ended = r.text("ended"),
          .checkpoint_after = within_run(r.text("checkpoint_after")),
          .action = r.text("action"),
          .status_before = r.text("status_before"),
          .owner_before = r.contains("owner_before") ? std::optional(r.text("owner_before")) : std::nullopt};
}

}  // namespace octet
