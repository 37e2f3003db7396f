// What libFuzzer calls. "octet-fuzz-ROOM --readers" lists the readers of a room; OCTET_FUZZ_READER names the one that
// is given the inputs. "--seeds FOLDER" writes its seeds there, each of which it has to take. Everything else is
// libFuzzer's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/error.h"
#include "tests/fuzz/fuzz.h"

namespace {

using octet::fuzz::Reader;

const Reader* reader = nullptr;

const Reader& named(const char* name) {
  for (const Reader& r : octet::fuzz::readers()) {
    if (name != nullptr && std::strcmp(r.name, name) == 0) return r;
  }
  std::fprintf(stderr, "OCTET_FUZZ_READER=%s: no reader of this program (see --readers)\n", name ? name : "");
  std::exit(64);
}

void write_seeds(const std::string& folder) {
  int i = 0;
  for (const std::string& seed : reader->seeds()) {
    try {
      reader->read(seed);
    } catch (const octet::Error& error) {
      std::fprintf(stderr, "%s refuses its seed %d: %s\n", reader->name, i, error.what());
      std::exit(1);
    }
    std::ofstream(folder + "/seed-" + std::to_string(i++), std::ios::binary) << seed;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc == 2 && std::strcmp((*argv)[1], "--readers") == 0) {
    for (const Reader& r : octet::fuzz::readers()) std::puts(r.name);
    std::exit(0);
  }
  reader = &named(std::getenv("OCTET_FUZZ_READER"));
  if (*argc == 3 && std::strcmp((*argv)[1], "--seeds") == 0) {
    write_seeds((*argv)[2]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reader->read({reinterpret_cast<const char*>(data), size});
  } catch (const octet::Error&) {  // refused, with a reason
  }
  return 0;
}
