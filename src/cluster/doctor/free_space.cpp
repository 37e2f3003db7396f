#include "src/cluster/doctor/free_space.h"

#include <charconv>
#include <sstream>
#include <vector>

#include "src/cluster/machine/text_lines.h"

namespace octet {

FreeSpace free_space(const Machine& machine, const std::string& name, const std::string& path) {
  const ProgramResult df = machine.run(name, {"df", "-Pk", path});
  if (!df.succeeded())
    return {.known = false, .asked = df.found, .reason = df.failure("df -Pk " + path), .bytes = 0, .mounted_on = ""};
  // "Filesystem 1024-blocks Used Available Capacity Mounted on", then one line of values.
  const auto lines = lines_of(df.out);
  std::istringstream words(lines.size() == 2 ? lines[1] : "");
  std::string device, capacity, mounted;
  double size = 0, used = 0, available = 0;
  if (!(words >> device >> size >> used >> available >> capacity >> mounted)) {
    return {.known = false, .asked = true, .reason = "df printed something else", .bytes = 0, .mounted_on = ""};
  }
  return {.known = true, .asked = true, .reason = "", .bytes = available * 1024, .mounted_on = mounted};
}

}  // namespace octet
