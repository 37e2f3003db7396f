// Which bytes a pin covers, next to others.
#include "src/tuning/fit/pins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "src/base/error.h"
#include "tests/support/mib.h"

namespace octet {
namespace {

using test::mib;

const NcclVersion any_version;
const CommShape sixteen_nodes{16, 8};

/// What is fastest at a size; none: all are alike.
using Fastest = std::optional<Algorithm>;

/// Every pair that the model may choose, each 1,000 us at all sizes, and tree/simple or ring/ll 100 us where it is to
/// be the fastest. The model takes tree/ll or tree/ll128 at these sizes.
std::vector<FittedGroup> measured(const std::vector<std::int64_t>& sizes, const std::vector<Fastest>& fastest) {
  std::vector<FittedGroup> groups;
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring, Algorithm::nvls_tree}) {
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (!nccl_has(Collective::all_reduce, algorithm, protocol)) continue;
      FittedGroup group{.algorithm = algorithm,
                        .protocol = protocol,
                        .shape = sixteen_nodes,
                        .points = {},
                        .sources = {},
                        .fit = AlphaBeta{},
                        .why_not = {}};
      const bool tried = algorithm == Algorithm::tree ? protocol == Protocol::simple : protocol == Protocol::ll;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        group.points.push_back({sizes[i], tried && fastest[i] == algorithm ? 100. : 1000.});
      }
      group.fit->noise = .01, group.fit->rows = 50;
      group.fit->bytes_from = sizes.front(), group.fit->bytes_to = sizes.back();
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::vector<TunedChoice> pins_of(const std::vector<std::int64_t>& sizes, const std::vector<Fastest>& fastest) {
  return find_pins(any_version, {}, default_constants(any_version), false, measured(sizes, fastest)).choices;
}

TEST(Pins, NeighboursMeetHalfWay) {
  const auto pins = pins_of({mib, 4 * mib, 16 * mib}, {Algorithm::tree, Algorithm::ring, std::nullopt});
  ASSERT_EQ(pins.size(), 2U);
  EXPECT_EQ(pins[0].algorithm, Algorithm::tree);
  EXPECT_EQ(pins[0].bytes_from, mib);
  EXPECT_EQ(pins[0].bytes_to, 2 * mib);
  EXPECT_EQ(pins[1].algorithm, Algorithm::ring);
  EXPECT_EQ(pins[1].bytes_from, 2 * mib);
  EXPECT_EQ(pins[1].bytes_to, 8 * mib);
}

// Rounded to the nearest, half-way between two neighbours is the smaller: its pin would be empty, which no file may
// hold, and the other's would take its place.
TEST(Pins, SizesThatAreNeighboursKeepTheirOwn) {
  for (const std::int64_t bytes : {std::int64_t{3}, mib}) {
    const auto pins = pins_of({bytes, bytes + 1, 4 * bytes}, {Algorithm::tree, Algorithm::ring, std::nullopt});
    ASSERT_EQ(pins.size(), 2U);
    EXPECT_EQ(pins[0].bytes_from, bytes);
    EXPECT_EQ(pins[0].bytes_to, bytes + 1);
    EXPECT_EQ(pins[1].bytes_from, bytes + 1);
  }
}

TEST(Pins, WhateverIsMeasuredPinsNeverOverlapAndEachSizeHasItsOwn) {
  std::mt19937 random(5);
  const Fastest answers[] = {std::nullopt, Algorithm::tree, Algorithm::ring};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> sizes{512 << random() % 11};
    std::vector<Fastest> fastest;
    while (sizes.size() < 8)
      sizes.push_back(sizes.back() + (random() % 2 == 0 ? 1 : 1 + sizes.back() / (1 + random() % 9)));
    for (std::size_t i = 0; i < sizes.size(); ++i) fastest.push_back(answers[random() % 3]);
    TuningFile tuning;
    tuning.nccl = "2.28.9";
    tuning.choices = pins_of(sizes, fastest);
    ASSERT_NO_THROW(parse_tuning_file(to_json(tuning), "file.json")) << to_json(tuning);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Fastest pinned;
      for (const TunedChoice& pin : tuning.choices) {
        if (sizes[i] >= pin.bytes_from && sizes[i] < pin.bytes_to) pinned = pin.algorithm;
      }
      ASSERT_EQ(pinned, fastest[i]) << sizes[i] << " bytes\n" << to_json(tuning);
    }
  }
}

}  // namespace
}  // namespace octet
