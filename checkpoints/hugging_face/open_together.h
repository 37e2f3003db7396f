#pragma once

#include <string>
#include <string_view>

#include "checkpoints/hugging_face/import.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// A Hugging Face folder whose headers every rank reads for itself, again and again where a file server stumbles. Where
/// one rank cannot, all throw the same error: "[room] WHAT: rank 1 on HOST: ...". Collective over `control`.
HuggingFaceModel open_together(const std::string& path, std::string_view room, const std::string& what,
                               Communicator& control);

}  // namespace octet::checkpoint
