#pragma once

#include <cstdint>

namespace octet::test {

constexpr std::int64_t mib = std::int64_t{1} << 20;

}  // namespace octet::test
