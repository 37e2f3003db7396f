#pragma once

#include <memory>

#include "src/data/sampler.h"
#include "src/train/step/run_settings.h"

namespace octet::test {

/// The sampler of a configuration's data, which one rank opens for itself; a run's ranks open theirs together.
inline std::unique_ptr<Sampler> sampler_of(const RunConfig& config) {
  return std::make_unique<Sampler>(config.data.train, sampler_config(config));
}

}  // namespace octet::test
