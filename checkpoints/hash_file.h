#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoints/format.h"
#include "checkpoints/read_file.h"

namespace octet::checkpoint {

/// Size and XXH3-128 of a file, read in blocks; `progress` (may be null) is called with the bytes of each block.
StoredFile hash_file(const InputFile& input, const std::string& name,
                     const std::function<void(std::int64_t)>& progress = nullptr);
StoredFile hash_file(const std::string& path, const std::function<void(std::int64_t)>& progress = nullptr);

/// XXH3-128 of the bytes there (of fewer, where the file ends before); as above.
std::string hash_data(const InputFile& input, std::int64_t offset, std::int64_t bytes,
                      const std::function<void(std::int64_t)>& progress = nullptr);

}  // namespace octet::checkpoint
